//! What every export shares: the way in, the current device, and types for what a C caller passes, whose methods are safe.
//!
//! Values of the types come from C callers alone, by the signatures in `exports` and `compiler`. What a header makes a caller
//! promise of a parameter stands at the parameter's type, so that nothing else in this crate needs unsafe code.
#![expect(
    unsafe_code,
    reason = "reads and writes through the pointers of C callers"
)]

use softbox::{Code, Failure, HostAddress, Outcome};
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// The ordinal of this thread's device, as far as it chose one.
    static CURRENT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// `hipError_t`, `mcError_t`.
pub(crate) type Status = c_int;

/// Streams and events are these numbers as pointers, one for each id of the driver.
const OBJECTS: usize = 0x5e00_0000_0000;

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

/// The ordinal of this thread's device, as far as it chose one.
pub(crate) fn chosen() -> Option<usize> {
    CURRENT.get()
}

pub(crate) fn set_current(ordinal: Option<usize>) {
    CURRENT.set(ordinal);
}

/// The ordinal that a caller names; a negative one is none.
pub(crate) fn ordinal(device: c_int) -> Outcome<usize> {
    usize::try_from(device).map_err(|_| Code::INVALID_DEVICE.into())
}

/// A handle that this library gave out, or anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Handle(*mut c_void);

impl Handle {
    pub(crate) const NULL: Self = Self(std::ptr::null_mut());

    /// The handle of a stream, an event or a graph.
    pub(crate) fn of(id: u64) -> Self {
        Self::at(OBJECTS + id as usize * 16)
    }

    /// A handle of another kind.
    pub(crate) fn at(number: usize) -> Self {
        Self(number as *mut c_void)
    }

    /// The driver's id; what is no handle becomes an id that no object has.
    pub(crate) fn id(self) -> u64 {
        (self.number())
            .checked_sub(OBJECTS)
            .filter(|offset| offset % 16 == 0)
            .map_or(0, |offset| offset as u64 / 16)
    }

    pub(crate) fn number(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Whether it names the null stream: null, or one of the two special handles of `cuda.h`.
    pub(crate) fn is_null_stream(self) -> bool {
        self.number() <= 2
    }
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

    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
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
        if self.is_null() {
            return Err(Code::INVALID_VALUE.into());
        }
        // SAFETY: the promise that this type states, which hip_runtime_api.h and mc_runtime_api.h make of copies.
        Ok(unsafe { HostAddress::new(self.number()) })
    }
}

/// A place for an answer. The caller's promise: null, or valid for writing one `T`, whatever is there.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Refuses null before anything is done.
    pub(crate) fn present(&self) -> Outcome<()> {
        if self.0.is_null() {
            Err(Code::INVALID_VALUE.into())
        } else {
            Ok(())
        }
    }

    /// Writes the answer, refusing null.
    pub(crate) fn put(&self, value: T) -> Outcome<()> {
        self.present()?;
        // SAFETY: not null, and this type states the rest.
        unsafe { self.0.write(value) };
        Ok(())
    }

    /// Writes the answer where there is a place for it.
    pub(crate) fn put_if_present(&self, value: T) {
        // The only refusal is that of a null pointer, which is allowed here.
        let _ = self.put(value);
    }
}

impl Out<Handle> {
    /// What is there, where the call is one that changes a handle; null is refused.
    pub(crate) fn get(&self) -> Outcome<Handle> {
        self.present()?;
        // SAFETY: not null, and a caller of such a call has put a handle there.
        Ok(unsafe { self.0.read() })
    }
}

/// A place for a text. The caller's promise: null, or valid for writing as many bytes as the call says.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct OutText(*mut c_char);

impl OutText {
    /// Writes text with its ending NUL, refusing null and too little room.
    pub(crate) fn put(&self, room: c_int, text: &str) -> Outcome<()> {
        let room = usize::try_from(room).unwrap_or(0);
        if room <= text.len() {
            return Err(Code::INVALID_VALUE.into());
        }
        self.put_bytes(text.as_bytes())?;
        // SAFETY: below `room`, for which this type states the caller's promise.
        let end = unsafe { self.0.add(text.len()) };
        // SAFETY: as above.
        unsafe { end.write(0) };
        Ok(())
    }

    /// Writes bytes for which the caller asked the size before, refusing null.
    pub(crate) fn put_bytes(&self, bytes: &[u8]) -> Outcome<()> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE.into());
        }
        // SAFETY: not null, and this type states that so many bytes may be written; they are not the caller's memory.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.0.cast::<u8>(), bytes.len()) };
        Ok(())
    }
}

/// A caller's text. The caller's promise: null, or ending in NUL and unchanged during the call.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Text(*const c_char);

impl Text {
    /// A copy of the text; null and what is no UTF-8 are refused.
    pub(crate) fn read(self) -> Outcome<String> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE.into());
        }
        // SAFETY: not null, and this type states the rest.
        let text = unsafe { CStr::from_ptr(self.0) };
        Ok(text.to_str().map_err(|_| Code::INVALID_VALUE)?.to_owned())
    }
}

/// A caller's list of texts. The caller's promise: null, or as many valid texts as the call says.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Texts(*const Text);

impl Texts {
    pub(crate) fn read(self, count: c_int) -> Outcome<Vec<String>> {
        let count = usize::try_from(count).map_err(|_| Code::INVALID_VALUE)?;
        if count == 0 {
            return Ok(Vec::new());
        }
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE.into());
        }
        // SAFETY: not null, and this type states that so many texts are there.
        let texts = unsafe { std::slice::from_raw_parts(self.0, count) };
        texts.iter().map(|text| text.read()).collect()
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
            let here = unsafe { self.0.add(at) };
            // SAFETY: as above.
            let found = unsafe { here.read() };
            if found as u8 != *byte {
                return Ok(None);
            }
        }
        // SAFETY: as above; what begins so and is read further is a text.
        let rest = unsafe { self.0.add(magic.len()) };
        Text(rest).read().map(Some)
    }
}

/// The pointers to a kernel's arguments. The caller's promise: null, or one for each parameter of the kernel, each valid for
/// reading an argument of the parameter's type.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Arguments(*const *const u64);

impl Arguments {
    /// The values of `count` arguments of 64 bits.
    pub(crate) fn read(self, count: usize) -> Outcome<Vec<u64>> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE.into());
        }
        // SAFETY: not null, and this type states that so many pointers are there.
        let places = unsafe { std::slice::from_raw_parts(self.0, count) };
        let value = |place: &*const u64| {
            if place.is_null() {
                return Err(Code::INVALID_VALUE.into());
            }
            // SAFETY: as above; all kernels here have parameters of 64 bits. A caller need not align them.
            Ok(unsafe { place.read_unaligned() })
        };
        places.iter().map(value).collect()
    }
}
