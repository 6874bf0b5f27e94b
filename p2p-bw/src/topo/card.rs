//! [`Card`]: a GPU or a NIC with its way into the machine, and what is narrow on it.

use std::fmt;

use serde::Serialize;
use topology::{
    Aspm, End, Fact, IommuMode, LargeBar, LinkStatus, Machine, PciAddress, PciDevice, PciTree,
    PcieLink, PcieSettings, SlotLink, SlotPath, Sysfs, large_bar, links, max_payload_bytes,
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
    /// The function that faces the slot: its own, or the upstream port of the card's switch; `None` where that is hidden.
    pub(crate) faces_slot: Option<PciAddress>,
    /// The best that the card's end of the slot can do.
    pub(crate) card_maximum: Option<PcieLink>,
    /// The best that the slot's end can do.
    pub(crate) slot_maximum: Option<PcieLink>,
    /// What each port on the way says, from the root port down to the function.
    pub(crate) links: Vec<LinkStatus>,
    /// The smallest payload limit on the way, in bytes.
    pub(crate) max_payload_bytes: Option<u32>,
    /// Payload and read requests of the function.
    pub(crate) settings: Fact<PcieSettings>,
    /// The states that the function's link goes to by itself.
    pub(crate) aspm: Fact<Aspm>,
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
        let best = path.as_ref().map_or((None, None), |path| path.best(sysfs));
        let read = path.clone().and_then(|path| path.read(sysfs));
        let function = tree.at(pci.address);
        let unshown = || "it is not shown".to_owned();
        Self {
            end: end.clone(),
            driver: function.and_then(|function| function.driver.clone()),
            slot_link: read.map_or_else(|why| Fact::Unknown(why.to_string()), Fact::Known),
            card_link: path.as_ref().ok().and_then(|path| path.card_link(sysfs)),
            faces_slot: path.ok().map(|path| path.card),
            card_maximum: best.0,
            slot_maximum: best.1,
            links: links(sysfs, pci),
            max_payload_bytes: max_payload_bytes(sysfs, pci),
            settings: function.map_or_else(
                || Fact::Unknown(unshown()),
                |function| function.settings.clone(),
            ),
            aspm: function.map_or_else(
                || Fact::Unknown(unshown()),
                |function| function.aspm.clone(),
            ),
            iommu: machine.iommu(sysfs, pci.address),
            bar: pci.is_gpu().then(|| large_bar(sysfs, pci)),
            pci: pci.clone(),
        }
    }

    /// What is narrower than it could be.
    pub(crate) fn narrow(&self) -> Vec<Narrow> {
        let mut narrow = Vec::new();
        if let Fact::Known(slot) = &self.slot_link {
            narrow.extend(slot.maximum.and_then(|most| below(slot.current, most)));
            if let Some(own) = self.card_link
                && slot.current.cmp_rate(own).is_lt()
            {
                let at = slot.ends.lower;
                narrow.push(Narrow::AboveSlot { at, own });
            }
        }
        if let (Some(card), Some(slot)) = (self.card_maximum, self.slot_maximum)
            && slot.cmp_rate(card).is_lt()
        {
            narrow.push(Narrow::Slot { card, slot });
        }
        narrow
    }
}

/// How a card's way is narrower than it could be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Narrow {
    /// Fewer lanes than both ends have, under load, too.
    Lanes { now: u8, most: u8 },
    /// At rest, from this generation.
    TrainedDown { from: u8 },
    /// A link further up is the narrowest.
    AboveSlot { at: PciAddress, own: PcieLink },
    /// The slot can do less than the card.
    Slot { card: PcieLink, slot: PcieLink },
}

impl fmt::Display for Narrow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lanes { now, most } => write!(f, "x{now} of x{most}"),
            Self::TrainedDown { from } => write!(f, "trained down from Gen{from}"),
            Self::AboveSlot { at, own } => {
                write!(
                    f,
                    "narrowest above the slot, at {at}; the slot's own is {own}"
                )
            }
            Self::Slot { card, slot } => write!(f, "the card can do {card}, its slot {slot}"),
        }
    }
}

/// How a link is below the best of its ends; a link with fewer lanes stays so under load.
fn below(now: PcieLink, most: PcieLink) -> Option<Narrow> {
    if now.width() < most.width() {
        let (now, most) = (now.width(), most.width());
        return Some(Narrow::Lanes { now, most });
    }
    let from = most.generation();
    now.cmp_rate(most)
        .is_lt()
        .then_some(Narrow::TrainedDown { from })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(generation: u8, width: u8) -> PcieLink {
        PcieLink::new(generation, width).unwrap()
    }

    #[test]
    fn lanes_that_are_missing_are_told_apart_from_a_link_at_rest() {
        let lanes = Narrow::Lanes { now: 8, most: 16 };
        assert_eq!(below(link(4, 8), link(4, 16)), Some(lanes));
        let down = Narrow::TrainedDown { from: 4 };
        assert_eq!(below(link(1, 16), link(4, 16)), Some(down));
        assert_eq!(below(link(4, 16), link(4, 16)), None);
    }
}
