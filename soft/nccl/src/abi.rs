//! What every export shares: the way in, result codes with their texts, the last error, and writing through a caller's pointer.
#![expect(unsafe_code, reason = "writes through the pointers of C callers")]

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// `ncclResult_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Status(pub(crate) c_int);

impl Status {
    pub(crate) const SUCCESS: Self = Self(0);
    pub(crate) const UNHANDLED_CUDA: Self = Self(1);
    pub(crate) const SYSTEM: Self = Self(2);
    pub(crate) const INTERNAL: Self = Self(3);
    pub(crate) const INVALID_ARGUMENT: Self = Self(4);
    pub(crate) const INVALID_USAGE: Self = Self(5);
    pub(crate) const REMOTE: Self = Self(6);
}

/// Code and text of `ncclGetErrorString` (NCCL, src/init.cc).
const TEXTS: &[(Status, &CStr)] = &[
    (Status::SUCCESS, c"no error"),
    (
        Status::UNHANDLED_CUDA,
        c"unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
    ),
    (
        Status::SYSTEM,
        c"unhandled system error (run with NCCL_DEBUG=INFO for details)",
    ),
    (
        Status::INTERNAL,
        c"internal error - please report this issue to the NCCL developers",
    ),
    (
        Status::INVALID_ARGUMENT,
        c"invalid argument (run with NCCL_DEBUG=WARN for details)",
    ),
    (
        Status::INVALID_USAGE,
        c"invalid usage (run with NCCL_DEBUG=WARN for details)",
    ),
    (
        Status::REMOTE,
        c"remote process exited or there was a network error",
    ),
    (Status(7), c"NCCL operation in progress"),
];

thread_local! {
    /// The words of the last call of this thread that failed.
    static LAST: RefCell<CString> = RefCell::default();
    /// How many groups are open.
    static GROUPS: RefCell<u32> = const { RefCell::new(0) };
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
            words: "the soft library panicked".to_owned(),
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
    let row = TEXTS.iter().find(|row| row.0 == status);
    row.map_or(c"unknown result code", |row| row.1).as_ptr()
}

/// Opens a group.
pub(crate) fn enter_group() {
    GROUPS.with_borrow_mut(|depth| *depth += 1);
}

/// Closes a group; `false` where none is open.
pub(crate) fn leave_group() -> bool {
    GROUPS.with_borrow_mut(|depth| match depth.checked_sub(1) {
        Some(less) => {
            *depth = less;
            true
        }
        None => false,
    })
}

/// Writes an answer through a caller's pointer, refusing null in NCCL's words.
///
/// # Safety
/// A pointer that is not null is valid for writing one `T`.
pub(crate) unsafe fn put<T>(pointer: *mut T, value: T, call: &str, name: &str) -> Outcome<()> {
    if pointer.is_null() {
        let words = format!("{call} : {name} argument is NULL");
        return refuse(Status::INVALID_ARGUMENT, words);
    }
    // SAFETY: not null, and the caller promises the rest.
    unsafe { pointer.write(value) };
    Ok(())
}
