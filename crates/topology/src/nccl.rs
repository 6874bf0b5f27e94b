//! [`NcclTree`]: where NCCL sees PCI functions, and the path class that it computes between each two of them.
//!
//! It differs from `nvidia-smi`'s. What no file of sysfs says is not in it: NVLink (NVL, and NVB by way of another GPU), a GPU's
//! own link to its processor (C2C, P2C), a NIC reached by way of another GPU (PXN), the second PCI function of network cards with
//! "data direct", cards that NCCL merges by a user's wish, and that a class becomes PHB or SYS where the driver refuses peer access.
//! What NCCL does with a class (peer copies or host memory) is not told here, and that alone depends on the processor's vendor.

use std::collections::BTreeSet;

use crate::broadcom::{self, Level};
use crate::nic::is_network;
use crate::pci::node;
use crate::{PathType, PciAddress, PciDevice, Sysfs};

/// Functions as NCCL sees them (src/graph/topo.cc, xml.cc and paths.cc of NCCL, June 2026).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NcclTree {
    ends: Vec<End>,
}

/// A function, and the sets that it is in; the numbers of sets mean nothing but that equal ones are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct End {
    device: PciAddress,
    /// The switch just above it, or those that NCCL makes one of.
    switch: Option<usize>,
    /// All switches that are linked with that one.
    linked: Option<usize>,
    /// The processor above, and those that such links join with it.
    host: usize,
}

/// What NCCL finds above a function.
struct Above {
    device: PciAddress,
    /// Upstream ports, the nearest first.
    switches: Vec<PciAddress>,
    /// The node of the topmost; `None` is -1, which NCCL takes for a node like any other.
    node: Option<u32>,
}

impl NcclTree {
    /// Where NCCL sees these functions, if they are all that it is to use.
    #[must_use]
    pub fn of(sysfs: &Sysfs, functions: &[&PciDevice]) -> Self {
        let above: Vec<Above> = functions.iter().map(|pci| Above::of(sysfs, pci)).collect();
        let distinct: BTreeSet<PciAddress> = above
            .iter()
            .flat_map(|above| above.switches.iter().copied())
            .collect();
        // By address, in which an upper switch comes before those below it: buses below a bridge have higher numbers.
        let switches: Vec<PciAddress> = distinct.into_iter().collect();
        let index = |switch: &PciAddress| switches.binary_search(switch).ok();
        let mut links: BTreeSet<(usize, usize)> = BTreeSet::new();
        for above in &above {
            for pair in above.switches.windows(2) {
                links.extend(index(&pair[0]).zip(index(&pair[1])));
            }
        }
        for (at, switch) in switches.iter().enumerate() {
            let linked = broadcom::linked(sysfs, *switch);
            links.extend(linked.iter().filter_map(|other| Some((at, index(other)?))));
        }
        let levels: Vec<Option<Level>> = switches
            .iter()
            .map(|switch| Level::of(sysfs, *switch))
            .collect();
        let mut fused = fused(&levels, &links);
        let nodes: BTreeSet<Option<u32>> = above.iter().map(|above| above.node).collect();
        let nodes: Vec<Option<u32>> = nodes.into_iter().collect();
        let mut linked = Sets::of(switches.len());
        let mut hosts = Sets::of(switches.len() + nodes.len());
        for (a, b) in links {
            linked.join(a, b);
            hosts.join(a, b);
        }
        let host = |above: &Above| {
            let at = nodes.binary_search(&above.node).unwrap_or_default();
            switches.len() + at
        };
        for above in &above {
            if let Some(top) = above.switches.last().and_then(index) {
                hosts.join(host(above), top);
            }
        }
        let end = |above: &Above| {
            let switch = above.switches.first().and_then(index);
            End {
                device: above.device,
                switch: switch.map(|switch| fused.first(switch)),
                linked: switch.map(|switch| linked.first(switch)),
                host: hosts.first(host(above)),
            }
        };
        Self {
            ends: above.iter().map(end).collect(),
        }
    }

    /// The class between two functions by their positions: [`PathType::Same`] where NCCL says LOC, else PIX, PXB, PHB or SYS;
    /// [`PathType::Unknown`] where there is no such position.
    ///
    /// The farthest step of the nearest way counts (`ncclTopoSetPaths`): below one switch it is PIX, from switch to switch PXB, by
    /// one NUMA node PHB however many host bridges it has, and from node to node SYS.
    #[must_use]
    pub fn class(&self, a: usize, b: usize) -> PathType {
        let (Some(a), Some(b)) = (self.ends.get(a), self.ends.get(b)) else {
            return PathType::Unknown;
        };
        let is_in_one = |set: fn(&End) -> Option<usize>| set(a).is_some() && set(a) == set(b);
        if a.device == b.device {
            PathType::Same
        } else if is_in_one(|end| end.switch) {
            PathType::Pix
        } else if is_in_one(|end| end.linked) {
            PathType::Pxb
        } else if a.host == b.host {
            PathType::Phb
        } else {
            PathType::Sys
        }
    }
}

impl Above {
    /// NCCL follows the folders of sysfs upwards, two at a time, so that of a switch it takes the upstream port, until it comes to
    /// something that is no PCI address of four digits; what is there counts as a processor, named by the NUMA node of the last
    /// function (`ncclTopoGetXmlFromSys`).
    fn of(sysfs: &Sysfs, pci: &PciDevice) -> Self {
        let device = device(sysfs, pci);
        let nowhere = Self {
            device,
            switches: Vec::new(),
            node: None,
        };
        // It looks in `/sys/class/pci_bus/` for a name of seven letters and finds nothing in a domain of five digits.
        if device.domain > 0xffff {
            return nowhere;
        }
        let read;
        let seen = if device == pci.address {
            pci
        } else {
            match PciDevice::read_at(sysfs, device) {
                Some(Ok(found)) => {
                    read = found;
                    &read
                }
                _ => return nowhere,
            }
        };
        let chain = seen.chain.iter().rev();
        let switches: Vec<PciAddress> = chain.skip(1).step_by(2).copied().collect();
        Self {
            device,
            node: switches.last().map_or(seen.node, |top| node(sysfs, *top)),
            switches,
        }
    }
}

/// The device that NCCL takes a function for. The RDMA devices of one bus, which are the ports of a card and its virtual functions, are
/// the bus's first function to it (`ncclIbGetPciPath` in src/transport/net_ib/init.cc; NCCL_IB_MERGE_VFS=0 leaves virtual functions
/// apart); what it reaches by sockets is taken as it is.
fn device(sysfs: &Sysfs, pci: &PciDevice) -> PciAddress {
    let rdma = format!("sys/bus/pci/devices/{}/infiniband", pci.address);
    match is_network(pci) && !sysfs.names(rdma).is_empty() {
        true => PciAddress {
            device: 0,
            function: 0,
            ..pci.address
        },
        false => pci.address,
    }
}

/// Switches of Broadcom's that show two levels are one to NCCL: an upper one takes in each lower one of its fabric that is linked with it,
/// and what was linked with those is then linked with it. It is done once for each upper one, so a third level stays apart
/// (`ncclTopoFlattenBcmSwitches`).
fn fused(levels: &[Option<Level>], links: &BTreeSet<(usize, usize)>) -> Sets {
    let mut fused = Sets::of(levels.len());
    let mut beside: Vec<Vec<usize>> = vec![Vec::new(); levels.len()];
    for &(a, b) in links {
        beside[a].push(b);
        beside[b].push(a);
    }
    let mut is_done = vec![false; levels.len()];
    for (at, level) in levels.iter().enumerate() {
        let Some(upper) = level.filter(|level| level.is_upper) else {
            continue;
        };
        if fused.first(at) != at {
            continue;
        }
        is_done[at] = true;
        let near = std::mem::take(&mut beside[at]);
        let near: BTreeSet<usize> = near.into_iter().map(|other| fused.first(other)).collect();
        for other in near {
            let joins = levels[other].is_some_and(|lower| lower.joins(upper));
            if joins && !is_done[other] {
                fused.join(at, other);
                let taken = std::mem::take(&mut beside[other]);
                beside[at].extend(taken);
            } else {
                beside[at].push(other);
            }
        }
    }
    fused
}

/// Disjoint sets of numbers, each known by one of them.
struct Sets(Vec<usize>);

impl Sets {
    /// Each number from 0 in a set of its own.
    fn of(count: usize) -> Self {
        Self((0..count).collect())
    }

    /// The number that a number's set is known by.
    fn first(&mut self, mut number: usize) -> usize {
        while self.0[number] != number {
            self.0[number] = self.0[self.0[number]];
            number = self.0[number];
        }
        number
    }

    /// One set of two, known as the first one's was.
    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.first(a), self.first(b));
        self.0[b] = a;
    }
}
