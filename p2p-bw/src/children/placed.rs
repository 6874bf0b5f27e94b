//! Where memory and the issuing thread of a job were, and who says so; nothing here touches a device.

use std::collections::BTreeSet;

use record::Placement;
use record::caveat::Caveat;

/// Who says where memory is on a simulated machine.
const DRIVER: &str = "the simulated driver";

/// Where the host memory of a job is, by the node on which each buffer is wanted and the answer for it, before and after
/// the copies; and what is to be said where that is not as wanted.
pub(super) fn memory(
    answers: &[(Option<u32>, Result<u32, String>)],
    is_soft: bool,
) -> (Option<Placement>, Option<Caveat>) {
    let Some((first, _)) = answers.first() else {
        return (None, None);
    };
    let asked = match is_soft {
        true => DRIVER,
        false => numa::answering_call().unwrap_or(numa::MOVE_PAGES),
    };
    let nodes = answers.iter().map(|(_, found)| found.clone());
    let (proven, basis) = match nodes.collect::<Result<BTreeSet<u32>, String>>() {
        Err(reason) => (None, reason),
        Ok(nodes) if nodes.len() == 1 => (
            nodes.first().copied(),
            format!("{asked}, before and after the copies"),
        ),
        Ok(nodes) => (None, format!("{asked} found buffers on nodes {nodes:?}")),
    };
    let is_elsewhere = |(wanted, found): &(Option<u32>, Result<u32, String>)| {
        wanted.is_some() && found.as_ref().ok() != wanted.as_ref()
    };
    let unproven = answers
        .iter()
        .any(is_elsewhere)
        .then(|| Caveat::PlacementUnproven {
            reason: match proven {
                Some(node) => format!("it is on node {node}, another one was wanted"),
                None => basis.clone(),
            },
        });
    let wanted = first.filter(|_| answers.iter().all(|(node, _)| node == first));
    let placement = Placement {
        wanted,
        proven,
        basis,
    };
    (Some(placement), unproven)
}

/// Where the issuing thread was: proven where it may run on the wanted node's CPUs alone, or where a simulated driver has put it there.
pub(super) fn thread(wanted: u32, cpus: &[usize], placed: Option<u32>) -> Placement {
    let proven = match placed {
        Some(node) => Ok((node, DRIVER)),
        None => stays_on(cpus).map(|node| (node, "sched_getaffinity and getcpu, after the copies")),
    };
    Placement {
        wanted: Some(wanted),
        proven: proven.as_ref().ok().map(|(node, _)| *node),
        basis: proven.map_or_else(|why| why, |(_, asked)| asked.to_owned()),
    }
}

/// The node on which this thread stays, or why none is known.
fn stays_on(cpus: &[usize]) -> Result<u32, String> {
    let allowed = numa::allowed_cpus().map_err(|error| error.to_string())?;
    if cpus.is_empty() || allowed.iter().any(|cpu| !cpus.contains(cpu)) {
        return Err("the thread may run on CPUs of other nodes, too".to_owned());
    }
    let running = numa::current_cpu_and_node().map_err(|error| error.to_string())?;
    Ok(running.node)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_proven_only_where_every_buffer_is_on_it() {
        let placed = |answers: &[_]| {
            let (placement, unproven) = memory(answers, true);
            let placement = placement.unwrap();
            (placement.wanted, placement.proven, unproven.is_some())
        };
        assert_eq!(
            placed(&[(Some(1), Ok(1)), (Some(1), Ok(1))]),
            (Some(1), Some(1), false)
        );
        assert_eq!(
            placed(&[(Some(1), Ok(0)), (Some(1), Ok(0))]),
            (Some(1), Some(0), true)
        );
        assert_eq!(
            placed(&[(Some(1), Ok(1)), (Some(1), Ok(0))]),
            (Some(1), None, true)
        );
        let refused = (Some(1), Err("refused".to_owned()));
        assert_eq!(placed(&[(Some(1), Ok(1)), refused]), (Some(1), None, true));
        // Each on the node of its own device; nothing was wanted, so nothing is missed.
        assert_eq!(
            placed(&[(Some(0), Ok(0)), (Some(1), Ok(1))]),
            (None, None, false)
        );
        assert_eq!(placed(&[(None, Ok(1))]), (None, Some(1), false));
        assert_eq!(memory(&[], true), (None, None));
    }
}
