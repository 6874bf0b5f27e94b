//! What a silence comes to, and its words. It reads and waits for nothing.

use std::fmt;
use std::time::Duration;

use record::FailureKind;

/// Less than this is not worth a word.
const WORTH_TELLING: Duration = Duration::from_secs(1);

/// What is said of a worker that was stopped for a while ([`crate::Worker::was_resumed`]); of one that stands still at the end
/// [`Silence`] says it.
pub const RESUMED: &str = "a process was stopped from outside for a while (SIGSTOP) and went on, so that its times say nothing of the devices; \
     measure again";

/// Workers made no progress for as long as they may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    /// How long nothing came.
    pub waited: Duration,
    /// The part of it in which one of them waited for a CPU that other work had, the one that waited longest.
    pub for_cpu: Duration,
    /// Whether that leaves less than the deadline, so that nothing is known of what they wait for.
    pub is_starved: bool,
    /// Whether one of them stands still at the end because somebody stopped it, so that nothing is known either.
    pub is_stopped: bool,
}

impl Silence {
    /// The same, where a worker of it was stopped and went on ([`crate::Worker::was_resumed`]): then nothing is known of what it waited for.
    #[must_use]
    pub fn or_stopped(self, was_resumed: bool) -> Self {
        Self {
            is_stopped: self.is_stopped || was_resumed,
            ..self
        }
    }

    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> FailureKind {
        match self {
            Self {
                is_stopped: true, ..
            } => FailureKind::Stopped,
            Self {
                is_starved: true, ..
            } => FailureKind::HostBusy,
            _ => FailureKind::Hang,
        }
    }

    /// Whether they had the time and hang as far as is known.
    #[must_use]
    pub fn is_hang(&self) -> bool {
        !self.is_starved && !self.is_stopped
    }
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (waited, for_cpu) = (self.waited.as_secs_f64(), self.for_cpu.as_secs_f64());
        if self.is_stopped {
            return write!(
                f,
                "no progress for {waited:.0} s: one of its processes was stopped from outside (SIGSTOP or a debugger), which says nothing of \
                 the devices; let it go on and measure again"
            );
        }
        if self.is_starved {
            return write!(
                f,
                "no progress for {waited:.0} s, of which {for_cpu:.0} s were waits for a CPU: other work has this machine's CPUs, \
                 which says nothing of the devices; stop it and measure again"
            );
        }
        let own = waited - for_cpu;
        write!(f, "no progress for {own:.0} s")?;
        if self.for_cpu >= WORTH_TELLING {
            write!(f, ", besides {for_cpu:.0} s of waits for a CPU")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silence_says_what_it_is_worth() {
        let of = |waited, for_cpu, is_starved| {
            let silence = Silence {
                waited: Duration::from_secs(waited),
                for_cpu: Duration::from_secs(for_cpu),
                is_starved,
                is_stopped: false,
            };
            silence.to_string()
        };
        assert_eq!(of(20, 0, false), "no progress for 20 s");
        assert_eq!(
            of(34, 14, false),
            "no progress for 20 s, besides 14 s of waits for a CPU"
        );
        assert_eq!(
            of(80, 75, true),
            "no progress for 80 s, of which 75 s were waits for a CPU: other work has this machine's CPUs, which says nothing of \
             the devices; stop it and measure again"
        );
    }
}
