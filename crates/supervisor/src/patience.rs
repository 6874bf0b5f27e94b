//! How long workers may be silent: a deadline of time that they had, and not of time in which other work had the CPU they wanted. A
//! worker that starves looks like one that hangs, and says nothing of what it waits for.
//!
//! What waited for a CPU is what the kernel counted for the workers' threads (`/proc/PID/task/TID/schedstat`); where it counts
//! nothing, all time counts. CPUs that a hypervisor or a quota takes away are not seen. It ends nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// So much longer than the deadline workers that starve are waited for, at most.
const LONGER: Duration = Duration::from_secs(60);

/// Between two looks at least.
const LOOK: Duration = Duration::from_millis(20);

/// Less than this is not worth a word.
const WORTH_TELLING: Duration = Duration::from_secs(1);

/// For each thread by process and number, how long it has waited for a CPU since it began.
type Waits = BTreeMap<(u32, u32), Duration>;

/// Waits for progress of one worker, or of several that need each other.
#[derive(Debug)]
pub struct Patience {
    deadline: Duration,
    processes: Vec<u32>,
    since: Instant,
    waits: Waits,
}

/// Workers made no progress for as long as they may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    /// How long nothing came.
    pub waited: Duration,
    /// The part of it in which they waited for a CPU that other work had; what each of several waited is added up.
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
            waits: waits(&processes),
            processes,
        }
    }

    /// Begins anew: there was progress.
    pub fn heard(&mut self) {
        self.since = Instant::now();
        self.waits = waits(&self.processes);
    }

    /// How long to wait until [`Patience::over`] may have something to say.
    #[must_use]
    pub fn left(&self) -> Duration {
        let waited = self.since.elapsed();
        // Nothing needs to be read before.
        let by_clock = self.deadline.saturating_sub(waited);
        match by_clock.is_zero() {
            true => left(self.deadline, waited, self.for_cpu()).max(LOOK),
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
        let for_cpu = self.for_cpu().min(waited);
        left(self.deadline, waited, for_cpu)
            .is_zero()
            .then(|| Silence {
                waited,
                for_cpu,
                is_starved: waited - for_cpu < self.deadline,
            })
    }

    /// How long the workers have waited for a CPU since the last progress: of each the thread that waited longest. Workers that need
    /// each other wait one after another.
    fn for_cpu(&self) -> Duration {
        let now = waits(&self.processes);
        for_cpu(&self.waits, &now)
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
fn left(deadline: Duration, waited: Duration, for_cpu: Duration) -> Duration {
    let own = waited.saturating_sub(for_cpu);
    let at_most = deadline.saturating_add(LONGER);
    let of_deadline = deadline.saturating_sub(own);
    of_deadline.min(at_most.saturating_sub(waited))
}

/// Between two looks at the threads of some processes.
fn for_cpu(before: &Waits, now: &Waits) -> Duration {
    let mut longest: BTreeMap<u32, Duration> = BTreeMap::new();
    for (thread, wait) in now {
        let own = wait.saturating_sub(before.get(thread).copied().unwrap_or_default());
        let known = longest.entry(thread.0).or_default();
        *known = own.max(*known);
    }
    longest
        .into_values()
        .fold(Duration::ZERO, Duration::saturating_add)
}

fn waits(processes: &[u32]) -> Waits {
    let mut waits = Waits::new();
    for process in processes {
        let Ok(threads) = std::fs::read_dir(format!("/proc/{process}/task")) else {
            continue;
        };
        for thread in threads.flatten() {
            let number = thread
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok());
            let text = std::fs::read_to_string(thread.path().join("schedstat")).ok();
            if let Some((number, wait)) = number.zip(text.as_deref().and_then(wait_in)) {
                waits.insert((*process, number), wait);
            }
        }
    }
    waits
}

/// Of the kernel's three numbers (Documentation/scheduler/sched-stats.rst) the second: nanoseconds on a run queue.
fn wait_in(text: &str) -> Option<Duration> {
    let nanoseconds = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn only_time_that_a_worker_had_counts_and_a_minute_more_is_the_longest() {
        // Waited 20 s, all its own: nothing is left of 20 s.
        assert_eq!(left(s(20), s(20), s(0)), s(0));
        // 15 of 20 s waiting for a CPU: 5 s were its own, 15 s are left.
        assert_eq!(left(s(20), s(20), s(15)), s(15));
        // 70 s, of which 65 on the queue: 15 s are left of the deadline, and 20 + 60 - 70 = 10 of the longest wait.
        assert_eq!(left(s(20), s(70), s(65)), s(10));
        assert_eq!(left(s(20), s(80), s(75)), s(0));
        // Of several more than the time there was.
        assert_eq!(left(s(2), s(10), s(30)), s(2));
        assert_eq!(left(Duration::MAX, s(10), s(0)), Duration::MAX - s(10));
    }

    #[test]
    fn of_each_process_the_thread_counts_that_waited_longest_and_processes_add_up() {
        let before = Waits::from([((1, 1), s(3)), ((1, 2), s(0)), ((2, 2), s(5))]);
        // 1: max(4 - 3, 2 - 0, 1 of a new thread) = 2; 2: 9 - 5 = 4; 6 s in all.
        let now = Waits::from([
            ((1, 1), s(4)),
            ((1, 2), s(2)),
            ((1, 3), s(1)),
            ((2, 2), s(9)),
        ]);
        assert_eq!(for_cpu(&before, &now), s(6));
        assert_eq!(for_cpu(&now, &Waits::new()), s(0));
    }

    #[test]
    fn the_second_number_is_the_wait() {
        assert_eq!(
            wait_in("5000000 1500000 12\n"),
            Some(Duration::from_micros(1500))
        );
        assert_eq!([wait_in(""), wait_in("5"), wait_in("a b c")], [None; 3]);
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
