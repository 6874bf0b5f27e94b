//! What every export shares besides [`softbox::abi`]: the way in, result codes and the last error.
//!
//! What nccl.h makes a caller promise of a parameter stands at the parameter's type.

use crate::table::TEXTS;
use softbox::Failure;
use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
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

impl From<Failure> for Refusal {
    /// Of what a caller passed: a null pointer.
    fn from(_: Failure) -> Self {
        Self {
            status: Status::INVALID_ARGUMENT,
            words: "an argument is NULL".to_owned(),
        }
    }
}

/// A result of a call.
pub(crate) type Outcome<T> = Result<T, Refusal>;

/// A refusal in words.
pub(crate) fn refuse<T>(status: Status, words: impl Into<String>) -> Outcome<T> {
    let words = words.into();
    Err(Refusal { status, words })
}

/// Runs the body of an export; a panic becomes `ncclInternalError`.
pub(crate) fn call(body: impl FnOnce() -> Outcome<()>) -> Status {
    let panicked = |_| refuse(Status::INTERNAL, "the simulated library panicked");
    match catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(panicked) {
        Ok(()) => Status::SUCCESS,
        Err(refusal) => {
            LAST.set(CString::new(refusal.words).unwrap_or_default());
            refusal.status
        }
    }
}

/// The words of this thread's last error, valid until its next; no communicator is asked, as in NCCL.
pub fn last_words() -> *const c_char {
    LAST.with_borrow(|last| last.as_ptr())
}

/// The text of a code.
pub fn text_of(status: Status) -> *const c_char {
    let code = usize::try_from(status.0).ok();
    let row = code.and_then(|code| TEXTS.get(code));
    row.map_or(c"unknown result code", |text| *text).as_ptr()
}
