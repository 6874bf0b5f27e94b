//! SIGINT, SIGTERM and SIGHUP as a flag that a wait can be woken by.
//!
//! It does not end workers and writes nothing: the program decides what it still saves. Only a second signal of the
//! same kind acts by itself, and ends the process at once.

use std::io::{self, PipeReader, pipe};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

/// The signal that asked the program to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Signal {
    /// SIGINT, as Ctrl-C sends it.
    Interrupt,
    /// SIGTERM, as a service manager or a job scheduler sends it.
    Terminate,
    /// SIGHUP, as the kernel sends it when the terminal or the ssh session goes away.
    Hangup,
}

impl Signal {
    /// Gives the exit code of a program that this signal stopped: 130, 143 or 129, which is 128 + the signal's number.
    pub fn exit_code(self) -> u8 {
        match self {
            Signal::Interrupt => 130,
            Signal::Terminate => 143,
            Signal::Hangup => 129,
        }
    }
}

/// Every signal that is watched, with its number.
const WATCHED: [(i32, Signal); 3] = [
    (SIGINT, Signal::Interrupt),
    (SIGTERM, Signal::Terminate),
    (SIGHUP, Signal::Hangup),
];

/// Whether the program was asked to stop, and by which signal.
///
/// Clones share one state. Once a signal has arrived it stays: every later look sees it.
#[derive(Clone)]
pub struct Interrupt {
    /// Number of the latest signal, 0 before the first.
    latest: Arc<AtomicUsize>,
    /// Readable from the first signal on; never read, so that every wait on it returns.
    wake: Option<Arc<PipeReader>>,
}

impl Interrupt {
    /// Starts to watch SIGINT, SIGTERM and SIGHUP in this process.
    ///
    /// A SIGHUP that the process was started to ignore, as `nohup` does, stays ignored. A second signal of the same
    /// kind ends the process at once with its exit code, without destructors; workers then see their standard input close and, where they called [`crate::child::die_with_parent`], are killed by the
    /// kernel. Call it once, in the program's main function. Fails where the system refuses a pipe or a handler.
    pub fn install() -> io::Result<Interrupt> {
        let latest = Arc::new(AtomicUsize::new(0));
        let (reader, writer) = pipe()?;
        for (number, signal) in WATCHED {
            // Where the kernel says nothing of this process, nothing is ignored.
            let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
            if number == SIGHUP && is_ignored(&status, number) {
                continue;
            }
            let code = i32::from(signal.exit_code());
            let seen = Arc::new(AtomicBool::new(false));
            // Actions run in the order of registration, so the first signal finds the flag unset and only sets it.
            flag::register_conditional_shutdown(number, code, Arc::clone(&seen))?;
            flag::register(number, seen)?;
            flag::register_usize(number, Arc::clone(&latest), number.unsigned_abs() as usize)?;
            low_level::pipe::register(number, writer.try_clone()?)?;
        }
        Ok(Interrupt {
            latest,
            wake: Some(Arc::new(reader)),
        })
    }

    /// Makes an interrupt that never comes, for tests and for waits that must not be cut short.
    pub fn none() -> Interrupt {
        Interrupt {
            latest: Arc::new(AtomicUsize::new(0)),
            wake: None,
        }
    }

    /// Returns the latest signal that arrived, if any.
    pub fn signal(&self) -> Option<Signal> {
        watched(self.latest.load(Ordering::SeqCst))
    }

    /// The descriptor that becomes readable when a signal arrives.
    pub(crate) fn wake(&self) -> Option<BorrowedFd<'_>> {
        self.wake.as_deref().map(AsFd::as_fd)
    }
}

/// The signal of a number.
fn watched(latest: usize) -> Option<Signal> {
    WATCHED
        .into_iter()
        .find(|(number, _)| number.unsigned_abs() as usize == latest)
        .map(|(_, signal)| signal)
}

/// Whether a `/proc/PID/status` shows a signal as ignored: `SigIgn` is a hexadecimal mask, bit 0 is signal 1 (proc(5)).
fn is_ignored(status: &str, number: i32) -> bool {
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (number - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_interrupt_shows_no_signal() {
        assert_eq!(Interrupt::none().signal(), None);
    }

    #[test]
    fn exit_codes_are_128_plus_the_signal_number() {
        // SIGINT is 2, SIGTERM 15 and SIGHUP 1 on Linux: 128 + 2 = 130, 128 + 15 = 143, 128 + 1 = 129.
        assert_eq!(Signal::Interrupt.exit_code(), 130);
        assert_eq!(Signal::Terminate.exit_code(), 143);
        assert_eq!(Signal::Hangup.exit_code(), 129);
    }

    #[test]
    fn an_ignored_signal_is_a_bit_of_the_mask() {
        // Signals 1 and 13 (SIGPIPE): bits 0 and 12, 0x1001.
        let status = "Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000004002\n";
        assert!(is_ignored(status, 1) && is_ignored(status, 13));
        assert!(!is_ignored(status, 2) && !is_ignored("", 1));
    }
}
