//! Where a call goes on: every call passes through [`enter`]. How it comes here is in `exports`.

use crate::driver::{Driver, text};
use crate::log::{self, delay_us};
use crate::real::{Library, Real};
use crate::spin;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

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
            name: text(name),
            answer,
        }
    }

    /// Where to go on: the real function, or one of ours that answers in its place.
    fn way(&'static self, frame: Frame) -> usize {
        self.real(frame).unwrap_or_else(|words| {
            words.iter().for_each(|words| log::refuse(words));
            self.instead()
        })
    }

    /// The real function, delayed where that is asked; without it, why the call is refused, where that is to be said.
    fn real(&'static self, frame: Frame) -> Result<usize, Option<String>> {
        let real = Real::get(self.library).map_err(|words| Some(words.to_owned()))?;
        if self.answer == Answer::LastError && log::last_refusal().is_some() {
            return Err(None);
        }
        let found = match self.found.load(Ordering::Relaxed) {
            0 => real.handle.symbol(self.name).ok_or(None)? as usize,
            found => found,
        };
        self.found.store(found, Ordering::Relaxed);
        if self.answer == Answer::Delayed {
            // SAFETY: `slow` saved the registers of arguments in order, and behind them stand on x86_64 the return address and the
            // arguments on the stack; the function has an argument of this number.
            let stream = unsafe { frame.wrapping_add(STREAM).read() };
            before(real, stream).map_err(Some)?;
        }
        Ok(found)
    }

    /// A function of ours that answers in the place of the real one.
    fn instead(&self) -> usize {
        (match self.answer {
            Answer::Delayed | Answer::Result => internal_error as *const (),
            Answer::Text => unknown_text as *const (),
            Answer::LastError => last_refusal as *const (),
            Answer::Nothing => zeros as *const (),
        }) as usize
    }
}

/// Counts an all-reduce and delays it in its stream.
///
/// # Errors
/// The words why the delay could not be put there: the call must not go on.
fn before(real: &'static Real, stream: *mut c_void) -> Result<(), String> {
    let delay_us = delay_us()?;
    let driver = Driver::get(real.library.driver, real.handle);
    let is_capturing = driver.is_some_and(|driver| driver.is_capturing(stream));
    if delay_us > 0.0 {
        match driver {
            Some(driver) => spin::put(driver, stream, delay_us)?,
            None => spin_here(delay_us),
        }
    }
    log::delay(&real.file, is_capturing);
    Ok(())
}

/// Keeps the calling thread busy. It does not sleep: the kernel wakes late by tens of microseconds.
fn spin_here(microseconds: f64) {
    let duration = Duration::from_secs_f64(microseconds / 1e6);
    let start = Instant::now();
    while start.elapsed() < duration {
        std::hint::spin_loop();
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
    log::last_refusal().unwrap_or_default().as_ptr()
}

extern "C" fn zeros() -> u128 {
    0
}

/// Finds where a call goes on, and delays it where that is asked.
pub(crate) extern "C" fn enter(entry: &'static Entry, frame: Frame) -> usize {
    catch_unwind(AssertUnwindSafe(|| entry.way(frame))).unwrap_or_else(|_| {
        log::refuse("it panicked");
        entry.instead()
    })
}
