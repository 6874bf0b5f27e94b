//! What a worker makes of errors, CPUs, nodes and times; nothing here touches a device.

use device::host::Host;
use device::{Backend, DeviceError};
use numa::NumaError;
use record::caveat::Caveat;
use record::{Outcome, Placement};

use crate::messages::Ended;

/// Who says where memory is, on a real machine: the call that the kernel answers this process by.
pub(super) fn kernel() -> &'static str {
    numa::answering_call().unwrap_or(numa::MOVE_PAGES)
}

/// The same on a simulated machine.
pub(super) const DRIVER: &str = "the simulated driver";

/// Streams that were under way together for less than this part of the longest one's time are said to be so.
const LEAST_OVERLAP: f64 = 0.95;

/// What the backend does not have is skipped, and so is host memory's own case of locked memory where the system does
/// not let it lock so much; everything else that a backend has must work.
pub(super) fn not_measured<B: Backend>(error: &DeviceError) -> Ended {
    let reason = error.failure();
    let is_skipped = match error {
        DeviceError::Unsupported { .. } => true,
        DeviceError::HostMemory(NumaError::Lock { .. }) => B::NAME == Host::NAME,
        _ => false,
    };
    Ended {
        lost: error.is_lost(),
        ..Ended::of(match is_skipped {
            true => Outcome::Skipped { reason },
            false => Outcome::Failed { reason },
        })
    }
}

/// Binds this thread to CPUs; to those at its start where none are named.
pub(super) fn bind(cpus: &[usize], at_start: &[usize]) -> Result<(), NumaError> {
    match (cpus, at_start) {
        ([], []) => Ok(()),
        ([], at_start) => numa::pin_thread_to_cpus(at_start),
        (cpus, _) => numa::pin_thread_to_cpus(cpus),
    }
}

/// Where the host memory of a job is, by the node on which each buffer is wanted and the answer for it, before and after
/// the copies; and what is to be said where that is not as wanted.
///
/// `asked` is whom: the kernel, by one of its calls, or a simulated driver.
pub(super) fn placement(
    answers: &[(Option<u32>, Result<u32, String>)],
    asked: &str,
) -> (Option<Placement>, Option<Caveat>) {
    let Some((first, _)) = answers.first() else {
        return (None, None);
    };
    let found: Vec<_> = answers.iter().map(|(_, found)| found.clone()).collect();
    let (proven, basis) = one_node(&found, asked);
    let wanted = first.filter(|_| answers.iter().all(|(node, _)| node == first));
    let placement = Placement {
        wanted,
        proven,
        basis: basis.clone(),
    };
    let elsewhere = |(wanted, found): &(Option<u32>, Result<u32, String>)| {
        wanted.is_some() && found.as_ref().ok() != wanted.as_ref()
    };
    let reason = answers.iter().any(elsewhere).then(|| match proven {
        Some(node) => format!("it is on node {node}, another one was wanted"),
        None => basis,
    });
    let unproven = reason.map(|reason| Caveat::PlacementUnproven { reason });
    (Some(placement), unproven)
}

/// Where the issuing thread was: proven where it may run on the wanted node's CPUs alone, or where a simulated driver has put it there.
pub(super) fn thread_place(wanted: u32, cpus: &[usize], placed: Option<u32>) -> Placement {
    let (proven, basis) = match placed {
        Some(node) => (Some(node), DRIVER.to_owned()),
        None => thread_node(cpus),
    };
    Placement {
        wanted: Some(wanted),
        proven,
        basis,
    }
}

/// The node on which the thread stays, and how that is known; where it may leave, or the kernel does not say, why none is.
fn thread_node(cpus: &[usize]) -> (Option<u32>, String) {
    let allowed = match numa::allowed_cpus() {
        Ok(allowed) => allowed,
        Err(error) => return (None, error.to_string()),
    };
    if cpus.is_empty() || allowed.iter().any(|cpu| !cpus.contains(cpu)) {
        return (
            None,
            "the thread may run on CPUs of other nodes, too".to_owned(),
        );
    }
    match numa::current_cpu_and_node() {
        Ok(running) => (
            Some(running.node),
            "sched_getaffinity and getcpu, after the copies".to_owned(),
        ),
        Err(error) => (None, error.to_string()),
    }
}

/// The one node of all buffers and how that is known, or why none is.
fn one_node(answers: &[Result<u32, String>], asked: &str) -> (Option<u32>, String) {
    if let Some(reason) = answers.iter().find_map(|answer| answer.as_ref().err()) {
        return (None, reason.clone());
    }
    let mut nodes: Vec<u32> = answers.iter().flatten().copied().collect();
    nodes.sort_unstable();
    nodes.dedup();
    match nodes[..] {
        [node] => (Some(node), format!("{asked}, before and after the copies")),
        _ => (None, format!("{asked} found buffers on nodes {nodes:?}")),
    }
}

/// What is to be said where one of several streams ran alone for long, by the part of each sample in which all ran.
pub(super) fn partly_alone(overlaps: &[f64]) -> Option<Caveat> {
    stats::median(overlaps)
        .filter(|overlapped| *overlapped < LEAST_OVERLAP)
        .map(|overlapped| Caveat::PartlyAlone { overlapped })
}

#[cfg(test)]
mod tests {
    use super::*;
    use device::cuda::Cuda;
    use numa::Errno;

    const CALL: &str = "get_mempolicy";

    #[test]
    fn only_locked_memory_of_the_host_backend_is_skipped() {
        // 12 is ENOMEM, which both calls give.
        let lock = || {
            DeviceError::HostMemory(NumaError::Lock {
                bytes: 1,
                limit: "0 bytes".to_owned(),
                errno: Errno(12),
            })
        };
        let map = DeviceError::HostMemory(NumaError::Map {
            bytes: 1,
            errno: Errno(12),
        });
        let is_skip = |ended: Ended| matches!(ended.outcome, Outcome::Skipped { .. });
        assert!(is_skip(not_measured::<Host>(&lock())));
        assert!(!is_skip(not_measured::<Cuda>(&lock())));
        assert!(!is_skip(not_measured::<Host>(&map)));
        assert!(is_skip(not_measured::<Cuda>(&DeviceError::Unsupported {
            what: "a thing",
            why: String::new(),
        })));
    }

    #[test]
    fn a_node_is_proven_only_where_every_buffer_is_on_it() {
        let (node, how) = one_node(&[Ok(1), Ok(1)], CALL);
        assert_eq!(
            (node, how.as_str()),
            (Some(1), "get_mempolicy, before and after the copies")
        );
        let (node, why) = one_node(&[Ok(1), Ok(0)], CALL);
        assert_eq!(node, None);
        assert!(why.contains("[0, 1]"), "{why}");
        let refused = Err("refused".to_owned());
        assert_eq!(
            one_node(&[Ok(1), refused], CALL),
            (None, "refused".to_owned())
        );
    }

    #[test]
    fn buffers_on_the_nodes_of_their_devices_are_as_wanted() {
        let each_on_its_own = [(Some(0), Ok(0)), (Some(1), Ok(1))];
        let (placed, unproven) = placement(&each_on_its_own, CALL);
        let placed = placed.unwrap();
        assert_eq!((placed.wanted, placed.proven, unproven), (None, None, None));
        let (placed, unproven) = placement(&[(Some(1), Ok(0)), (Some(1), Ok(0))], CALL);
        let placed = placed.unwrap();
        assert_eq!((placed.wanted, placed.proven), (Some(1), Some(0)));
        assert!(
            matches!(unproven, Some(Caveat::PlacementUnproven { reason }) if reason.contains("node 0"))
        );
        // Nothing was wanted, so nothing is missed; without host memory nothing is said.
        assert_eq!(placement(&[(None, Ok(1))], CALL).1, None);
        assert_eq!(placement(&[], CALL), (None, None));
    }

    #[test]
    fn directions_that_did_not_run_together_are_said() {
        // The medians are 0.97 and 0.5; one odd sample says nothing.
        assert_eq!(partly_alone(&[0.5, 0.97, 0.98]), None);
        let overlapped = 0.5;
        assert_eq!(
            partly_alone(&[0.5, 0.4, 1.0]),
            Some(Caveat::PartlyAlone { overlapped })
        );
        assert_eq!(partly_alone(&[]), None);
    }
}
