//! How a worker is ended: ask, SIGTERM, SIGKILL, abandon, each with its own wait.
//!
//! The steps are written over a small trait, so that a process that no signal ends can be played in a test. A real
//! one sits in uninterruptible sleep (state D) inside a driver. This file sends no signal itself.

use std::process::ExitStatus;
use std::time::Duration;

/// How long each step of ending a worker may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ladder {
    /// Wait after its standard input was closed, which asks it to stop.
    pub abort: Duration,
    /// Wait after SIGTERM to its process group.
    pub term: Duration,
    /// Wait after SIGKILL to its process group; after that it is abandoned.
    pub kill: Duration,
}

impl Default for Ladder {
    /// Gives 5 s for the abort, 5 s for SIGTERM and 10 s for SIGKILL.
    fn default() -> Ladder {
        Ladder {
            abort: Duration::from_secs(5),
            term: Duration::from_secs(5),
            kill: Duration::from_secs(10),
        }
    }
}

/// How a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It had exited, or did so when asked; the status says whether well.
    Exited(ExitStatus),
    /// It ended after SIGTERM.
    Terminated,
    /// It ended after SIGKILL.
    Killed,
    /// It outlived SIGKILL and was abandoned, as a process stuck inside a driver does.
    HangUnkillable,
}

/// A process as the ladder sees it.
pub(crate) trait Climbed {
    /// Asks it to stop.
    fn abort(&mut self);
    /// Sends SIGTERM to its group.
    fn terminate(&mut self);
    /// Sends SIGKILL to its group.
    fn kill(&mut self);
    /// Waits for its exit, at most so long.
    fn wait(&mut self, limit: Duration) -> Option<ExitStatus>;
}

/// Ends the process, never taking longer than the sum of the ladder's waits.
pub(crate) fn climb(process: &mut impl Climbed, ladder: Ladder) -> Ending {
    process.abort();
    if let Some(status) = process.wait(ladder.abort) {
        return Ending::Exited(status);
    }
    process.terminate();
    if process.wait(ladder.term).is_some() {
        return Ending::Terminated;
    }
    process.kill();
    if process.wait(ladder.kill).is_some() {
        return Ending::Killed;
    }
    Ending::HangUnkillable
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays a process that ends at the given step (0 is the abort), and notes what was done to it.
    struct Played {
        ends_at: usize,
        steps: Vec<String>,
        waits: usize,
    }

    impl Climbed for Played {
        fn abort(&mut self) {
            self.steps.push("abort".to_owned());
        }
        fn terminate(&mut self) {
            self.steps.push("term".to_owned());
        }
        fn kill(&mut self) {
            self.steps.push("kill".to_owned());
        }
        fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
            self.steps.push(format!("wait {limit:?}"));
            self.waits += 1;
            (self.waits > self.ends_at).then(ExitStatus::default)
        }
    }

    fn play(ends_at: usize) -> (Ending, String) {
        let mut played = Played {
            ends_at,
            steps: Vec::new(),
            waits: 0,
        };
        let ending = climb(&mut played, Ladder::default());
        (ending, played.steps.join(", "))
    }

    #[test]
    fn each_step_waits_its_own_time_and_stops_at_the_exit() {
        assert_eq!(
            play(0),
            (
                Ending::Exited(ExitStatus::default()),
                "abort, wait 5s".to_owned()
            )
        );
        assert_eq!(
            play(1),
            (
                Ending::Terminated,
                "abort, wait 5s, term, wait 5s".to_owned()
            )
        );
        assert_eq!(
            play(2),
            (
                Ending::Killed,
                "abort, wait 5s, term, wait 5s, kill, wait 10s".to_owned()
            )
        );
    }

    #[test]
    fn an_unkillable_process_is_abandoned_after_three_waits() {
        // 5 s + 5 s + 10 s = 20 s at most, and no fourth wait.
        let (ending, steps) = play(usize::MAX);
        assert_eq!(ending, Ending::HangUnkillable);
        assert_eq!(steps, "abort, wait 5s, term, wait 5s, kill, wait 10s");
    }
}
