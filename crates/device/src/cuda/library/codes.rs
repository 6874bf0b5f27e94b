//! What the driver's numbers mean here (cuda.h, `CUresult`); their names come from the driver itself.

use crate::error::DeviceError;

/// Memory, of the device or locked memory of the host, is exhausted.
pub(super) const OUT_OF_MEMORY: u32 = 2;
/// The driver works and has no device.
pub(super) const NO_DEVICE: u32 = 100;
/// Fabric Manager has not started the fabric of NVSwitches.
pub(super) const SYSTEM_NOT_READY: u32 = 802;
/// The library is the toolkit's, for linking only.
pub(super) const STUB_LIBRARY: u32 = 34;
const PEER_UNSUPPORTED: u32 = 217;
/// Peer access was enabled before.
pub(in crate::cuda) const PEER_ENABLED: u32 = 704;
/// Peer access was not enabled.
pub(in crate::cuda) const PEER_NOT_ENABLED: u32 = 705;
/// An event that was never recorded.
pub(in crate::cuda) const EVENT_INVALID: u32 = 400;
/// Work before the event is not done.
pub(in crate::cuda) const NOT_READY: u32 = 600;

/// Codes after which the context is of no more use in this process: uncorrectable memory and link errors, a contained
/// fault, a context that was destroyed, and those of which cuda.h says that the process must be ended.
const LOST: [u32; 13] = [
    214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719,
];

/// Codes that a driver also returns for a device that fell off the bus: unavailable, and unknown.
const LOST_WHERE_GONE: [u32; 2] = [46, 999];

/// The error of a code that is not 0; `is_gone` tells whether a device of this process does not answer any more.
pub(super) fn failure(
    call: &'static str,
    number: u32,
    name: String,
    is_gone: impl FnOnce() -> bool,
) -> DeviceError {
    let code = i64::from(number);
    match number {
        gone if LOST_WHERE_GONE.contains(&gone) && is_gone() => {
            DeviceError::Lost { call, code, name }
        }
        PEER_UNSUPPORTED => DeviceError::PeerRefused { call, code, name },
        lost if LOST.contains(&lost) => DeviceError::Lost { call, code, name },
        _ => DeviceError::Vendor { call, code, name },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_ends_a_context_is_a_loss() {
        let lost = |number| failure("cuX", number, String::new(), || false).is_lost();
        // 46 is a device that another process has for itself, 101 a bad ordinal, 701 too large a launch, 720 too large
        // a cooperative one, 999 an unknown error: a later call may go well.
        for number in [1, 46, 101, 217, 400, 600, 701, 704, 720, 999] {
            assert!(!lost(number), "{number}");
        }
        // An uncorrectable ECC error, an illegal address, a destroyed context, a failed launch.
        for number in [214, 700, 709, 719] {
            assert!(lost(number), "{number}");
        }
    }

    #[test]
    fn an_unknown_error_is_a_loss_where_a_device_is_gone() {
        let lost = |number| failure("cuX", number, String::new(), || true).is_lost();
        assert!(lost(46) && lost(999));
        assert!(!lost(1) && !lost(101));
    }

    #[test]
    fn a_refused_peer_is_told_from_other_errors() {
        let error = failure(
            "cuCtxEnablePeerAccess",
            217,
            "CUDA_ERROR_X".to_owned(),
            || false,
        );
        assert_eq!(
            error.to_string(),
            "peer access refused: cuCtxEnablePeerAccess returned CUDA_ERROR_X (217)"
        );
    }
}
