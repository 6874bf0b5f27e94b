//! Kernels of the `cuda` backend: loaded from PTX, launched in streams.

mod ffi;

pub use ffi::Kernel;
pub(super) use ffi::load;

use crate::error::DeviceError;

/// Codes of an installation that takes no PTX, or not this one (cuda.h, `CUresult`), with what to do: kernels are then not
/// there, and nothing is broken.
const NOT_TAKEN: [(i64, &str); 4] = [
    (209, "the device is older than the code, which is for sm_75"),
    (
        221,
        "install libnvidia-ptxjitcompiler.so.1 of the same driver",
    ),
    (222, "install a driver of CUDA 10.1 or newer"),
    (801, "this driver or device runs no code of ours"),
];

/// The error of a loading that failed, where it says that there are no kernels to be had.
fn refusal(error: DeviceError) -> DeviceError {
    match error {
        DeviceError::Vendor { call, code, name } => {
            match NOT_TAKEN.iter().find(|(known, _)| *known == code) {
                Some((_, next)) => DeviceError::Unsupported {
                    what: "a kernel",
                    why: format!("{call} returned {name} ({code}); {next}"),
                },
                None => DeviceError::Vendor { call, code, name },
            }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installation_that_takes_no_ptx_is_told_from_a_failure() {
        let error = |code| DeviceError::Vendor {
            call: "cuModuleLoadData",
            code,
            name: "CUDA_ERROR_X".to_owned(),
        };
        assert_eq!(
            refusal(error(222)).to_string(),
            "a kernel is not supported: cuModuleLoadData returned CUDA_ERROR_X (222); install a driver of CUDA 10.1 or newer"
        );
        // 200 is an invalid image and 218 invalid PTX: faults of ours, which must be seen.
        for code in [1, 200, 218, 500] {
            assert!(
                matches!(refusal(error(code)), DeviceError::Vendor { code: same, .. } if same == code),
                "{code}"
            );
        }
    }
}
