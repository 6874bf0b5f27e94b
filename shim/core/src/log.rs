//! What is reported: words on standard error, the last refusal as the library's last error, and lines of JSON in `TPLENS_DELAY_LOG`.
//!
//! A process appends a line at its first delayed call, at each call whose number is a power of two, at a call that comes half a
//! second after the last line, and when it ends; the last line of a process counts. Workers of engines are often killed and write
//! none at their end. A graph's replays are no calls: `calls_captured` tells how many delays are in graphs.

use crate::config::{delay_us, path};
use serde_json::json;
use std::ffi::{CString, c_char};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// A line is written after a call where the last one is so old.
const QUIET: Duration = Duration::from_millis(500);

/// What happened so far in this process.
#[derive(Debug)]
struct State {
    calls: u64,
    captured: u64,
    refused: u64,
    /// Microseconds that the kernel of the delay was measured with.
    measured_us: Option<f64>,
    /// The real library's file.
    library: &'static str,
    refusal: Option<&'static std::ffi::CStr>,
    written: Option<Instant>,
    log_failed: bool,
}

static STATE: Mutex<State> = Mutex::new(State {
    calls: 0,
    captured: 0,
    refused: 0,
    measured_us: None,
    library: "",
    refusal: None,
    written: None,
    log_failed: false,
});

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says something on standard error.
pub(crate) fn say(words: &str) {
    // Where standard error is closed there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "tplens delay shim: {words}");
}

/// Notes a call that is refused, and says why, once for the same words behind each other.
pub(crate) fn refuse(words: &str) {
    let mut state = state();
    state.refused += 1;
    let text = format!("tplens delay shim: {words}");
    let known = state.refusal.map(|text| text.to_bytes());
    if known != Some(text.as_bytes()) {
        // Leaked: a caller of ncclGetLastError keeps the pointer, and there are few different words.
        state.refusal = CString::new(text)
            .ok()
            .map(|text| &*Box::leak(text.into_boxed_c_str()));
        drop(state);
        say(&format!("{words}; the call fails"));
    }
}

/// Whether a call of this process was refused.
pub(crate) fn refused_here() -> bool {
    state().refusal.is_some()
}

/// The words of the last refusal, which live on; empty text where there was none.
pub(crate) fn last_refusal() -> *const c_char {
    state().refusal.unwrap_or(c"").as_ptr()
}

/// Keeps what the kernel was measured with.
pub(crate) fn measured(us: f64) {
    state().measured_us = Some((us * 1e3).round() / 1e3);
}

/// Counts a delayed call, and writes a line where it is time.
pub(crate) fn delay(file: &'static str, is_captured: bool) {
    let mut state = state();
    state.calls += 1;
    state.captured += u64::from(is_captured);
    if state.calls == 1 {
        state.library = file;
        // SAFETY: atexit(3) of a function that lives as long as the library, whose end the C runtime ties it to.
        let _ = unsafe { libc::atexit(at_exit) };
    }
    let is_due = state.calls.is_power_of_two()
        || state
            .written
            .is_none_or(|written| written.elapsed() > QUIET);
    if is_due {
        append(&mut state, "call");
    }
}

extern "C" fn at_exit() {
    // Another thread may be at work and hold this: a process that ends waits for nothing.
    if let Ok(mut state) = STATE.try_lock() {
        append(&mut state, "exit");
    }
}

fn line(state: &State, at: &str) -> String {
    let line = json!({
        "schema": 1,
        "at": at,
        "pid": std::process::id(),
        "library": state.library,
        "delay_us": delay_us().unwrap_or(0.0),
        "calls": state.calls,
        "calls_captured": state.captured,
        "calls_refused": state.refused,
        "measured_us": state.measured_us,
    });
    format!("{line}\n")
}

/// Appends a line, in one write: several processes share the file.
fn append(state: &mut State, at: &str) {
    static PATH: OnceLock<Option<PathBuf>> = OnceLock::new();
    let Some(path) = PATH.get_or_init(|| path("TPLENS_DELAY_LOG")) else {
        return;
    };
    state.written = Some(Instant::now());
    let mut options = std::fs::File::options();
    let opened = options.create(true).append(true).open(path);
    let written = opened.and_then(|mut file| file.write_all(line(state, at).as_bytes()));
    if let (Err(error), false) = (written, state.log_failed) {
        state.log_failed = true;
        say(&format!(
            "TPLENS_DELAY_LOG {}: {error}; nothing is kept there",
            path.display()
        ));
    }
}
