//! Which modes are measured here, and by which clock a soft box plays them.

use inventory::Built;
use measure::caveat::Caveat;
use measure::record::CallMode;

use crate::messages::Played;
use crate::rank::SOFT_CLOCK;

/// The part of the samples that may be late: of the others are the median and the 90th percentile.
const MAY_BE_LATE: f64 = 0.1;

/// The part of the time that a rank may wait for its CPU.
const MAY_WAIT: f64 = 0.05;

/// How much longer than the box's part a call may take in all, as a part of that: with the box's noise 5% of the box file. What is
/// above it is the machine's, as the box's part comes from the soft library itself.
const MAY_COST: f64 = 0.045;

/// The clock that ranks run by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clock {
    /// The device's own; that of a soft box is virtual.
    Own,
    /// A soft box plays its time in real time, so that the host can wait for it.
    Wall,
}

impl Clock {
    /// The variables that ranks need for it.
    pub(super) fn variables(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        (self == Self::Wall).then_some(SOFT_CLOCK).into_iter()
    }
}

/// Modes that one group of ranks measures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pass {
    pub(super) clock: Clock,
    pub(super) modes: Vec<CallMode>,
}

/// The modes that were asked for, or where none was those that say something on the backend, each once.
///
/// On host memory the work between interleaved calls takes the CPU that the calls need, so these must be asked for.
pub(super) fn modes(asked: &[CallMode], backend: Built) -> Vec<CallMode> {
    let is_meant = |mode: &CallMode| {
        if asked.is_empty() {
            let is_shared = *mode == CallMode::Interleaved && backend == Built::Host;
            not_here(*mode, backend).is_none() && !is_shared
        } else {
            asked.contains(mode)
        }
    };
    CallMode::ALL.into_iter().filter(is_meant).collect()
}

/// The groups that measure these modes: on a soft box, host-synced calls have one whose driver waits in real time.
pub(super) fn passes(modes: &[CallMode], is_soft: bool) -> Vec<Pass> {
    let in_real_time = |mode: &CallMode| is_soft && *mode == CallMode::HostSynced;
    let (wall, own) = modes.iter().copied().partition(in_real_time);
    let of = |clock, modes: Vec<CallMode>| (!modes.is_empty()).then_some(Pass { clock, modes });
    let passes = [of(Clock::Own, own), of(Clock::Wall, wall)];
    passes.into_iter().flatten().collect()
}

/// Why a mode says nothing here.
pub(super) fn not_here(mode: CallMode, backend: Built) -> Option<String> {
    (mode == CallMode::Graph && backend == Built::Host)
        .then(|| "the host backend has no graphs".to_owned())
}

/// What to know of a soft box's time that this machine played in real time, whose median was so many microseconds.
pub(super) fn in_real_time(ranks: u32, median_us: f64, played: Option<Played>) -> Caveat {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let box_us = played.and_then(Played::box_us_each);
    Caveat::InRealTime {
        box_us,
        own_us: box_us.map(|box_us| median_us - box_us),
        not_judged: cannot_judge((ranks, cpus), median_us, played),
    }
}

/// Why real time says little of a box here: each rank needs a CPU to itself, and the machine has to move the bytes within the box's
/// time and to add little to it. So a time that is judged is near the box's part; what that is worth is judged by the box file.
fn cannot_judge(
    (ranks, cpus): (u32, usize),
    median_us: f64,
    played: Option<Played>,
) -> Option<String> {
    if cpus < ranks as usize {
        return Some(format!(
            "{ranks} ranks need {ranks} CPUs for that, and there are {cpus}"
        ));
    }
    let Some((played, waited)) = played.and_then(|played| Some((played, played.waited?))) else {
        return Some("nothing says whether the ranks had their CPUs to themselves".to_owned());
    };
    let waited = waited.as_secs_f64() / played.took.as_secs_f64().max(f64::MIN_POSITIVE);
    if waited > MAY_WAIT {
        // Waits that began earlier may end in it.
        let percent = waited.min(1.0) * 100.0;
        return Some(format!(
            "others had the CPU of a rank for {percent:.0}% of the time"
        ));
    }
    let late = f64::from(played.late) / f64::from(played.samples.max(1));
    if late > MAY_BE_LATE {
        let of = if played.late >= played.samples {
            "all".to_owned()
        } else {
            format!("{:.0}% of the", late * 100.0)
        };
        return Some(format!(
            "this machine moved the bytes later than the box in {of} calls"
        ));
    }
    let box_us = played.box_us_each()?;
    let cost = (median_us - box_us) / box_us.max(f64::MIN_POSITIVE);
    (cost > MAY_COST).then(|| {
        let percent = cost * 100.0;
        format!("the rest of the time is {percent:.1}% of the box's part")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use CallMode::{BackToBack, Graph, HostSynced, Interleaved};
    use std::time::Duration;

    #[test]
    fn all_that_the_backend_has_is_measured_unless_some_were_asked_for() {
        assert_eq!(modes(&[], Built::Cuda), CallMode::ALL);
        assert_eq!(modes(&[], Built::Host), [HostSynced, BackToBack]);
        assert_eq!(modes(&[Interleaved], Built::Host), [Interleaved]);
        // What was asked for and is not there is told.
        assert_eq!(
            modes(&[Graph, HostSynced], Built::Host),
            [HostSynced, Graph]
        );
    }

    #[test]
    fn only_host_synced_calls_of_a_soft_box_need_real_time() {
        let pass = |clock, modes: &[CallMode]| Pass {
            clock,
            modes: modes.to_vec(),
        };
        assert_eq!(
            passes(&CallMode::ALL, false),
            [pass(Clock::Own, &CallMode::ALL)]
        );
        assert_eq!(
            passes(&CallMode::ALL, true),
            [
                pass(Clock::Own, &[BackToBack, Graph, Interleaved]),
                pass(Clock::Wall, &[HostSynced])
            ]
        );
        assert_eq!(
            passes(&[HostSynced], true),
            [pass(Clock::Wall, &[HostSynced])]
        );
    }

    /// 200 samples of a box that takes 100 us a call.
    fn played(late: u32, waited_us: u64) -> Option<Played> {
        Some(Played {
            late,
            box_us: Some(20_000.0),
            samples: 200,
            took: Duration::from_millis(10),
            waited: Some(Duration::from_micros(waited_us)),
        })
    }

    #[test]
    fn real_time_is_judged_where_each_rank_had_a_cpu_to_itself() {
        // 5% of 10 ms are 500 us.
        let of = |cpus, played| cannot_judge((2, cpus), 104.0, played);
        assert_eq!(of(2, played(0, 500)), None);
        assert!(of(2, played(0, 1000)).unwrap().contains("10% of the time"));
        // More than the whole is the whole.
        assert!(
            of(2, played(0, 10_200))
                .unwrap()
                .contains("100% of the time")
        );
        assert!(of(1, played(0, 0)).unwrap().contains("2 CPUs"));
        let unknown = played(0, 0).map(|played| Played {
            waited: None,
            ..played
        });
        assert!(of(2, unknown).is_some() && of(2, None).is_some());
    }

    #[test]
    fn real_time_is_judged_where_the_bytes_were_there_in_time() {
        // 20 of 200 are 10%, 21 more.
        let of = |late| cannot_judge((2, 2), 104.0, played(late, 0));
        assert_eq!(of(20), None);
        assert!(of(100).unwrap().contains("50% of the calls"));
        assert!(of(21).is_some());
        assert!(of(200).unwrap().ends_with("in all calls"));
    }

    #[test]
    fn real_time_is_judged_where_this_machine_needs_little_beside_the_box() {
        let of = |median_us| cannot_judge((2, 2), median_us, played(0, 0));
        assert_eq!(of(104.0), None);
        assert!(of(106.0).unwrap().contains("6.0% of the box's part"));
        let text = in_real_time(2, 104.0, played(0, 0)).to_string();
        assert!(
            text.starts_with("box 100.00 us, the rest 4.00 us"),
            "{text}"
        );
    }
}
