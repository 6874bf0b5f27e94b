//! What is reported: words on standard error, the last refusal as the library's last error, and lines of JSON in `TPLENS_DELAY_LOG`.
//!
//! A process appends a line at its first delayed call, at each call whose number is a power of two, at a call that comes half a
//! second after the last line, and when it ends; the last line of a process counts. Workers of engines are often killed and write
//! none at their end. A graph's replays are no calls: `calls_captured` tells how many delays are in graphs.

use crate::config::{Config, path};
use std::ffi::{CString, c_char, c_int};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// A line is written after a call where the last one is so old.
const QUIET: Duration = Duration::from_millis(500);

/// What is known of the kernel: least, median and most of measurements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spin {
    /// A kernel without work, in a stream.
    pub(crate) empty_us: [f64; 3],
    /// What the kernel is told to wait.
    pub(crate) argument_us: f64,
    /// The kernel with that, in a stream.
    pub(crate) measured_us: [f64; 3],
    /// How many kernels each was measured with.
    pub(crate) kernels: u32,
}

/// What happened so far in this process.
#[derive(Debug)]
struct State {
    calls: u64,
    captured: u64,
    /// Calls that are not of the operations asked for.
    passed: u64,
    refused: u64,
    spin: Option<Spin>,
    /// What keeps the time: a kernel in the stream, or the calling thread.
    by: Option<&'static str>,
    refusal: Option<&'static std::ffi::CStr>,
    written: Option<Instant>,
    log_failed: bool,
}

static STATE: Mutex<State> = Mutex::new(State {
    calls: 0,
    captured: 0,
    passed: 0,
    refused: 0,
    spin: None,
    by: None,
    refusal: None,
    written: None,
    log_failed: false,
});

/// The real library, for the line at the end.
static REAL: OnceLock<&'static str> = OnceLock::new();

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

/// Keeps what was measured of the kernel.
pub(crate) fn spins(spin: Spin) {
    state().spin = Some(spin);
}

/// Keeps what the delay is.
pub(crate) fn spins_by(what: &'static str) {
    state().by = Some(what);
}

/// Counts a call that goes on without a delay.
pub(crate) fn pass() {
    state().passed += 1;
}

/// Counts a delayed call, and writes a line where it is time.
pub(crate) fn delay(file: &str, version: Option<c_int>, is_captured: bool) {
    let mut state = state();
    state.calls += 1;
    state.captured += u64::from(is_captured);
    if state.calls == 1 {
        let facts = facts(file, version);
        if REAL.set(Box::leak(facts.into_boxed_str())).is_ok() {
            // SAFETY: atexit(3) of a function that lives as long as the library, whose end the C runtime ties it to.
            let _ = unsafe { libc::atexit(at_exit) };
        }
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

/// What does not change, as fields of JSON.
fn facts(file: &str, version: Option<c_int>) -> String {
    let mut text = format!("\"library\":{}", quoted(file));
    let version = version.map_or("null".to_owned(), |number| number.to_string());
    let _ = write!(text, ",\"version\":{version}");
    if let Ok(config) = Config::get() {
        let words = crate::table::Operation::WORDS.iter();
        let asked: Vec<String> = words
            .filter(|row| config.operations.contains(&row.1))
            .map(|row| quoted(row.0))
            .collect();
        let _ = write!(
            text,
            ",\"delay_us\":{},\"operations\":[{}]",
            config.delay_us,
            asked.join(",")
        );
    }
    text
}

fn line(state: &State, at: &str) -> String {
    let facts = REAL.get().copied().unwrap_or("\"library\":null");
    let spin = state.spin.map_or("null".to_owned(), |spin| {
        let three = |[least, median, most]: [f64; 3]| format!("[{least:.3},{median:.3},{most:.3}]");
        format!(
            "{{\"empty_us\":{},\"argument_us\":{:.3},\"measured_us\":{},\"n\":{}}}",
            three(spin.empty_us),
            spin.argument_us,
            three(spin.measured_us),
            spin.kernels
        )
    });
    let by = state.by.map_or("null".to_owned(), quoted);
    format!(
        "{{\"schema\":1,\"at\":\"{at}\",\"pid\":{},{facts},\"calls\":{},\"calls_captured\":{},\"calls_not_delayed\":{},\"calls_refused\":{},\"delay_by\":{by},\"kernel\":{spin}}}\n",
        std::process::id(),
        state.calls,
        state.captured,
        state.passed,
        state.refused,
    )
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

/// Text of JSON.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            control if control < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_json_is_escaped() {
        // RFC 8259, section 7.
        assert_eq!(quoted("a\"b\\c\n"), "\"a\\\"b\\\\c\\u000a\"");
    }
}
