//! How long workers may be silent: a deadline of time that they had, and not of time in which other work had the CPU they wanted. A
//! worker that starves looks like one that hangs, and says nothing of what it waits for.
//!
//! What ran and what waited for a CPU is what the kernel counted for the workers' threads (`/proc/PID/task/TID/schedstat`); where it
//! counts nothing, all time counts. CPUs that a hypervisor or a quota takes away are not seen. It ends nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// So much longer than the deadline workers that starve are waited for, at most.
const LONGER: Duration = Duration::from_secs(60);

/// Between two looks at least.
const LOOK: Duration = Duration::from_millis(20);

/// Less than this is not worth a word.
const WORTH_TELLING: Duration = Duration::from_secs(1);

/// What the kernel counts of a thread since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counted {
    /// On a CPU.
    ran: Duration,
    /// Able to run, while others had the CPUs.
    waited: Duration,
}

/// Threads by process and number.
type Threads = BTreeMap<(u32, u32), Counted>;

/// Waits for progress of one worker, or of several that need each other.
#[derive(Debug)]
pub struct Patience {
    deadline: Duration,
    processes: Vec<u32>,
    since: Instant,
    threads: Threads,
}

/// Workers made no progress for as long as they may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    /// How long nothing came.
    pub waited: Duration,
    /// The part of it in which they waited for a CPU that other work had.
    pub for_cpu: Duration,
    /// Whether that leaves less than the deadline, so that nothing is known of what they wait for.
    pub is_starved: bool,
}

impl Patience {
    /// Begins to wait for workers by their process ids, none where they are on another machine.
    #[must_use]
    pub fn new(deadline: Duration, processes: impl IntoIterator<Item = u32>) -> Self {
        let processes: Vec<u32> = processes.into_iter().collect();
        Self {
            deadline,
            since: Instant::now(),
            threads: threads(&processes),
            processes,
        }
    }

    /// Begins anew: there was progress.
    pub fn heard(&mut self) {
        self.since = Instant::now();
        self.threads = threads(&self.processes);
    }

    /// How long to wait until [`Patience::over`] may have something to say.
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
        })
    }

    /// The part of some time that the workers had.
    fn had(&self, waited: Duration) -> Duration {
        had(waited, &self.threads, &threads(&self.processes))
    }
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (waited, for_cpu) = (self.waited.as_secs_f64(), self.for_cpu.as_secs_f64());
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

/// What is left of a deadline, or of the longest wait.
fn left(deadline: Duration, waited: Duration, had: Duration) -> Duration {
    let at_most = deadline.saturating_add(LONGER);
    let of_deadline = deadline.saturating_sub(had);
    of_deadline.min(at_most.saturating_sub(waited))
}

/// The part of some time that workers had, of which these are the threads before and after it.
///
/// Workers that need each other wait one after another, so that what they waited for a CPU adds up, of each the thread that waited
/// longest. But one that ran all that time made no progress with it, however many others waited.
fn had(time: Duration, before: &Threads, after: &Threads) -> Duration {
    let mut longest: BTreeMap<u32, Counted> = BTreeMap::new();
    for (thread, counted) in after {
        let known = before.get(thread).copied().unwrap_or_default();
        let of_process = longest.entry(thread.0).or_default();
        let ran = counted.ran.saturating_sub(known.ran);
        let waited = counted.waited.saturating_sub(known.waited);
        of_process.ran = ran.max(of_process.ran);
        of_process.waited = waited.max(of_process.waited);
    }
    let all = longest.values();
    let waited = all
        .clone()
        .fold(Duration::ZERO, |sum, one| sum.saturating_add(one.waited));
    let ran = all.map(|one| one.ran).max().unwrap_or_default();
    time.saturating_sub(waited).max(ran).min(time)
}

fn threads(processes: &[u32]) -> Threads {
    let mut all = Threads::new();
    for process in processes {
        let Ok(threads) = std::fs::read_dir(format!("/proc/{process}/task")) else {
            continue;
        };
        for thread in threads.flatten() {
            let name = thread.file_name();
            let number = name.to_str().and_then(|name| name.parse().ok());
            let text = std::fs::read_to_string(thread.path().join("schedstat")).ok();
            if let Some((number, counted)) = number.zip(text.as_deref().and_then(counted_in)) {
                all.insert((*process, number), counted);
            }
        }
    }
    all
}

/// Of the kernel's three numbers (Documentation/scheduler/sched-stats.rst) the first two: nanoseconds on a CPU and on a run queue.
fn counted_in(text: &str) -> Option<Counted> {
    let mut numbers = text.split_whitespace().map(str::parse);
    let mut next = || numbers.next()?.ok().map(Duration::from_nanos);
    Some(Counted {
        ran: next()?,
        waited: next()?,
    })
}

#[cfg(test)]
mod tests {
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

    fn counted(ran: u64, waited: u64) -> Counted {
        Counted {
            ran: s(ran),
            waited: s(waited),
        }
    }

    #[test]
    fn what_each_waited_longest_for_a_cpu_adds_up() {
        let before = Threads::from([
            ((1, 1), counted(1, 3)),
            ((1, 2), counted(0, 0)),
            ((2, 2), counted(7, 5)),
        ]);
        // Process 1 waited max(4 - 3, 2 - 0, 1 of a new thread) = 2, process 2 9 - 5 = 4: 6 of 10 s. Both ran 1 s at most.
        let after = Threads::from([
            ((1, 1), counted(2, 4)),
            ((1, 2), counted(0, 2)),
            ((1, 3), counted(0, 1)),
            ((2, 2), counted(8, 9)),
        ]);
        assert_eq!(had(s(10), &before, &after), s(4));
        // In 5 s they waited longer than there was time: what one of them ran is left.
        assert_eq!(had(s(5), &before, &after), s(1));
        // They are gone, or nobody counts.
        assert_eq!(had(s(5), &after, &Threads::new()), s(5));
    }

    #[test]
    fn one_that_runs_all_the_time_hangs_however_many_wait() {
        // Each of two that spin has a tenth of 60 s.
        let before = Threads::from([((1, 1), counted(0, 0)), ((2, 2), counted(0, 0))]);
        let after = Threads::from([((1, 1), counted(6, 54)), ((2, 2), counted(6, 54))]);
        assert_eq!(had(s(60), &before, &after), s(6));
    }

    #[test]
    fn the_first_two_numbers_are_what_ran_and_what_waited() {
        assert_eq!(
            counted_in("5000000000 2000000000 12\n"),
            Some(counted(5, 2))
        );
        assert_eq!(
            [counted_in(""), counted_in("5"), counted_in("a b c")],
            [None; 3]
        );
    }

    #[test]
    fn a_sleeper_that_nobody_keeps_from_the_cpu_is_over_at_its_deadline() {
        let own = std::process::id();
        let patience = Patience::new(Duration::ZERO, [own]);
        let silence = patience.over().unwrap();
        assert!(!silence.is_starved);
        let patience = Patience::new(s(3600), [own, 0]);
        assert!(patience.over().is_none() && patience.left() > s(3000));
    }

    #[test]
    fn a_silence_says_what_it_is_worth() {
        let of = |waited, for_cpu, is_starved| {
            let silence = Silence {
                waited: s(waited),
                for_cpu: s(for_cpu),
                is_starved,
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
