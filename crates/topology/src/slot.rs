//! Links above a GPU: what each hop says, and which one is the card's way into the machine.
//!
//! A link that idles trains down, so what counts is read while a copy runs: [`SlotPath`] is made once and sampled at
//! 10 Hz or so. What a slot should give is not known here; profiles say that.

use serde::{Deserialize, Serialize};

use crate::pci::attribute;
use crate::{AddressError, Machine, PciAddress, PciDevice, PcieLink, Sysfs};

/// The two ends of one physical link, which both report the same state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkEnds {
    /// The port above; `None` where it is hidden, as in a virtual machine.
    pub upper: Option<PciAddress>,
    /// The upstream port or device below.
    pub lower: PciAddress,
}

/// The links between a card and the root complex, those inside the card left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotPath {
    /// The function that faces the slot: the card's own, or the upstream port of the card's switch.
    pub card: PciAddress,
    /// From the root complex down to the slot; the last one is the slot's.
    pub links: Vec<LinkEnds>,
}

/// The narrowest link between a card and the root complex.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotLink {
    /// The link in question.
    pub ends: LinkEnds,
    /// Its state.
    pub current: PcieLink,
    /// The best that both its ends can do; `None` where neither says.
    pub maximum: Option<PcieLink>,
}

impl Machine {
    /// The links that count between a GPU and the root complex, as [`SlotPath::of`] says.
    pub fn slot_path(&self, gpu: PciAddress) -> Result<SlotPath, String> {
        let none = || format!("{gpu} is not a GPU of this machine; list them with `topo`");
        let device = self.gpu(gpu).ok_or_else(none)?;
        SlotPath::of(device, self.hypervisor == Some(true))
    }

    /// [`Machine::slot_path`] of a device at the address that its driver gives, or in words why there is none.
    pub fn slot_path_of(&self, pci: Option<&str>) -> Result<SlotPath, String> {
        let pci = pci.ok_or("the device has no PCI address")?;
        let address = pci
            .parse()
            .map_err(|error: AddressError| error.to_string())?;
        self.slot_path(address)
    }

    /// The narrowest link between a GPU and the root complex, as it is now; idle links train down.
    pub fn slot_link(&self, sysfs: &Sysfs, gpu: PciAddress) -> Result<SlotLink, String> {
        self.slot_path(gpu)?.read(sysfs)
    }
}

impl SlotPath {
    /// The links that count between a card and the root complex.
    ///
    /// On an AMD card with its own switch the GPU's link and the port above it are inside the card, and the switch's
    /// upstream port faces the slot. Where that switch is hidden, the reason is given instead of the inner link.
    ///
    /// Under a hypervisor the ports above the card are its inventions (QEMU's say `2.5 GT/s` and x1 whatever lies
    /// below), so the card's own end stands alone, and narrower links further up in the host are not seen.
    pub fn of(device: &PciDevice, is_guest: bool) -> Result<Self, String> {
        let on_card = device.on_card_bridges.min(device.chain.len());
        let may_hide = device.is_amd() && device.is_gpu();
        if may_hide && on_card == 0 && (device.chain.is_empty() || is_guest) {
            return Err(format!(
                "the bridges above {} are hidden, its own link may be the one inside the card; read it on the host",
                device.address
            ));
        }
        let mut hops = device.chain.clone();
        hops.push(device.address);
        hops.truncate(hops.len() - on_card);
        let card = hops[hops.len() - 1];
        if is_guest {
            hops = vec![card];
        }
        // Root port, then upstream and downstream port of each switch, then the card: ports pair up from the card on.
        let links = hops
            .rchunks(2)
            .rev()
            .map(|ports| LinkEnds {
                upper: (ports.len() == 2).then(|| ports[0]),
                lower: ports[ports.len() - 1],
            })
            .collect();
        Ok(Self { card, links })
    }

    /// The narrowest link now, by raw rate, with the best its ends can do; where two are equal, the one nearer the root.
    pub fn read(&self, sysfs: &Sysfs) -> Result<SlotLink, String> {
        let (ends, current) = self.narrowest(sysfs)?;
        Ok(SlotLink {
            ends,
            current,
            maximum: ends.read(sysfs, "max"),
        })
    }

    /// The state of the narrowest link now; reads the current state of each port and nothing else.
    pub fn sample(&self, sysfs: &Sysfs) -> Result<PcieLink, String> {
        self.narrowest(sysfs).map(|(_, current)| current)
    }

    /// The state of the slot's own link now, the last of the path: all that a copy crosses to a neighbour below the same
    /// switch.
    pub fn card_link(&self, sysfs: &Sysfs) -> Option<PcieLink> {
        self.links.last()?.read(sysfs, "current")
    }

    fn narrowest(&self, sysfs: &Sysfs) -> Result<(LinkEnds, PcieLink), String> {
        let mut narrowest: Option<(LinkEnds, PcieLink)> = None;
        for ends in &self.links {
            let Some(current) = ends.read(sysfs, "current") else {
                return Err(unreadable(ends.lower));
            };
            if narrowest.is_none_or(|(_, seen)| current.cmp_rate(seen).is_lt()) {
                narrowest = Some((*ends, current));
            }
        }
        narrowest.ok_or_else(|| unreadable(self.card))
    }
}

/// Why a link of which neither end tells is not known.
fn unreadable(lower: PciAddress) -> String {
    format!("the kernel gives no link state at {lower} or the port above it; read it on the host")
}

impl LinkEnds {
    /// The slower of what the two ends say; one end is enough.
    fn read(self, sysfs: &Sysfs, which: &str) -> Option<PcieLink> {
        let upper = self.upper.and_then(|port| read(sysfs, port, which));
        match (upper, read(sysfs, self.lower, which)) {
            (Some(a), Some(b)) => Some(a.slower(b)),
            (a, b) => a.or(b),
        }
    }
}

/// `current` or `max` link of a function.
pub(crate) fn read(sysfs: &Sysfs, address: PciAddress, which: &str) -> Option<PcieLink> {
    let speed = attribute(sysfs, address, &format!("{which}_link_speed"))?;
    let width = attribute(sysfs, address, &format!("{which}_link_width"))?;
    PcieLink::parse(&speed, &width)
}
