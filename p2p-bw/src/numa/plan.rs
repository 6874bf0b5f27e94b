//! The points of a run: devices x places of memory and thread x kinds x directions, and small copies.

use record::LinkDevice;
use record::unit::ByteCount;
use topology::{Machine, NumaNode};

use crate::cases::{self, Case, Engine, Memory, Pattern};
use crate::parent::{self, Place, Planned};

/// All points of these kinds, nodes of memory (`None` for every node that has some) and bytes, those of one device together.
pub(super) fn plan(
    (kinds, nodes, bytes): (&[Memory], Option<&[u32]>, u64),
    machine: &Machine,
    devices: &[LinkDevice],
) -> Vec<Planned> {
    let mut planned = Vec::new();
    let points = parent::plan(&cases(kinds), devices.len(), &[ByteCount(bytes)]);
    for (position, device) in devices.iter().enumerate() {
        let places = places(nodes, machine, device.node);
        // The near place once more at the end: what it differs by then is what time alone does on this machine.
        let again = places.first().filter(|_| places.len() > 1);
        for place in places.iter().chain(again) {
            let own = points.iter().filter(|one| one.devices() == [position]);
            let place = Some(*place);
            planned.extend(own.map(|point| Planned { place, ..*point }));
        }
    }
    planned
}

/// Both directions of each kind by the copy engine, and small copies of pinned memory.
fn cases(kinds: &[Memory]) -> Vec<&'static Case> {
    let is_asked = |case: &&Case| match case.pattern {
        Pattern::HostToDevice(memory) | Pattern::DeviceToHost(memory) => {
            case.engine == Engine::Copy && kinds.contains(&memory)
        }
        _ => false,
    };
    cases::ALL.iter().filter(is_asked).collect()
}

/// Memory near, then on every other node; the thread on the device's node. Of the farthest node also the thread there, with its memory
/// and with the near one, so that the square of CPU node and memory node is whole.
fn places(nodes: Option<&[u32]>, machine: &Machine, home: Option<u32>) -> Vec<Place> {
    let with_memory = machine.nodes.iter().filter(|node| has_memory(node));
    let of_host = with_memory.filter(|node| !node.cpus.is_empty());
    let nodes: Vec<u32> = match nodes {
        Some(nodes) => nodes.to_vec(),
        None => of_host.map(|node| node.id).collect(),
    };
    if nodes.is_empty() {
        return vec![Place::default()];
    }
    // A thread needs CPUs: where the device's node has none, or is not known, it is not bound.
    let near = home.filter(|node| has_cpus(machine, *node));
    let mut places: Vec<Place> = Vec::new();
    let mut add = |memory, thread| {
        let place = Place {
            memory: Some(memory),
            thread,
        };
        if !places.contains(&place) {
            places.push(place);
        }
    };
    let first = home.iter().filter(|home| nodes.contains(home));
    for node in first.chain(&nodes) {
        add(*node, near);
    }
    if let Some((near, far)) = near.and_then(|near| Some((near, farthest(machine, near, &nodes)?)))
    {
        if nodes.contains(&near) {
            add(near, Some(far));
        }
        add(far, Some(far));
    }
    places
}

fn has_memory(node: &NumaNode) -> bool {
    node.memory_bytes != Some(0)
}

/// The nodes with memory and without CPUs, a device's memory or an expansion's (GH200, CXL), which are left out where none is named.
pub(super) fn left_out(machine: &Machine) -> Vec<u32> {
    let nodes = machine.nodes.iter();
    let nodes = nodes.filter(|node| has_memory(node) && node.cpus.is_empty());
    nodes.map(|node| node.id).collect()
}

fn has_cpus(machine: &Machine, node: u32) -> bool {
    machine.node(node).is_some_and(|node| !node.cpus.is_empty())
}

/// The node with CPUs and memory that is farthest from a node; of those at one distance the first.
fn farthest(machine: &Machine, from: u32, nodes: &[u32]) -> Option<u32> {
    let distances = &machine.node(from)?.distances;
    let others = nodes
        .iter()
        .copied()
        .filter(|node| *node != from && has_cpus(machine, *node));
    let distance = |node: &u32| distances.get(node).copied().unwrap_or(u32::MAX);
    others.rev().max_by_key(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nodes with a CPU each but the last, and distances by their difference: 10, 20, 30 ...
    fn machine(nodes: u32, memory_only: u32) -> Machine {
        let node = |id: u32| {
            let cpus = if id < nodes - memory_only {
                id.to_string()
            } else {
                String::new()
            };
            NumaNode {
                id,
                cpus: cpus.parse().unwrap(),
                distances: (0..nodes)
                    .map(|other| (other, 10 + 10 * id.abs_diff(other)))
                    .collect(),
                memory_bytes: Some(1 << 30),
            }
        };
        let empty = serde_json::json!({
            "nodes": [], "cpus": {"model": null, "count": null, "last_level_cache_bytes": null},
            "hypervisor": null, "boot_id": null, "gpus": []
        });
        Machine {
            nodes: (0..nodes).map(node).collect(),
            ..serde_json::from_value(empty).unwrap()
        }
    }

    fn of(machine: &Machine, home: Option<u32>) -> Vec<(Option<u32>, Option<u32>)> {
        let places = places(None, machine, home);
        places
            .iter()
            .map(|place| (place.memory, place.thread))
            .collect()
    }

    #[test]
    fn two_nodes_give_the_square_with_the_near_corner_first() {
        let expected = [(1, 1), (0, 1), (1, 0), (0, 0)];
        let expected = expected.map(|(memory, thread)| (Some(memory), Some(thread)));
        assert_eq!(of(&machine(2, 0), Some(1)), expected);
    }

    #[test]
    fn more_nodes_give_the_square_of_the_farthest_and_memory_on_all() {
        // From node 0 the farthest of 4 is 3.
        let expected = [(0, 0), (1, 0), (2, 0), (3, 0), (0, 3), (3, 3)];
        let expected = expected.map(|(memory, thread)| (Some(memory), Some(thread)));
        assert_eq!(of(&machine(4, 0), Some(0)), expected);
    }

    #[test]
    fn a_node_without_cpus_is_left_out() {
        // Node 3 has memory only, as that of a GH200's GPU: the farthest of the host is 2.
        let expected = [(0, 0), (1, 0), (2, 0), (0, 2), (2, 2)];
        let expected = expected.map(|(memory, thread)| (Some(memory), Some(thread)));
        assert_eq!(of(&machine(4, 1), Some(0)), expected);
        assert_eq!(left_out(&machine(4, 1)), [3]);
        assert!(left_out(&machine(4, 0)).is_empty());
    }

    #[test]
    fn an_unknown_device_node_leaves_the_thread_free_and_no_node_leaves_all_free() {
        assert_eq!(of(&machine(2, 0), None), [(Some(0), None), (Some(1), None)]);
        assert_eq!(of(&machine(0, 0), None), [(None, None)]);
        assert_eq!(of(&machine(1, 0), Some(0)), [(Some(0), Some(0))]);
    }
}
