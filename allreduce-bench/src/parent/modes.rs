//! Which of the four timings a run takes.

use inventory::Built;
use record::CallMode;

/// The timings of a run: those that were asked for, or all that mean something on this backend.
pub(super) fn modes(asked: &[CallMode], backend: Built, is_simulated: bool) -> Vec<CallMode> {
    let is_meant = |mode: &CallMode| {
        if asked.is_empty() {
            // Work between calls and the calls would share the CPUs.
            let is_shared = *mode == CallMode::Interleaved && backend == Built::Host;
            not_here(*mode, backend, is_simulated).is_none() && !is_shared
        } else {
            asked.contains(mode)
        }
    };
    CallMode::ALL.into_iter().filter(is_meant).collect()
}

/// Why a timing does not exist here; `None` where it does.
pub(super) fn not_here(mode: CallMode, backend: Built, is_simulated: bool) -> Option<&'static str> {
    match (mode, backend) {
        (CallMode::Graph, Built::Host) => Some("the host backend has no graphs"),
        (CallMode::HostSynced, _) if is_simulated => {
            Some("the host's clock is this machine's and not the simulated one's")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CallMode::{BackToBack, Graph, HostSynced, Interleaved};

    #[test]
    fn all_that_the_backend_has_is_measured_unless_some_were_asked_for() {
        assert_eq!(modes(&[], Built::Cuda, false), CallMode::ALL);
        let simulated = [BackToBack, Graph, Interleaved];
        assert_eq!(modes(&[], Built::Cuda, true), simulated);
        assert_eq!(modes(&[], Built::Host, false), [HostSynced, BackToBack]);
        assert_eq!(modes(&[Interleaved], Built::Host, false), [Interleaved]);
        // What was asked for and is not there is reported.
        assert_eq!(
            modes(&[Graph, HostSynced], Built::Host, false),
            [HostSynced, Graph]
        );
        assert!(not_here(HostSynced, Built::Cuda, true).is_some());
    }
}
