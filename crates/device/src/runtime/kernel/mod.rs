//! Kernels of a runtime: compiled on the user's machine, loaded, launched in streams.

mod compiler;
mod ffi;

pub(super) use compiler::compiler_of;
pub use ffi::Kernel;
pub(super) use ffi::load;

use crate::error::DeviceError;

/// The code of a device that takes no kernels (hip_runtime_api.h, `hipErrorNotSupported`).
const NOT_SUPPORTED: i64 = 801;

/// The error of a loading that failed, where it says that there are no kernels to be had.
fn refusal(error: DeviceError) -> DeviceError {
    match error {
        DeviceError::Vendor { call, code, name } if code == NOT_SUPPORTED => {
            DeviceError::Unsupported {
                what: "a kernel",
                why: format!("{call} returned {name} ({code}); this device runs no code of ours"),
            }
        }
        other => other,
    }
}
