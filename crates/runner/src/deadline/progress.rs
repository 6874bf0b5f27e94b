//! [`ProgressDeadline`]: how long workers may be silent: a deadline of time that they had, and not of time in which other work had the CPU they wanted. A
//! worker that starves, or that somebody stopped, looks like one that hangs, and says nothing of what it waits for.
//!
//! A worker that was stopped for a while and runs again is known to its parent ([`crate::Worker::was_resumed`]), and not here. It ends nothing.

use std::time::{Duration, Instant};

use super::silence::Silence;
use super::threads::{Threads, had, threads};
use crate::processes::{is_stopped, tree};

/// So much longer than the deadline workers that starve are waited for, at most.
const LONGER: Duration = Duration::from_secs(60);

/// Between two looks at least.
const LOOK: Duration = Duration::from_millis(20);

/// Waits for progress of one worker, or of several that need each other.
#[derive(Debug)]
pub struct ProgressDeadline {
    deadline: Duration,
    workers: Workers,
    since: Instant,
    threads: Threads,
}

/// Whose silence it is.
#[derive(Debug)]
enum Workers {
    /// These processes.
    These(Vec<u32>),
    /// A process and all that come of it, which may change.
    Tree(u32),
}

impl ProgressDeadline {
    /// Begins to wait for workers by their process ids, none where they are on another machine.
    #[must_use]
    pub fn new(deadline: Duration, processes: impl IntoIterator<Item = u32>) -> Self {
        Self::of(deadline, Workers::These(processes.into_iter().collect()))
    }

    /// Begins to wait for a program: its process and all that come of it.
    #[must_use]
    pub fn of_program(deadline: Duration, process: u32) -> Self {
        Self::of(deadline, Workers::Tree(process))
    }

    fn of(deadline: Duration, workers: Workers) -> Self {
        Self {
            deadline,
            since: Instant::now(),
            threads: threads(&workers.processes()),
            workers,
        }
    }

    /// Begins anew: there was progress.
    pub fn restart(&mut self) {
        self.since = Instant::now();
        self.threads = threads(&self.workers.processes());
    }

    /// The same with another deadline from now on.
    pub fn restart_with(&mut self, deadline: Duration) {
        self.deadline = deadline;
        self.restart();
    }

    /// How long to wait until [`ProgressDeadline::over`] may have something to say.
    #[must_use]
    pub fn left(&self) -> Duration {
        let waited = self.since.elapsed();
        // Nothing needs to be read before.
        let by_clock = self.deadline.saturating_sub(waited);
        match by_clock.is_zero() {
            true => left(self.deadline, waited, self.had(waited)).max(LOOK),
            false => by_clock,
        }
    }

    /// Whether there was no progress for as long as there may be none.
    #[must_use]
    pub fn over(&self) -> Option<Silence> {
        let waited = self.since.elapsed();
        if waited < self.deadline {
            return None;
        }
        let had = self.had(waited);
        left(self.deadline, waited, had).is_zero().then(|| Silence {
            waited,
            for_cpu: waited - had,
            is_starved: had < self.deadline,
            is_stopped: self.workers.processes().into_iter().any(is_stopped),
        })
    }

    /// The part of some time that the workers had.
    fn had(&self, waited: Duration) -> Duration {
        had(waited, &self.threads, &threads(&self.workers.processes()))
    }
}

impl Workers {
    fn processes(&self) -> Vec<u32> {
        match self {
            Self::These(processes) => processes.clone(),
            Self::Tree(root) => tree(*root),
        }
    }
}

/// What is left of a deadline, or of the longest wait.
fn left(deadline: Duration, waited: Duration, had: Duration) -> Duration {
    let at_most = deadline.saturating_add(LONGER);
    let of_deadline = deadline.saturating_sub(had);
    of_deadline.min(at_most.saturating_sub(waited))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn only_time_that_a_worker_had_counts_and_a_minute_more_is_the_longest() {
        // All of 20 s were its own: nothing is left of 20 s.
        assert_eq!(left(s(20), s(20), s(20)), s(0));
        // 5 of 20 s were its own: 15 s are left.
        assert_eq!(left(s(20), s(20), s(5)), s(15));
        // 5 of 70 s: 15 s are left of the deadline, and 20 + 60 - 70 = 10 of the longest wait.
        assert_eq!(left(s(20), s(70), s(5)), s(10));
        assert_eq!(left(s(20), s(80), s(5)), s(0));
        assert_eq!(left(Duration::MAX, s(10), s(10)), Duration::MAX - s(10));
    }

    #[test]
    fn a_sleeper_that_nobody_keeps_from_the_cpu_is_over_at_its_deadline() {
        let own = std::process::id();
        let deadline = ProgressDeadline::new(Duration::ZERO, [own]);
        let silence = deadline.over().unwrap();
        assert!(!silence.is_starved);
        let deadline = ProgressDeadline::new(s(3600), [own, 0]);
        assert!(deadline.over().is_none() && deadline.left() > s(3000));
    }

    #[test]
    fn a_process_that_was_stopped_does_not_hang() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let stop = |signal: &str| {
            let words = [signal.to_owned(), child.id().to_string()];
            assert!(Command::new("kill").args(words).status().unwrap().success());
        };
        let deadline = ProgressDeadline::new(Duration::ZERO, [child.id()]);
        assert!(deadline.over().is_some_and(|silence| silence.is_hang()));
        stop("-STOP");
        let begun = Instant::now();
        while !is_stopped(child.id()) && begun.elapsed() < s(20) {
            std::thread::sleep(LOOK);
        }
        // The program of it all runs, and a part of it does not.
        let program = ProgressDeadline::of_program(Duration::ZERO, std::process::id());
        for deadline in [deadline, program] {
            let silence = deadline.over().unwrap();
            assert!(silence.is_stopped && !silence.is_hang());
            let told = silence.to_string();
            assert!(told.contains("was stopped from outside"), "{told}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
