//! Where a call goes on: the first call of a name, and every call that may be delayed, passes through [`enter`]. How it comes here is
//! in `exports`.

use crate::delay;
use crate::frame::Frame;
use crate::log;
use crate::real::Real;
use crate::table::Library;
use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a call answers that the real library does not take, by what its C function returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// `ncclResult_t`: `ncclInternalError`.
    Result,
    /// Text: that something is missing.
    Text,
    /// Text: what was refused last by the shim, where it refused anything.
    LastError,
    /// A pointer, a number, a small structure or nothing: null or zeros.
    Nothing,
    /// As `Nothing`, for a mark of this project's own libraries: that the real library is missing is not said.
    Mark,
    /// As `Mark`, a floating-point number.
    MarkNumber,
}

/// One exported function.
#[derive(Debug)]
#[repr(C)]
pub struct Entry {
    /// The real function's address, 0 before the first call. The first field, as the exports jump to what stands here.
    target: AtomicUsize,
    /// The real function's address, of an entry whose every call passes through [`enter`].
    found: AtomicUsize,
    library: &'static Library,
    name: &'static CStr,
    answer: Answer,
    stream_at: Option<usize>,
}

impl Entry {
    /// A function of a library by its name, which ends in NUL; `stream_at` numbers the argument that is the stream of a delayed one.
    #[must_use]
    pub const fn new(
        library: &'static Library,
        name: &'static str,
        answer: Answer,
        stream_at: Option<usize>,
    ) -> Self {
        Self {
            target: AtomicUsize::new(0),
            found: AtomicUsize::new(0),
            library,
            name: match CStr::from_bytes_with_nul(name.as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("one NUL, at the end"),
            },
            answer,
            stream_at,
        }
    }

    /// Where to go on: the real function, or one of ours that answers in its place.
    fn way(&'static self, frame: &Frame) -> usize {
        let real = match Real::get(self.library) {
            Ok(real) => real,
            Err(_) if matches!(self.answer, Answer::Mark | Answer::MarkNumber) => {
                return self.instead();
            }
            Err(words) => {
                log::refuse(words);
                return self.instead();
            }
        };
        if self.answer == Answer::LastError && log::refused_here() {
            return last_refusal as *const () as usize;
        }
        let found = match self.found.load(Ordering::Relaxed) {
            0 => match real.handle.symbol(self.name) {
                Some(address) => address.as_ptr() as usize,
                None => return self.instead(),
            },
            found => found,
        };
        self.found.store(found, Ordering::Relaxed);
        match self.stream_at {
            Some(stream_at) => match delay::before(real, stream_at, frame) {
                Ok(()) => found,
                Err(words) => {
                    log::refuse(&words);
                    self.instead()
                }
            },
            None => {
                if self.answer != Answer::LastError {
                    self.target.store(found, Ordering::Release);
                }
                found
            }
        }
    }

    /// A function of ours that answers in the place of the real one.
    fn instead(&self) -> usize {
        let way = match self.answer {
            Answer::Result => internal_error as *const (),
            Answer::Text => unknown_text as *const (),
            Answer::LastError => last_refusal as *const (),
            Answer::Nothing | Answer::Mark => zeros as *const (),
            Answer::MarkNumber => zero as *const (),
        };
        way as usize
    }
}

/// `ncclInternalError` (nccl.h).
extern "C" fn internal_error() -> c_int {
    3
}

extern "C" fn unknown_text() -> *const c_char {
    c"the real library of collectives is missing, or has no text (tplens delay shim)".as_ptr()
}

extern "C" fn last_refusal() -> *const c_char {
    log::last_refusal()
}

extern "C" fn zeros() -> u128 {
    0
}

extern "C" fn zero() -> f64 {
    0.0
}

/// Finds where a call goes on, and delays it where that is asked.
pub(crate) extern "C" fn enter(entry: &'static Entry, frame: Frame) -> usize {
    catch_unwind(AssertUnwindSafe(|| entry.way(&frame))).unwrap_or_else(|_| {
        log::refuse("the delay shim panicked");
        entry.instead()
    })
}
