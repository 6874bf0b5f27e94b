//! A CPU for each rank where a soft box plays its time in real time: two ranks that spin on one CPU wait for each other's turn.
//! And whether the rank really had it.

use std::time::{Duration, Instant};

use topology::Sysfs;

use crate::messages::Played;

/// The variable by which a soft driver is told to play its box in real time, and its value.
pub(crate) const SOFT_CLOCK: (&str, &str) = ("TPLENS_SOFT_CLOCK", "wall");

/// Binds this thread to a CPU that no other rank has, if it waits in real time and there is one for each rank.
///
/// A refusal is no fault: the times scatter more then.
pub(super) fn own(ranks: u32, rank: u32) {
    if !plays() {
        return;
    }
    let allowed = numa::allowed_cpus().unwrap_or_default();
    if let Some(cpu) = of_rank(&allowed, ranks, rank) {
        drop(numa::pin_thread_to_cpus(&[cpu]));
    }
}

/// Whether this rank plays a soft box's time in real time.
fn plays() -> bool {
    let (name, value) = SOFT_CLOCK;
    std::env::var_os(name).is_some_and(|clock| clock == value)
}

/// What a soft library says of one sample.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    /// Whether its bytes came later than the box says.
    pub(super) is_late: bool,
    /// The box's time, microseconds; `None` of a real library.
    pub(super) box_us: Option<f64>,
}

/// Looks at what this thread has of its CPU while samples are taken.
pub(super) struct Watch {
    began: Instant,
    waited: Option<Duration>,
}

impl Watch {
    /// `None` where no time is played.
    pub(super) fn start() -> Option<Self> {
        plays().then(|| Self {
            waited: waited(),
            began: Instant::now(),
        })
    }

    /// With what is known of each sample.
    pub(super) fn end(self, seen: &[Seen]) -> Played {
        let took = self.began.elapsed();
        let count = |samples: usize| u32::try_from(samples).unwrap_or(u32::MAX);
        Played {
            late: count(seen.iter().filter(|seen| seen.is_late).count()),
            box_us: seen.iter().map(|seen| seen.box_us).sum(),
            samples: count(seen.len()),
            took,
            waited: waited()
                .zip(self.waited)
                .map(|(end, start)| end.saturating_sub(start)),
        }
    }
}

/// How long this thread has waited, while it could run, for a CPU that others had.
fn waited() -> Option<Duration> {
    let text = Sysfs::real().read_text("proc/thread-self/schedstat")?;
    waited_in(&text)
}

/// Of the kernel's three numbers (Documentation/scheduler/sched-stats.rst) the second: nanoseconds spent waiting on a run queue.
fn waited_in(text: &str) -> Option<Duration> {
    let nanoseconds = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

/// The CPU of a rank among those that are allowed; `None` where they are fewer than ranks.
fn of_rank(allowed: &[usize], ranks: u32, rank: u32) -> Option<usize> {
    let own = allowed.get(rank as usize).copied();
    own.filter(|_| allowed.len() >= ranks as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_waited_as_long_as_the_second_number_says() {
        // 5 ms on a CPU, 1.5 ms waiting for one, in 12 turns.
        let of = |text| waited_in(text);
        assert_eq!(
            of("5000000 1500000 12\n"),
            Some(Duration::from_micros(1500))
        );
        assert_eq!([of(""), of("5000000"), of("a b c")], [None; 3]);
    }

    #[test]
    fn each_rank_has_a_cpu_or_none_has() {
        assert_eq!(
            [0, 1].map(|rank| of_rank(&[3, 5], 2, rank)),
            [Some(3), Some(5)]
        );
        assert_eq!([0, 1, 2].map(|rank| of_rank(&[3, 5], 3, rank)), [None; 3]);
    }
}
