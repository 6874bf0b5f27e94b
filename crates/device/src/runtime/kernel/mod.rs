//! Kernels of a runtime: compiled on the user's machine, loaded, launched in streams.

mod compiler;
mod ffi;

pub use ffi::Kernel;
pub(super) use ffi::{load, try_module};

use crate::error::DeviceError;

/// Codes of an installation that takes no such code (cuda.h, `CUresult`; hip_runtime_api.h, `hipError_t`), with what to do:
/// kernels are then not there, and nothing is broken.
const NOT_TAKEN: [(i64, &str); 5] = [
    (
        209,
        "this code is not for this device; PTX is for sm_75 and newer",
    ),
    (
        221,
        "install libnvidia-ptxjitcompiler.so.1 of the same driver",
    ),
    (222, "install a driver of CUDA 10.1 or newer"),
    (223, "unset CUDA_DISABLE_PTX_JIT"),
    (801, "this driver or device runs no code of ours"),
];

/// The error of a loading that failed, where it says that there are no kernels to be had.
fn refusal(error: DeviceError) -> DeviceError {
    let DeviceError::Vendor { call, code, name } = error else {
        return error;
    };
    match NOT_TAKEN.iter().find(|(known, _)| *known == code) {
        Some((_, next)) => DeviceError::Unsupported {
            what: "a kernel",
            why: format!("{call} returned {name} ({code}); {next}"),
        },
        None => DeviceError::Vendor { call, code, name },
    }
}
