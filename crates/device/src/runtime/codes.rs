//! What a vendor's numbers mean here: those of cuda.h (`CUresult`), which HIP (`hipError_t`) and MACA share as far as they have them.
//!
//! The names of the numbers come from the library itself.

use super::symbols::Code;
use super::table::Table;
use crate::error::{DeviceError, Result};

/// Codes after which a device is of no more use in this process, for all vendors: an uncorrectable memory error, an illegal
/// address, a kernel that ran too long, a destroyed context, a failed assertion, a failed launch.
pub(in crate::runtime) const LOST: &[u32] = &[214, 700, 702, 709, 710, 719];

/// Codes that a driver also returns for a device that fell off the bus: unavailable, and unknown.
const LOST_WHERE_GONE: [u32; 2] = [46, 999];

/// The error of a code that is not success.
pub(in crate::runtime) fn failure(
    table: &Table,
    call: &'static str,
    code: Code,
    name: String,
) -> DeviceError {
    let is_lost = LOST.contains(&code.0)
        || table.lost.contains(&code.0)
        || (LOST_WHERE_GONE.contains(&code.0) && (table.any_is_gone)());
    let is_peer = code == Code::PEER_UNSUPPORTED;
    let code = i64::from(code.0);
    match is_lost {
        _ if is_peer => DeviceError::PeerRefused { call, code, name },
        true => DeviceError::Lost { call, code, name },
        false => DeviceError::Vendor { call, code, name },
    }
}

/// The answer of the first call to a library: without a device, releases say either that there is none or that the device
/// is invalid (HIP 5.2 answers 101 to `hipInit` and 100 to `hipGetDeviceCount`, HIP 6.4 answers 100 to both).
///
/// # Errors
/// `NoDevice` for both of these, what [`failure`] makes of any other code.
pub(in crate::runtime) fn at_open(
    table: &Table,
    call: &'static str,
    code: Code,
    name: impl FnOnce() -> String,
) -> Result<()> {
    match code {
        Code::SUCCESS => Ok(()),
        Code::NO_DEVICE | Code::INVALID_DEVICE => {
            let (name, number) = (name(), code.0);
            Err(no_device(
                table,
                format!(
                    "{call} returned {name} ({number}); {}",
                    table.without_device
                ),
            ))
        }
        Code::STUB_LIBRARY => {
            let reason =
                "the library is the toolkit's stub; take its lib64/stubs out of LD_LIBRARY_PATH";
            Err(no_device(table, reason.to_owned()))
        }
        Code::SYSTEM_NOT_READY => Err(DeviceError::FabricNotReady {
            call,
            code: i64::from(code.0),
        }),
        _ => Err(failure(table, call, code, name())),
    }
}

/// The error of a library that has no device.
pub(in crate::runtime) fn no_device(table: &Table, reason: String) -> DeviceError {
    DeviceError::NoDevice {
        backend: table.backend,
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Vendor;
    use crate::vendors::{Amd, MetaX};

    #[test]
    fn no_device_is_said_in_words_for_both_codes_that_mean_it() {
        for code in [100, 101] {
            let name = || "hipErrorX".to_owned();
            let error = at_open(Amd::TABLE, "hipGetDeviceCount", Code(code), name).unwrap_err();
            let DeviceError::NoDevice { backend, reason } = &error else {
                panic!("{error}");
            };
            assert_eq!(*backend, "hip");
            assert!(
                reason.contains(&format!("hipErrorX ({code})")) && reason.contains("/dev/kfd"),
                "{reason}"
            );
            assert!(error.to_string().contains("reports no device"));
        }
        let unused = || unreachable!("success has no name");
        assert!(at_open(Amd::TABLE, "hipGetDeviceCount", Code(0), unused).is_ok());
        let other = at_open(Amd::TABLE, "hipGetDeviceCount", Code(999), String::new);
        assert!(matches!(other, Err(DeviceError::Vendor { code: 999, .. })));
    }

    #[test]
    fn only_what_ends_a_device_is_a_loss() {
        let lost = |table, number| failure(table, "x", Code(number), String::new()).is_lost();
        // 1 is a bad value, 2 no memory, 101 a bad ordinal, 217 a refused peer, 999 an unknown error: a later call may go
        // well.
        for number in [1, 2, 101, 217, 400, 600, 704, 705, 801, 999] {
            assert!(!lost(Amd::TABLE, number), "{number}");
        }
        for number in [214, 700, 709, 719] {
            assert!(lost(Amd::TABLE, number), "{number}");
            assert!(lost(MetaX::TABLE, number), "{number}");
        }
        // MACA's own: a kernel that ran too long.
        assert!(lost(MetaX::TABLE, 10_032) && !lost(Amd::TABLE, 10_032));
    }
}
