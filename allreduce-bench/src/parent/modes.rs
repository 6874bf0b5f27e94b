//! Which modes are measured here, and by which clock a soft box plays them.

use inventory::Built;
use measure::caveat::Caveat;
use measure::record::CallMode;
use topology::Sysfs;

use crate::rank::SOFT_CLOCK;

/// The load of a machine that does nothing else: its average lags behind what this program itself did before.
const IDLE_LOAD: f64 = 1.0;

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

/// What to know of a soft box's time that this machine played in real time.
pub(super) fn in_real_time(ranks: u32) -> Caveat {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let load = Sysfs::real()
        .read_text("proc/loadavg")
        .and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    Caveat::Note {
        text: match cannot_judge(ranks, cpus, load) {
            Some(why) => format!("{IN_REAL_TIME}; it is shown and is not to be judged: {why}"),
            None => IN_REAL_TIME.to_owned(),
        },
    }
}

const IN_REAL_TIME: &str = "a soft box's host-synced call is played in real time: the box's time and what this machine needs to \
                            issue a call and to wait for it";

/// Why real time says little of a box here: each rank needs a CPU for itself and another one for what its machine does besides.
fn cannot_judge(ranks: u32, cpus: usize, load: Option<f64>) -> Option<String> {
    let needed = 2 * ranks as usize;
    if cpus < needed {
        return Some(format!(
            "{ranks} ranks need {needed} CPUs for that, and there are {cpus}"
        ));
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "a machine has far fewer than 2^53 CPUs"
    )]
    let idle = (cpus - needed) as f64 + IDLE_LOAD;
    let load = load.filter(|load| *load > idle)?;
    Some(format!(
        "the load is {load:.1} on {cpus} CPUs, of which {ranks} ranks need {needed}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use CallMode::{BackToBack, Graph, HostSynced, Interleaved};

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

    #[test]
    fn real_time_is_judged_on_idle_cpus_twice_as_many_as_ranks() {
        assert_eq!(cannot_judge(2, 4, Some(0.9)), None);
        assert_eq!(cannot_judge(2, 4, None), None);
        assert!(cannot_judge(2, 3, Some(0.0)).unwrap().contains("4 CPUs"));
        // 16 CPUs less 4 leave 12 for others, and one is let pass: 13.
        assert_eq!(cannot_judge(2, 16, Some(13.0)), None);
        assert!(cannot_judge(2, 16, Some(13.5)).unwrap().contains("13.5"));
    }
}
