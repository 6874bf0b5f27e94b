//! What every export shares: the way in, the current context, handles, and writing through a caller's pointer.
#![expect(unsafe_code, reason = "writes through the pointers of C callers")]

use softbox::{Code, Failure, Outcome, SoftDriver};
use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// The ordinal whose context is current on this thread.
    static CURRENT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// `CUresult`.
pub(crate) type Status = c_int;

/// Contexts are these numbers as pointers, one for each ordinal.
const CONTEXTS: usize = 0x5c00_0000_0000;
/// Streams and events are these numbers as pointers, one for each id of the driver.
const OBJECTS: usize = 0x5e00_0000_0000;

/// Runs the body of an export: a panic becomes `CUDA_ERROR_UNKNOWN`, a hang parks the thread for good with no lock held.
pub(crate) fn call(body: impl FnOnce() -> Outcome<()>) -> Status {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(Failure::Code(code))) => code.0,
        // `with` does not let a call through that is blocked.
        Ok(Err(Failure::Hang | Failure::Blocked)) => loop {
            std::thread::park();
        },
        Err(_) => Code::UNKNOWN.0,
    }
}

/// Calls the driver of this process's box.
pub(crate) fn with<T>(call: impl FnMut(&mut SoftDriver) -> Outcome<T>) -> Outcome<T> {
    softbox::with_driver(boxfile::Vendor::NVIDIA, call)
}

/// The ordinal of the current context.
pub(crate) fn current() -> Outcome<usize> {
    CURRENT.get().ok_or(Code::INVALID_CONTEXT.into())
}

pub(crate) fn set_current(ordinal: Option<usize>) {
    CURRENT.set(ordinal);
}

/// `CUdevice` to ordinal; a negative one is none.
pub(crate) fn ordinal(device: c_int) -> Outcome<usize> {
    usize::try_from(device).map_err(|_| Code::INVALID_DEVICE.into())
}

pub(crate) fn context_handle(ordinal: usize) -> *mut c_void {
    (CONTEXTS + (ordinal + 1) * 16) as *mut c_void
}

/// The ordinal of a context handle that this library gave out and that is still open.
pub(crate) fn context_of(driver: &SoftDriver, handle: *mut c_void) -> Outcome<usize> {
    let ordinal = (handle as usize)
        .checked_sub(CONTEXTS + 16)
        .filter(|offset| offset % 16 == 0)
        .map(|offset| offset / 16);
    ordinal
        .filter(|ordinal| driver.is_retained(*ordinal))
        .ok_or(Code::INVALID_CONTEXT.into())
}

pub(crate) fn object_handle(id: u64) -> *mut c_void {
    (OBJECTS + id as usize * 16) as *mut c_void
}

/// The driver's id of a stream or event handle; what is no handle becomes an id that no object has.
pub(crate) fn object_id(handle: *mut c_void) -> u64 {
    (handle as usize)
        .checked_sub(OBJECTS)
        .filter(|offset| offset % 16 == 0)
        .map_or(0, |offset| offset as u64 / 16)
}

/// The stream that a handle names; null and the two special handles of `cuda.h` (1 and 2) are the current device's null stream.
pub(crate) fn stream_id(driver: &SoftDriver, handle: *mut c_void) -> Outcome<u64> {
    if handle as usize <= 2 {
        driver.null_stream(current()?)
    } else {
        Ok(object_id(handle))
    }
}

/// Refuses a null pointer before anything is done.
pub(crate) fn present<T>(pointer: *const T) -> Outcome<()> {
    if pointer.is_null() {
        Err(Code::INVALID_VALUE.into())
    } else {
        Ok(())
    }
}

/// Writes an answer through a caller's pointer, refusing null.
///
/// # Safety
/// A pointer that is not null is valid for writing one `T`.
pub(crate) unsafe fn put<T>(pointer: *mut T, value: T) -> Outcome<()> {
    present(pointer)?;
    // SAFETY: not null, and the caller promises the rest.
    unsafe { pointer.write(value) };
    Ok(())
}

/// Writes text with its ending NUL through a caller's pointer, cut short to `room` bytes where `cut` allows it.
///
/// # Safety
/// A pointer that is not null is valid for writing `room` bytes.
pub(crate) unsafe fn put_text(
    pointer: *mut c_char,
    room: c_int,
    text: &str,
    cut: bool,
) -> Outcome<()> {
    present(pointer)?;
    let room = usize::try_from(room).unwrap_or(0);
    if room == 0 || (!cut && room <= text.len()) {
        return Err(Code::INVALID_VALUE.into());
    }
    let length = text.len().min(room - 1);
    // SAFETY: `length` is below `room`, for which the caller vouches; the text is not the caller's memory.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), pointer.cast::<u8>(), length) };
    // SAFETY: as above, `length < room`.
    let end = unsafe { pointer.add(length) };
    // SAFETY: as above.
    unsafe { end.write(0) };
    Ok(())
}
