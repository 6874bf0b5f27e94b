//! [`PeerSurroundings`]: what stands beside a verdict on a pair: ACS, IOMMU, and how much of the memory is shown.
//!
//! Facts and their reasons only; what a peer copy does is measured, and these say what may have made it so.

use serde::{Deserialize, Serialize};

use crate::bar::{LargeBar, large_bar};
use crate::config::{AcsPort, ports_between};
use crate::fact::Fact;
use crate::iommu::{self, IommuMode};
use crate::{Machine, PciAddress, Sysfs};

/// What lies around the way between two devices; of what has two, the first device's comes first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerSurroundings {
    /// The ports on the way with their ACS control.
    pub acs: Fact<Vec<AcsPort>>,
    /// What the IOMMU does with the requests of each device.
    pub iommu: [Fact<IommuMode>; 2],
    /// How much of each device's memory its window shows.
    pub bars: [Fact<LargeBar>; 2],
}

/// What lies around the way between two GPUs of the machine.
#[must_use]
pub fn peer_surroundings(
    machine: &Machine,
    sysfs: &Sysfs,
    a: PciAddress,
    b: PciAddress,
) -> PeerSurroundings {
    // A processor that does not tell (Arm) is taken as the machine's own.
    let guest = machine.hypervisor == Some(true);
    let gpus = [a, b].map(|address| {
        let gpu = machine.gpu(address);
        gpu.ok_or_else(|| format!("{address} is not a GPU of this machine"))
    });
    PeerSurroundings {
        acs: match &gpus {
            [Err(absent), _] | [_, Err(absent)] => Fact::unknown(absent),
            [Ok(a), Ok(b)] if a.address == b.address => Fact::Known(Vec::new()),
            [Ok(a), Ok(b)] => ports_between(sysfs, guest, a, b),
        },
        iommu: [a, b].map(|address| iommu::mode(sysfs, guest, address)),
        bars: gpus.map(|gpu| gpu.map_or_else(Fact::Unknown, |gpu| large_bar(sysfs, gpu))),
    }
}

impl PeerSurroundings {
    /// The ports that send packets between the two up to the root complex; empty where none is known to.
    pub fn redirecting(&self) -> impl Iterator<Item = &AcsPort> {
        let ports = self.acs.known().into_iter().flatten();
        ports.filter(|port| port.redirects() == Some(true))
    }
}
