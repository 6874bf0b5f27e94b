//! What the kernel counted for workers' threads (`/proc/PID/task/TID/schedstat`): what ran and what waited for a CPU. Where it counts
//! nothing, all time is a worker's own. CPUs that a hypervisor or a quota takes away are not seen.

use std::collections::BTreeMap;
use std::time::Duration;

/// What the kernel counts of a thread since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counted {
    /// On a CPU.
    ran: Duration,
    /// Able to run, while others had the CPUs.
    waited: Duration,
}

/// Threads by process and number.
pub(super) type Threads = BTreeMap<(u32, u32), Counted>;

/// The part of some time that workers had, of which these are the threads before and after it.
///
/// Of all threads the longest wait for a CPU counts, and not the sum: waits overlap, and a sum of them is no part of the time. But one
/// that ran all that time made no progress with it, however many others waited.
pub(super) fn had(time: Duration, before: &Threads, after: &Threads) -> Duration {
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

/// What is counted of these processes' threads now; nothing of one that is gone or may not be read.
pub(super) fn threads(processes: &[u32]) -> Threads {
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
}
