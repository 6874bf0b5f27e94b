//! Where a call goes on: every call passes through [`enter`]. How it comes here is in `exports`.

use crate::delay;
use crate::log;
use crate::real::Real;
use crate::table::Library;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a call answers that the real library does not take, by what its C function returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// `ncclResult_t`: `ncclInternalError`. It is delayed in its stream, the seventh argument (nccl.h).
    Delayed,
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
pub struct Entry {
    /// The real function's address, 0 before the first call.
    found: AtomicUsize,
    library: &'static Library,
    name: &'static CStr,
    answer: Answer,
}

impl Entry {
    /// A function of a library by its name, which ends in NUL.
    #[must_use]
    pub const fn new(library: &'static Library, name: &'static str, answer: Answer) -> Self {
        Self {
            found: AtomicUsize::new(0),
            library,
            name: match CStr::from_bytes_with_nul(name.as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("one NUL, at the end"),
            },
            answer,
        }
    }

    /// Where to go on: the real function, or one of ours that answers in its place.
    fn way(&'static self, frame: Frame) -> usize {
        self.real(frame).unwrap_or_else(|words| {
            if let Some(words) = words {
                log::refuse(&words);
            }
            self.instead()
        })
    }

    /// The real function, delayed where that is asked; without it, why the call is refused, where that is to be said.
    fn real(&'static self, frame: Frame) -> Result<usize, Option<String>> {
        let is_mark = matches!(self.answer, Answer::Mark | Answer::MarkNumber);
        let real = Real::get(self.library);
        let real = real.map_err(|words| (!is_mark).then(|| words.to_owned()))?;
        if self.answer == Answer::LastError && log::refused_here() {
            return Err(None);
        }
        let found = match self.found.load(Ordering::Relaxed) {
            0 => real.handle.symbol(self.name).ok_or(None)?.as_ptr() as usize,
            found => found,
        };
        self.found.store(found, Ordering::Relaxed);
        if self.answer == Answer::Delayed {
            // SAFETY: `slow` saved the registers of arguments in order, and behind them stand on x86_64 the return address and the
            // arguments on the stack; the function has an argument of this number.
            let stream = unsafe { frame.wrapping_add(STREAM).read() };
            delay::before(real, stream).map_err(Some)?;
        }
        Ok(found)
    }

    /// A function of ours that answers in the place of the real one.
    fn instead(&self) -> usize {
        let way = match self.answer {
            Answer::Delayed | Answer::Result => internal_error as *const (),
            Answer::Text => unknown_text as *const (),
            Answer::LastError => last_refusal as *const (),
            Answer::Nothing | Answer::Mark => zeros as *const (),
            Answer::MarkNumber => zero as *const (),
        };
        way as usize
    }
}

/// The arguments of a call, where the exports save them.
type Frame = *const *mut c_void;

/// Where the seventh argument stands: of x86_64 six are in registers, and behind them stands the return address (System V ABI, AMD64
/// supplement); of aarch64 eight are (AAPCS64).
const STREAM: usize = if cfg!(target_arch = "x86_64") { 7 } else { 6 };

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
    catch_unwind(AssertUnwindSafe(|| entry.way(frame))).unwrap_or_else(|_| {
        log::refuse("the delay shim panicked");
        entry.instead()
    })
}
