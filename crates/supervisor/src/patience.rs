//! How long workers may be silent: a deadline of time that they had, and not of time in which other work had the CPU they wanted. A
//! worker that starves, or that somebody stopped, looks like one that hangs, and says nothing of what it waits for.
//!
//! What ran and what waited for a CPU is what the kernel counted for the workers' threads (`/proc/PID/task/TID/schedstat`); where it
//! counts nothing, all time counts. CPUs that a hypervisor or a quota takes away are not seen, nor is a worker that was stopped for a
//! while and runs again at the deadline. It ends nothing.

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
    /// Whether they had the time and hang as far as is known.
    #[must_use]
    pub fn is_hang(&self) -> bool {
        !self.is_starved && !self.is_stopped
    }
}

impl Patience {
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
    pub fn heard(&mut self) {
        self.since = Instant::now();
        self.threads = threads(&self.workers.processes());
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
            Self::Tree(root) => tree(*root, &parents()),
        }
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

/// What is left of a deadline, or of the longest wait.
fn left(deadline: Duration, waited: Duration, had: Duration) -> Duration {
    let at_most = deadline.saturating_add(LONGER);
    let of_deadline = deadline.saturating_sub(had);
    of_deadline.min(at_most.saturating_sub(waited))
}

/// The part of some time that workers had, of which these are the threads before and after it.
///
/// Of all threads the longest wait for a CPU counts, and not the sum: waits overlap, and a sum of them is no part of the time. But one
/// that ran all that time made no progress with it, however many others waited.
fn had(time: Duration, before: &Threads, after: &Threads) -> Duration {
    let mut longest = Counted::default();
    for (thread, counted) in after {
        let known = before.get(thread).copied().unwrap_or_default();
        let ran = counted.ran.saturating_sub(known.ran);
        let waited = counted.waited.saturating_sub(known.waited);
        longest.ran = ran.max(longest.ran);
        longest.waited = waited.max(longest.waited);
    }
    time.saturating_sub(longest.waited)
        .max(longest.ran)
        .min(time)
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

/// Whether a process stands still for a signal or a debugger.
fn is_stopped(process: u32) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok();
    text.as_deref()
        .and_then(state_in)
        .is_some_and(|(state, _)| matches!(state, 'T' | 't'))
}

/// All processes of this machine that may be seen, each with its parent.
fn parents() -> Vec<(u32, u32)> {
    let Ok(all) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let numbers = all
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let of = |process: u32| {
        let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        Some((process, state_in(&text)?.1))
    };
    numbers.filter_map(of).collect()
}

/// A process and all that come of it.
fn tree(root: u32, parents: &[(u32, u32)]) -> Vec<u32> {
    let mut all = vec![root];
    let mut next = 0;
    while let Some(parent) = all.get(next).copied() {
        let children = parents.iter().filter(|(_, of)| *of == parent);
        let new: Vec<u32> = children
            .map(|(child, _)| *child)
            .filter(|child| !all.contains(child))
            .collect();
        all.extend(new);
        next += 1;
    }
    all
}

/// State and parent of `PID (NAME) STATE PARENT ...` (proc_pid_stat(5)); the name may hold anything.
fn state_in(text: &str) -> Option<(char, u32)> {
    let (_, rest) = text.rsplit_once(')')?;
    let mut words = rest.split_whitespace();
    let state = words.next()?.chars().next()?;
    Some((state, words.next()?.parse().ok()?))
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

    fn counted(ran: u64, waited: u64) -> Counted {
        Counted {
            ran: s(ran),
            waited: s(waited),
        }
    }

    #[test]
    fn of_waits_that_overlap_the_longest_counts_and_never_their_sum() {
        let before = Threads::from([
            ((1, 1), counted(1, 3)),
            ((1, 2), counted(0, 0)),
            ((2, 2), counted(7, 5)),
        ]);
        // Process 1 waited max(4 - 3, 2 - 0, 1 of a new thread) = 2, process 2 9 - 5 = 4: of 10 s it had 10 - 4. All ran 1 s at most.
        let after = Threads::from([
            ((1, 1), counted(2, 4)),
            ((1, 2), counted(0, 2)),
            ((1, 3), counted(0, 1)),
            ((2, 2), counted(8, 9)),
        ]);
        assert_eq!(had(s(10), &before, &after), s(6));
        // In 3 s one waited longer than there was time: what one of them ran is left.
        assert_eq!(had(s(3), &before, &after), s(1));
        // They are gone, or nobody counts.
        assert_eq!(had(s(5), &after, &Threads::new()), s(5));
    }

    #[test]
    fn four_ranks_that_each_waited_a_part_do_not_starve_together() {
        // Waits of 57, 7, 7 and 7 s of 80 are 78 together, and no rank waited above 57: 80 - 57 = 23 s were there for all.
        let ranks = [(1, 57), (2, 7), (3, 7), (4, 7)];
        let before = Threads::new();
        let after = ranks.map(|(rank, waited)| ((rank, rank), counted(1, waited)));
        assert_eq!(had(s(80), &before, &Threads::from(after)), s(23));
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
    fn a_process_that_was_stopped_does_not_hang() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let stop = |signal: &str| {
            let words = [signal.to_owned(), child.id().to_string()];
            assert!(Command::new("kill").args(words).status().unwrap().success());
        };
        let patience = Patience::new(Duration::ZERO, [child.id()]);
        assert!(patience.over().is_some_and(|silence| silence.is_hang()));
        stop("-STOP");
        let begun = Instant::now();
        while !is_stopped(child.id()) && begun.elapsed() < s(20) {
            std::thread::sleep(LOOK);
        }
        // The program of it all runs, and a part of it does not.
        let program = Patience::of_program(Duration::ZERO, std::process::id());
        for patience in [patience, program] {
            let silence = patience.over().unwrap();
            assert!(silence.is_stopped && !silence.is_hang());
            let told = silence.to_string();
            assert!(told.contains("was stopped from outside"), "{told}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_program_is_all_that_comes_of_it() {
        // 5 is of 3, which is of 2; 9 is of another, and 1 is its own parent.
        let parents = [(1, 1), (2, 1), (3, 2), (5, 3), (4, 2), (9, 8)];
        assert_eq!(tree(2, &parents), [2, 3, 4, 5]);
        assert_eq!(tree(7, &parents), [7]);
        assert_eq!(tree(1, &parents), [1, 2, 3, 4, 5]);
        assert_eq!(state_in("12 (a) b) T 7 12 12 0"), Some(('T', 7)));
        assert_eq!([state_in(""), state_in("1 (x)")], [None; 2]);
    }

    #[test]
    fn a_silence_says_what_it_is_worth() {
        let of = |waited, for_cpu, is_starved| {
            let silence = Silence {
                waited: s(waited),
                for_cpu: s(for_cpu),
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
