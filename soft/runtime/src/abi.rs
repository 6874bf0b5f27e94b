//! What every export shares: the way in, the current device, handles of the driver's objects, and what C callers pass besides
//! [`softbox::abi`].
#![expect(unsafe_code, reason = "reads through the pointers of C callers")]

use softbox::abi::{Handle, List};
use softbox::{Code, Failure, HostAddress, Outcome};
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// The ordinal of this thread's device, as far as it chose one.
    pub(crate) static CURRENT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// `hipError_t`, `mcError_t`, `CUresult`.
pub(crate) type Status = c_int;

/// Runs the body of an export: a panic becomes the unknown error, a hang parks the thread for good with no lock held.
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

/// The ordinal that a caller names; a negative one is none.
pub(crate) fn ordinal(device: c_int) -> Outcome<usize> {
    usize::try_from(device).map_err(|_| Code::INVALID_DEVICE.into())
}

/// Handles of streams, events and graphs are these numbers as pointers, one for each id of the driver.
const OBJECTS: usize = 0x5e00_0000_0000;

/// The handle of a stream, an event or a graph.
pub(crate) fn handle(id: u64) -> Handle {
    Handle::at(OBJECTS + id as usize * 16)
}

/// The driver's id behind a handle; what is no handle becomes an id that no object has.
pub(crate) fn id(handle: Handle) -> u64 {
    let offset = handle.number().checked_sub(OBJECTS);
    let offset = offset.filter(|offset| offset.is_multiple_of(16));
    offset.map_or(0, |offset| offset as u64 / 16)
}

/// A pointer to memory that a copy names: of a device, or of the host.
///
/// The caller's promise for host memory is that of [`HostAddress::new`].
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Address(*mut c_void);

impl Address {
    pub(crate) fn at(number: usize) -> Self {
        Self(number as *mut c_void)
    }

    pub(crate) fn number(self) -> usize {
        self.0 as usize
    }

    /// As the driver names device memory.
    pub(crate) fn device(self) -> u64 {
        self.number() as u64
    }

    /// As host memory; null is refused.
    pub(crate) fn host(self) -> Outcome<HostAddress> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE.into());
        }
        // SAFETY: the promise that this type states, which hip_runtime_api.h and mc_runtime_api.h make of copies.
        Ok(unsafe { HostAddress::new(self.number()) })
    }
}

/// A caller's code object. The caller's promise: null, or an ELF file, or a text that ends in NUL.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Image(*const c_char);

impl Image {
    /// What follows `magic` up to the ending NUL; nothing where the image begins differently.
    ///
    /// `magic` begins as an ELF file does, and is no longer than the head of one (64 bytes).
    pub(crate) fn after(self, magic: &[u8]) -> Outcome<Option<String>> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE.into());
        }
        for (at, byte) in magic.iter().enumerate() {
            // SAFETY: all bytes before were those of the magic: the image is a text that did not end yet, or an ELF file,
            // whose head is longer than the magic.
            let found = unsafe { self.0.wrapping_add(at).read() };
            if found as u8 != *byte {
                return Ok(None);
            }
        }
        // SAFETY: as above; what begins so and is read further is a text that ends in NUL.
        let rest = unsafe { CStr::from_ptr(self.0.wrapping_add(magic.len())) };
        Ok(Some(rest.to_string_lossy().into_owned()))
    }
}

/// The pointers to a kernel's arguments. The caller's promise: null, or one for each parameter of the kernel, each valid for
/// reading an argument of the parameter's type.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Arguments(List<*const u64>);

impl Arguments {
    /// The values of `count` arguments of 64 bits.
    pub(crate) fn read(self, count: usize) -> Outcome<Vec<u64>> {
        let value = |place: *const u64| {
            if place.is_null() {
                return Err(Code::INVALID_VALUE.into());
            }
            // SAFETY: this type's promise; all kernels here have parameters of 64 bits. A caller need not align them.
            Ok(unsafe { place.read_unaligned() })
        };
        self.0.read(count)?.into_iter().map(value).collect()
    }
}
