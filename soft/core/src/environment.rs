//! The process's box: found through the environment once, then shared by every thread behind one lock.

use crate::{Code, Failure, Outcome, SoftDriver, ordinals};
use boxfile::{BoxFile, Vendor};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

/// How long the lock stays open between two attempts of a call that waits for another process.
const PAUSE: Duration = Duration::from_micros(50);

static DESCRIBED: LazyLock<Outcome<BoxFile>> = LazyLock::new(|| {
    let path = std::env::var_os("TPLENS_SOFT_BOX").ok_or(Code::NO_DEVICE)?;
    BoxFile::read(Path::new(&path)).map_err(|_| Code::UNKNOWN.into())
});

static SYSFS: LazyLock<Option<PathBuf>> =
    LazyLock::new(|| std::env::var_os("TPLENS_SOFT_SYSFS").map(PathBuf::from));

static DRIVER: LazyLock<Outcome<Mutex<SoftDriver>>> = LazyLock::new(|| {
    let described = described()?.clone();
    let visible = std::env::var("CUDA_VISIBLE_DEVICES").ok();
    let seen = ordinals(&described, visible.as_deref());
    Ok(Mutex::new(SoftDriver::new(
        described,
        seen,
        sysfs_root().map(Path::to_path_buf),
    )))
});

/// The box that `TPLENS_SOFT_BOX` names.
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

/// The name of the process's box; `None` where there is none.
#[must_use]
pub fn box_name() -> Option<&'static str> {
    described().ok().map(|described| described.name.as_str())
}

/// Runs `call` on the process's driver if the box is that vendor's, holding the lock; again where it was
/// [`Failure::Blocked`], with the lock open to other threads in between.
///
/// # Errors
/// As [`described`]; [`Code::NO_DEVICE`] on another vendor's box; what `call` reports.
pub fn with_driver<T>(
    vendor: Vendor,
    mut call: impl FnMut(&mut SoftDriver) -> Outcome<T>,
) -> Outcome<T> {
    if described()?.vendor != vendor {
        return Err(Failure::Code(Code::NO_DEVICE));
    }
    let driver = DRIVER.as_ref().map_err(|failure| *failure)?;
    loop {
        // A panic is reported to the caller as an unknown error where it happened; the state is still usable.
        let outcome = call(&mut driver.lock().unwrap_or_else(PoisonError::into_inner));
        match outcome {
            Err(Failure::Blocked) => std::thread::sleep(PAUSE),
            outcome => return outcome,
        }
    }
}
