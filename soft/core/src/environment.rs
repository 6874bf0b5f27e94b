//! The process's box: found through the environment once, then shared by every thread behind one lock.

use crate::{Code, Failure, Outcome, SoftDriver, ordinals};
use boxfile::{BoxFile, Vendor};
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

static DESCRIBED: LazyLock<Outcome<BoxFile>> = LazyLock::new(|| {
    let path = std::env::var_os("TPLENS_SOFT_BOX").ok_or(Code::NO_DEVICE)?;
    let mut described = BoxFile::read(Path::new(&path)).map_err(|_| Code::UNKNOWN)?;
    // A run that starts many processes names each, so that their noise is not the same over again.
    if let (Some(noise), Some(stream)) =
        (&mut described.noise, std::env::var_os("TPLENS_SIM_STREAM"))
    {
        noise.seed = crate::noise::of_stream(noise.seed, stream.as_encoded_bytes());
    }
    Ok(described)
});

static SYSFS: LazyLock<Option<PathBuf>> =
    LazyLock::new(|| std::env::var_os("TPLENS_SOFT_SYSFS").map(PathBuf::from));

static DRIVER: LazyLock<Outcome<Mutex<SoftDriver>>> = LazyLock::new(|| {
    let described = described()?.clone();
    let visible = std::env::var("CUDA_VISIBLE_DEVICES").ok();
    let seen = ordinals(&described, visible.as_deref());
    let driver = SoftDriver::new(described, seen, sysfs_root().map(Path::to_path_buf));
    Ok(Mutex::new(driver))
});

/// The box that `TPLENS_SOFT_BOX` names; its noise is that of the stream that `TPLENS_SIM_STREAM` names.
///
/// # Errors
/// [`Code::NO_DEVICE`] where the variable is not set, [`Code::UNKNOWN`] where the file is not a valid box.
pub fn described() -> Outcome<&'static BoxFile> {
    DESCRIBED.as_ref().map_err(|failure| *failure)
}

/// The root of the generated sysfs tree, `TPLENS_SOFT_SYSFS`; `None` where it is not set.
#[must_use]
pub fn sysfs_root() -> Option<&'static Path> {
    SYSFS.as_deref()
}

/// The name of the process's box; empty where there is none.
#[must_use]
pub fn box_name() -> &'static CStr {
    static NAME: LazyLock<CString> = LazyLock::new(|| {
        let name = described().map_or("", |described| &described.name);
        CString::new(name).unwrap_or_default()
    });
    &NAME
}

/// How long the driver stays open to other threads between two attempts of a call that waits for another process.
const PAUSE: Duration = Duration::from_micros(50);

/// Runs `call` on the process's driver if the box is that vendor's; again where it waits for another process.
///
/// # Errors
/// As [`described`]; [`Code::NO_DEVICE`] on another vendor's box; what `call` reports.
pub fn with_driver<T>(
    vendor: Vendor,
    mut call: impl FnMut(&mut SoftDriver) -> Outcome<T>,
) -> Outcome<T> {
    if described()?.vendor != vendor {
        return Err(Code::NO_DEVICE.into());
    }
    let driver = DRIVER.as_ref().map_err(|failure| *failure)?;
    loop {
        // A panic is reported to the caller as an unknown error where it happened; the state is still usable.
        let outcome = call(&mut driver.lock().unwrap_or_else(PoisonError::into_inner));
        match outcome {
            Err(Failure::Blocked) => thread::sleep(PAUSE),
            outcome => return outcome,
        }
    }
}
