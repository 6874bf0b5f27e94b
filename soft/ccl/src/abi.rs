//! What every export shares: the way in, result codes, the last error, and types for what a C caller passes, whose methods are
//! safe.
//!
//! Values of the types come from C callers alone, by the signatures in `exports`. What nccl.h makes a caller promise of a parameter
//! stands at the parameter's type.
#![expect(unsafe_code, reason = "writes through the pointers of C callers")]

use crate::table::TEXTS;
use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// `ncclResult_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Status(pub(crate) c_int);

impl Status {
    pub(crate) const SUCCESS: Self = Self(0);
    pub(crate) const UNHANDLED_CUDA: Self = Self(1);
    pub(crate) const SYSTEM: Self = Self(2);
    pub(crate) const INTERNAL: Self = Self(3);
    pub(crate) const INVALID_ARGUMENT: Self = Self(4);
    pub(crate) const INVALID_USAGE: Self = Self(5);
    pub(crate) const REMOTE: Self = Self(6);
    pub(crate) const IN_PROGRESS: Self = Self(7);
}

/// `ncclUniqueId`, which is passed by value.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct UniqueId(pub(crate) [u8; 128]);

/// A communicator or a stream: a handle that a library gave out, or anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Handle(*mut c_void);

impl Handle {
    pub(crate) const NULL: Self = Self(std::ptr::null_mut());

    pub(crate) fn at(number: usize) -> Self {
        Self(number as *mut c_void)
    }

    pub(crate) fn number(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn raw(self) -> *mut c_void {
        self.0
    }
}

/// A pointer to a buffer. The driver checks that it is memory of its device before anything is read or written.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct Address(*mut c_void);

impl Address {
    pub(crate) fn number(self) -> usize {
        self.0 as usize
    }
}

/// A place for an answer. The caller's promise: null, or valid for writing one `T`, whatever is there.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Writes an answer, refusing null in NCCL's words.
    pub(crate) fn put(self, value: T, call: &str, name: &str) -> Outcome<()> {
        if self.0.is_null() {
            let words = format!("{call} : {name} argument is NULL");
            return refuse(Status::INVALID_ARGUMENT, words);
        }
        // SAFETY: not null, and this type states the rest.
        unsafe { self.0.write(value) };
        Ok(())
    }
}

thread_local! {
    /// The words of the last call of this thread that failed.
    static LAST: RefCell<CString> = RefCell::default();
}

/// Why a call fails: a code, and words for `ncclGetLastError`.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: Status,
    pub(crate) words: String,
}

/// A result of a call.
pub(crate) type Outcome<T> = Result<T, Refusal>;

/// A refusal in words.
pub(crate) fn refuse<T>(status: Status, words: impl Into<String>) -> Outcome<T> {
    Err(Refusal {
        status,
        words: words.into(),
    })
}

/// Runs the body of an export; a panic becomes `ncclInternalError`.
pub(crate) fn call(body: impl FnOnce() -> Outcome<()>) -> Status {
    let outcome = catch_unwind(AssertUnwindSafe(body));
    let refusal = match outcome {
        Ok(Ok(())) => return Status::SUCCESS,
        Ok(Err(refusal)) => refusal,
        Err(_) => Refusal {
            status: Status::INTERNAL,
            words: "the simulated library panicked".to_owned(),
        },
    };
    LAST.set(CString::new(refusal.words).unwrap_or_default());
    refusal.status
}

/// The words of this thread's last error, valid until its next.
pub(crate) fn last_words() -> *const c_char {
    LAST.with_borrow(|last| last.as_ptr())
}

/// The text of a code.
pub(crate) fn text_of(status: Status) -> *const c_char {
    let row = usize::try_from(status.0)
        .ok()
        .and_then(|code| TEXTS.get(code));
    row.map_or(c"unknown result code", |text| *text).as_ptr()
}
