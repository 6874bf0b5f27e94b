//! [`PciTree`]: every function on PCI Express with its link, and of bridges the ACS control.
//!
//! [`crate::Machine`] has the GPUs alone, because it stands in records; this is read apart, and only where it is shown.

use serde::{Deserialize, Serialize};

use crate::config::{self, Config};
use crate::fact::Fact;
use crate::faults::AerCounters;
use crate::pci::addresses;
use crate::slot;
use crate::{PciAddress, PciDevice, PcieLink, Sysfs};

/// Class and subclass of a PCI-to-PCI bridge: root ports and the ports of switches.
const BRIDGE: u32 = 0x0604;

/// Every function that the kernel shows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PciTree {
    /// By address.
    pub functions: Vec<PciFunction>,
    /// Those whose link leads to no root complex inside the root folder.
    pub unplaced: Vec<PciAddress>,
}

/// One function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PciFunction {
    /// What it is and where it sits.
    pub pci: PciDevice,
    /// The kernel's driver; `None` where none is bound.
    pub driver: Option<String>,
    /// Its link as it is trained now; `None` where the kernel does not say.
    pub current: Option<PcieLink>,
    /// The best its end of the link can do; `None` where the kernel does not say.
    pub maximum: Option<PcieLink>,
    /// Of a bridge the ACS control register, in which [`crate::AcsPort::redirects`] reads; the inner `None` is a port without ACS.
    pub acs: Option<Fact<Option<u16>>>,
    /// Errors so far; `None` where the kernel counts none.
    pub aer: Option<AerCounters>,
}

impl PciTree {
    /// Reads every function; where a thing is not shown the answer is `None` or a reason.
    ///
    /// In a guest the bridges are its hypervisor's, so their ACS control is not reported.
    #[must_use]
    pub fn read(sysfs: &Sysfs, is_guest: bool) -> Self {
        let mut tree = Self::default();
        for address in addresses(sysfs) {
            match PciDevice::read_at(sysfs, address) {
                Some(Ok(pci)) => tree.functions.push(PciFunction::read(sysfs, is_guest, pci)),
                Some(Err(_)) => tree.unplaced.push(address),
                None => {}
            }
        }
        tree
    }

    /// The function at an address.
    #[must_use]
    pub fn at(&self, address: PciAddress) -> Option<&PciFunction> {
        let found = self
            .functions
            .binary_search_by_key(&address, |function| function.pci.address);
        found.ok().map(|index| &self.functions[index])
    }

    /// The bridges above a function from the root complex down, as far as they are shown.
    pub fn above<'a>(&'a self, pci: &'a PciDevice) -> impl Iterator<Item = &'a PciFunction> {
        pci.chain.iter().filter_map(|port| self.at(*port))
    }
}

impl PciFunction {
    fn read(sysfs: &Sysfs, is_guest: bool, pci: PciDevice) -> Self {
        let address = pci.address;
        let acs = || match is_guest {
            true => Fact::unknown("a guest's ports are its hypervisor's"),
            false => Config::read(sysfs, address).acs(),
        };
        Self {
            driver: sysfs.link_name(format!("sys/bus/pci/devices/{address}/driver")),
            current: slot::read(sysfs, address, "current"),
            maximum: slot::read(sysfs, address, "max"),
            acs: (pci.class >> 8 == BRIDGE).then(acs),
            aer: AerCounters::read(sysfs, address),
            pci,
        }
    }

    /// Whether it sends packets between the devices below it up to the root complex; `None` where unknown or no bridge.
    #[must_use]
    pub fn redirects(&self) -> Option<bool> {
        config::redirects(self.acs.as_ref()?)
    }
}
