//! The trials: bind, touch and ask; move and ask again; prefer; interleave; and a node that does not exist.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use ::numa::{Binding, HostPages, MemoryPolicy, NumaError, Placement};
use topology::{Machine, Sysfs};

use super::outcome::{AbsentNode, NodeProof, Outcome, Proof, Refusal};
use crate::numa::free;

/// The highest number a kernel can have (`CONFIG_NODES_SHIFT` up to 10).
const HIGHEST_NODE: u32 = 1023;

/// Pages on each node of the interleaved region.
const TURNS: usize = 16;

/// Tries one node or all that have memory.
pub(super) fn prove(
    machine: &Machine,
    sysfs: &Sysfs,
    only: Option<u32>,
    bytes: usize,
    page_bytes: usize,
) -> Proof {
    let with_memory: Vec<u32> = machine
        .nodes
        .iter()
        .filter(|node| node.memory_bytes != Some(0))
        .map(|node| node.id)
        .collect();
    let asked = only.map_or_else(|| with_memory.clone(), |node| vec![node]);
    let mut proof = Proof::new(bytes, page_bytes);
    for node in asked {
        let known = machine.node(node);
        let free = free::of(sysfs, node);
        let too_little = free
            .and_then(|free| free::too_little(node, free, bytes as u64, "use a smaller --bytes"));
        let (outcome, preferred) = match too_little {
            Some(reason) => {
                let not_tried = Outcome::NotTried { reason };
                (not_tried.clone(), not_tried)
            }
            None => (bound(node, &with_memory, bytes), preferred(node, bytes)),
        };
        proof.nodes.push(NodeProof {
            node,
            cpus: known.map(|known| known.cpus.clone()),
            memory_bytes: known.and_then(|known| known.memory_bytes),
            outcome,
            preferred,
        });
    }
    if only.is_none() {
        proof.interleave = Some(interleaved(&with_memory, page_bytes));
        proof.absent_node = absent(machine, bytes);
    }
    proof
}

fn bound(node: u32, with_memory: &[u32], bytes: usize) -> Outcome {
    let placement = Placement {
        node: Some(node),
        ..Placement::default()
    };
    let mut pages = match HostPages::allocate(bytes, &placement) {
        Ok(pages) => pages,
        Err(error) => return Outcome::Refused((&error).into()),
    };
    let mut outcome = Outcome::of(pages.placement_of_all().as_ref(), node);
    if let Outcome::Proven {
        moved_to,
        not_moved,
        ..
    } = &mut outcome
    {
        for &other in with_memory.iter().filter(|&&other| other != node) {
            match moved(&mut pages, other) {
                Ok(count) => {
                    moved_to.insert(other, count);
                }
                Err(refusal) => {
                    not_moved.insert(other, refusal);
                }
            }
        }
    }
    outcome
}

/// Pages that are on a node after all were moved there.
fn moved(pages: &mut HostPages, node: u32) -> Result<u64, Refusal> {
    let moved = pages.move_to(node).and_then(|_| pages.placement_of_all());
    let placed = moved.map_err(|error| Refusal::from(&error))?;
    match placed.single_node() {
        Some(there) if there == node => Ok(placed.asked),
        _ => Err(Refusal {
            call: Some("move_pages"),
            errno: None,
            reason: format!(
                "only {} of {} pages went to node {node}; see how much is free there",
                placed.per_node.get(&node).copied().unwrap_or(0),
                placed.asked
            ),
        }),
    }
}

fn preferred(node: u32, bytes: usize) -> Outcome {
    under(MemoryPolicy::Preferred(node), bytes, |pages| {
        Outcome::of(pages.placement_of_all().as_ref(), node)
    })
}

fn interleaved(nodes: &[u32], page_bytes: usize) -> Outcome {
    let policy = MemoryPolicy::Interleave(nodes.to_vec());
    let bytes = TURNS * nodes.len().max(1) * page_bytes;
    under(policy, bytes, |pages| match &pages.placement_of_all() {
        Err(error) => Outcome::NotProven(error.into()),
        Ok(placed) => {
            let even: BTreeMap<u32, u64> = nodes.iter().map(|&node| (node, TURNS as u64)).collect();
            if placed.per_node == even {
                Outcome::Interleaved {
                    by: placed.by,
                    on: even,
                }
            } else {
                Outcome::elsewhere(placed)
            }
        }
    })
}

/// Memory of a thread with a policy; the thread ends with it.
fn under(
    memory: MemoryPolicy,
    bytes: usize,
    judge: impl FnOnce(&HostPages) -> Outcome + Send,
) -> Outcome {
    let refused = |error: NumaError| Outcome::Refused((&error).into());
    let trial = || {
        let binding = Binding {
            cpus: Vec::new(),
            memory,
        };
        if let Err(error) = binding.apply().memory {
            return refused(error);
        }
        match HostPages::allocate(bytes, &Placement::default()) {
            Ok(pages) => judge(&pages),
            Err(error) => refused(error),
        }
    };
    thread::scope(|scope| {
        let ended = thread::Builder::new()
            .spawn_scoped(scope, trial)
            .map(thread::ScopedJoinHandle::join);
        match ended {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Outcome::NotTried {
                reason: "the thread of the trial failed; see the messages above".to_owned(),
            },
            Err(error) => Outcome::NotTried {
                reason: format!("no thread could be started: {error}; see `ulimit -u`"),
            },
        }
    })
}

/// The highest number that no node has; `None` where every number is taken.
fn absent(machine: &Machine, bytes: usize) -> Option<AbsentNode> {
    let taken: BTreeSet<u32> = machine.nodes.iter().map(|node| node.id).collect();
    let node = (0..=HIGHEST_NODE)
        .rev()
        .find(|node| !taken.contains(node))?;
    Some(AbsentNode {
        node,
        outcome: bound(node, &[], bytes),
    })
}
