//! [`Card`]: a GPU or a NIC with its way into the machine.

use serde::Serialize;
use topology::{
    Aspm, End, Fact, IommuMode, LargeBar, Machine, PciDevice, PciTree, PcieLink, PcieSettings,
    SlotLink, SlotPath, Sysfs, large_bar, max_payload_bytes,
};

/// A GPU or a NIC.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Card {
    /// As the matrix names it, with address, node and label.
    pub(crate) end: End,
    /// The function itself.
    pub(crate) pci: PciDevice,
    /// The kernel's driver.
    pub(crate) driver: Option<String>,
    /// The narrowest link between it and the root complex.
    pub(crate) slot_link: Fact<SlotLink>,
    /// The slot's own link now; copies to a neighbour below the same switch cross nothing else.
    pub(crate) card_link: Option<PcieLink>,
    /// The smallest payload limit on the way, in bytes.
    pub(crate) max_payload_bytes: Option<u32>,
    /// Payload and read requests of the function.
    pub(crate) settings: Option<Fact<PcieSettings>>,
    /// The states that the function's link goes to by itself.
    pub(crate) aspm: Option<Fact<Aspm>>,
    /// What the IOMMU does with its requests.
    pub(crate) iommu: Fact<IommuMode>,
    /// How much of its memory its window shows; `None` of a NIC.
    pub(crate) bar: Option<Fact<LargeBar>>,
}

impl Card {
    /// Reads what stands beside an end of the matrix.
    pub(crate) fn read(
        (sysfs, machine, tree): (&Sysfs, &Machine, &PciTree),
        is_guest: bool,
        end: &End,
        pci: &PciDevice,
    ) -> Self {
        let path = SlotPath::of(pci, is_guest);
        let function = tree.at(pci.address);
        Self {
            end: end.clone(),
            driver: function.and_then(|function| function.driver.clone()),
            card_link: path.as_ref().ok().and_then(|path| path.card_link(sysfs)),
            slot_link: path
                .and_then(|path| path.read(sysfs))
                .map_or_else(|why| Fact::Unknown(why.to_string()), Fact::Known),
            max_payload_bytes: max_payload_bytes(sysfs, pci),
            settings: function.map(|function| function.settings.clone()),
            aspm: function.map(|function| function.aspm.clone()),
            iommu: machine.iommu(sysfs, pci.address),
            bar: pci.is_gpu().then(|| large_bar(sysfs, pci)),
            pci: pci.clone(),
        }
    }

    /// Lanes now and at most, where it has fewer than both ends have; a link with fewer lanes stays so under load.
    pub(crate) fn lacks_lanes(&self) -> Option<(u8, u8)> {
        let slot = self.slot_link.known()?;
        let (now, most) = (slot.current.width(), slot.maximum?.width());
        (now < most).then_some((now, most))
    }
}
