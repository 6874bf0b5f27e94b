//! SIGINT and SIGTERM as a flag that a wait can be woken by.
//!
//! It does not end workers and writes nothing: the program decides what it still saves. Only a second signal of the
//! same kind acts by itself, and ends the process at once.

use std::io::{self, PipeReader, pipe};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

/// The signal that asked the program to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT, as Ctrl-C sends it.
    Interrupt,
    /// SIGTERM, as a service manager or a job scheduler sends it.
    Terminate,
}

impl Signal {
    /// Gives the exit code of a program that this signal stopped: 130 or 143, which is 128 + the signal's number.
    pub fn exit_code(self) -> u8 {
        match self {
            Signal::Interrupt => 130,
            Signal::Terminate => 143,
        }
    }
}

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
    /// Starts to watch SIGINT and SIGTERM in this process.
    ///
    /// A second signal of the same kind ends the process at once with 130 or 143, without destructors; workers then
    /// see their standard input close and, where they called [`crate::child::die_with_parent`], are killed by the
    /// kernel. Call it once, in the program's main function. Fails where the system refuses a pipe or a handler.
    pub fn install() -> io::Result<Interrupt> {
        let latest = Arc::new(AtomicUsize::new(0));
        let (reader, writer) = pipe()?;
        for (number, code) in [(SIGINT, 130), (SIGTERM, 143)] {
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
        const INTERRUPT: usize = SIGINT.unsigned_abs() as usize;
        const TERMINATE: usize = SIGTERM.unsigned_abs() as usize;
        match self.latest.load(Ordering::SeqCst) {
            INTERRUPT => Some(Signal::Interrupt),
            TERMINATE => Some(Signal::Terminate),
            _ => None,
        }
    }

    /// The descriptor that becomes readable when a signal arrives.
    pub(crate) fn wake(&self) -> Option<BorrowedFd<'_>> {
        self.wake.as_deref().map(AsFd::as_fd)
    }
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
        // SIGINT is 2 and SIGTERM is 15 on Linux: 128 + 2 = 130, 128 + 15 = 143.
        assert_eq!(Signal::Interrupt.exit_code(), 130);
        assert_eq!(Signal::Terminate.exit_code(), 143);
    }
}
