//! What every export shares: the way in, result codes, device handles, and writing through a caller's pointer.
#![expect(unsafe_code, reason = "writes through the pointers of C callers")]

use boxfile::{BoxFile, Device, MigInstance, Vendor};
use softbox::{Code, Failure};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};

/// `nvmlReturn_t`.
pub(crate) type Status = c_int;
/// A result code other than success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused(pub(crate) Status);
pub(crate) type Answer<T> = Result<T, Refused>;

pub(crate) const UNINITIALIZED: Refused = Refused(1);
pub(crate) const INVALID_ARGUMENT: Refused = Refused(2);
pub(crate) const NOT_SUPPORTED: Refused = Refused(3);
pub(crate) const NOT_FOUND: Refused = Refused(6);
pub(crate) const INSUFFICIENT_SIZE: Refused = Refused(7);
pub(crate) const DRIVER_NOT_LOADED: Refused = Refused(9);
/// `NVML_ERROR_GPU_IS_LOST`.
pub(crate) const GPU_IS_LOST: Refused = Refused(15);
pub(crate) const VERSION_MISMATCH: Refused = Refused(25);
pub(crate) const UNKNOWN: Refused = Refused(999);

/// `nvmlDevice_t`.
pub(crate) type Handle = *mut c_void;

/// Handles are these numbers as pointers: 4096 for each device, 16 for each of its MIG instances.
const HANDLES: usize = 0x6e00_0000_0000;

/// Open initialisations: NVML counts them.
static INITIALIZED: AtomicU32 = AtomicU32::new(0);

/// What a handle names: a device, or one of its MIG instances.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) index: usize,
    pub(crate) device: &'static Device,
    pub(crate) mig: Option<&'static MigInstance>,
}

/// Runs the body of an export; a panic becomes `NVML_ERROR_UNKNOWN`.
pub(crate) fn call(body: impl FnOnce() -> Answer<()>) -> Status {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(refused)) => refused.0,
        Err(_) => UNKNOWN.0,
    }
}

/// The box, which must be NVIDIA's; without one there is no driver to talk to.
fn nvidia_box() -> Answer<&'static BoxFile> {
    match softbox::described() {
        Ok(described) if described.vendor == Vendor::NVIDIA => Ok(described),
        Ok(_) | Err(Failure::Code(Code::NO_DEVICE)) => Err(DRIVER_NOT_LOADED),
        Err(_) => Err(UNKNOWN),
    }
}

pub(crate) fn open() -> Answer<()> {
    nvidia_box()?;
    INITIALIZED.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

pub(crate) fn close() -> Answer<()> {
    let less = INITIALIZED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
        count.checked_sub(1)
    });
    less.map(|_| ()).map_err(|_| UNINITIALIZED)
}

/// The box, once the library is initialised.
pub(crate) fn described() -> Answer<&'static BoxFile> {
    if INITIALIZED.load(Ordering::Relaxed) == 0 {
        Err(UNINITIALIZED)
    } else {
        nvidia_box()
    }
}

pub(crate) fn device_handle(index: usize) -> Handle {
    (HANDLES + (index + 1) * 4096) as Handle
}

pub(crate) fn mig_handle(index: usize, instance: usize) -> Handle {
    (HANDLES + (index + 1) * 4096 + (instance + 1) * 16) as Handle
}

/// What a handle that this library gave out names.
pub(crate) fn target(handle: Handle) -> Answer<Target> {
    let devices = &described()?.device;
    let offset = (handle as usize)
        .checked_sub(HANDLES + 4096)
        .ok_or(INVALID_ARGUMENT)?;
    let (index, within) = (offset / 4096, offset % 4096);
    let device = devices.get(index).ok_or(INVALID_ARGUMENT)?;
    let mig = match within {
        0 => None,
        within if within.is_multiple_of(16) => {
            Some(device.mig.get(within / 16 - 1).ok_or(INVALID_ARGUMENT)?)
        }
        _ => return Err(INVALID_ARGUMENT),
    };
    Ok(Target { index, device, mig })
}

/// What a handle names, which must be a whole device.
pub(crate) fn whole(handle: Handle) -> Answer<Target> {
    let target = target(handle)?;
    if target.mig.is_some() {
        Err(NOT_SUPPORTED)
    } else {
        Ok(target)
    }
}

/// Exports of calls that answer one value: the name, the parameters before the place of the answer, its type, and the answer.
macro_rules! answers {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $kind:ty),*) -> $answer:ty $body:block)+) => {
        $($(#[$doc])*
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            $($argument: $kind,)*
            place: *mut $answer,
        ) -> $crate::abi::Status {
            $crate::abi::call(|| {
                let answer: $answer = $body;
                // SAFETY: nvml.h: the caller passes a place for one value of this type.
                unsafe { $crate::abi::put(place, answer) }
            })
        })+
    };
}

pub(crate) use answers;

/// Refuses a null pointer before anything is done.
pub(crate) fn present<T>(pointer: *const T) -> Answer<()> {
    if pointer.is_null() {
        Err(INVALID_ARGUMENT)
    } else {
        Ok(())
    }
}

/// Writes an answer through a caller's pointer, refusing null.
///
/// # Safety
/// A pointer that is not null is valid for writing one `T`.
pub(crate) unsafe fn put<T>(pointer: *mut T, value: T) -> Answer<()> {
    present(pointer)?;
    // SAFETY: not null, and the caller promises the rest.
    unsafe { pointer.write(value) };
    Ok(())
}

/// Writes text with its ending NUL; text that does not fit is refused.
///
/// # Safety
/// A pointer that is not null is valid for writing `room` bytes.
pub(crate) unsafe fn put_text(pointer: *mut c_char, room: c_uint, text: &str) -> Answer<()> {
    present(pointer)?;
    if room as usize <= text.len() {
        return Err(INSUFFICIENT_SIZE);
    }
    // SAFETY: the text is shorter than `room`, for which the caller vouches, and is not the caller's memory.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), pointer.cast::<u8>(), text.len()) };
    // SAFETY: as above: the text's length is below `room`.
    let end = unsafe { pointer.add(text.len()) };
    // SAFETY: as above.
    unsafe { end.write(0) };
    Ok(())
}

/// Text as a fixed array with its ending NUL, cut short where it must be.
pub(crate) fn fixed<const ROOM: usize>(text: &str) -> [c_char; ROOM] {
    let mut array = [0; ROOM];
    for (place, byte) in array.iter_mut().take(ROOM - 1).zip(text.bytes()) {
        *place = byte as c_char;
    }
    array
}
