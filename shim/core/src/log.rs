//! What is asked for and reported by variables: the delay, words on standard error and as the library's last error, and lines of JSON in `TPLENS_DELAY_LOG`.
//!
//! A process appends a line at its first delayed call, at each call whose number is a power of two, at a call that comes half a
//! second after the last line, and when it ends; the last line of a process counts. Workers of engines are often killed and write
//! none at their end. A graph's replays are no calls: `calls_captured` tells how many delays are in graphs.

use serde_json::json;
use std::env;
use std::ffi::{CStr, CString};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Beyond this many microseconds it is a mistake of units.
const MOST_US: f64 = 1e6;

/// A line is written after a call where the last one is so old.
const QUIET: Duration = Duration::from_millis(500);

/// What happened so far in this process.
#[derive(Debug, Default)]
struct State {
    calls: u64,
    captured: u64,
    refused: u64,
    /// Microseconds that the kernel of the delay was measured with.
    measured_us: Option<f64>,
    /// The real library's file.
    library: &'static str,
    /// What was said last of a call that is refused.
    refusal: Option<&'static CStr>,
    written: Option<Instant>,
    log_failed: bool,
}

static STATE: LazyLock<Mutex<State>> = LazyLock::new(Mutex::default);

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Microseconds that each all-reduce adds, as the variable of this process said when it was first asked for.
pub(crate) fn delay_us() -> Result<f64, &'static str> {
    static DELAY: OnceLock<Result<f64, String>> = OnceLock::new();
    let text = || env::var_os("TPLENS_DELAY_US").unwrap_or_default();
    let delay = DELAY.get_or_init(|| parsed(&text().to_string_lossy()));
    delay.as_ref().copied().map_err(String::as_str)
}

fn parsed(text: &str) -> Result<f64, String> {
    if text.is_empty() {
        return Ok(0.0);
    }
    let delay_us = text.trim().parse().ok();
    let delay_us = delay_us.filter(|us| (0.0..=MOST_US).contains(us));
    delay_us.ok_or_else(|| {
        format!("TPLENS_DELAY_US is {text:?}; give microseconds from 0 to {MOST_US}")
    })
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
    if state.refusal.map(CStr::to_bytes) != Some(text.as_bytes()) {
        // Leaked: a caller of ncclGetLastError keeps the pointer, and there are few different words.
        let text = CString::new(text).ok();
        state.refusal = text.map(|text| &*Box::leak(text.into_boxed_c_str()));
        say(&format!("{words}; the call fails"));
    }
}

/// The words of the last refusal, which live on; `None` where no call of this process was refused.
pub(crate) fn last_refusal() -> Option<&'static CStr> {
    state().refusal
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
    let is_old = |written: Instant| written.elapsed() > QUIET;
    if state.calls.is_power_of_two() || state.written.is_none_or(is_old) {
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
    let named = || env::var_os("TPLENS_DELAY_LOG").filter(|file| !file.is_empty());
    let Some(path) = PATH.get_or_init(|| named().map(PathBuf::from)) else {
        return;
    };
    state.written = Some(Instant::now());
    let mut options = std::fs::File::options();
    let opened = options.create(true).append(true).open(path);
    let written = opened.and_then(|mut file| file.write_all(line(state, at).as_bytes()));
    if let (Err(error), false) = (written, state.log_failed) {
        state.log_failed = true;
        let file = path.display();
        let why = format!("TPLENS_DELAY_LOG {file}: {error}; nothing is kept there");
        say(&why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_delay_is_refused() {
        assert_eq!(parsed(" 12.5"), Ok(12.5));
        for delay in ["-1", "nan", "inf", "20us", "1000001"] {
            assert!(parsed(delay).is_err(), "{delay}");
        }
    }
}
