//! Faults that tests plant into a described box.

use topology::PcieLink;

/// One fault.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Plant {
    /// The slot of a device gives this link.
    Slot { device: usize, link: PcieLink },
    /// Both ways of a pair have this part of their rate.
    SlowPair { pair: (usize, usize), part: f64 },
    /// One way of a pair has this part of its rate.
    SlowWay { from: usize, to: usize, part: f64 },
    /// What is written from one to the other does not arrive.
    DropsData { from: usize, to: usize },
    /// A copy from one to the other does not end.
    Hangs { from: usize, to: usize },
    /// The kernel says this node of a device.
    OnNode { device: usize, node: u32 },
    /// Memory that is wanted near a device lies on this node.
    MemoryOn { device: usize, node: u32 },
    /// The bridge above a device counts so many errors that the link corrected.
    Aer { device: usize, events: u64 },
    /// The device holds its clocks down for heat.
    Hot { device: usize },
    /// The device is lost after its first copies.
    Lost { device: usize },
    /// Collectives take so many times as long.
    SlowCollectives { times: f64 },
    /// All copies of a device have this part of their rate.
    SlowDevice { device: usize, part: f64 },
}

/// All faults that are planted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plants(pub(crate) Vec<Plant>);

impl Plants {
    /// What the faults that this knows say.
    fn told<T>(&self, known: impl Fn(Plant) -> Option<T>) -> impl Iterator<Item = T> {
        self.0.iter().filter_map(move |plant| known(*plant))
    }

    /// The link that the slot of a device gives, where it is not the box's own.
    pub(crate) fn slot(&self, of: usize) -> Option<PcieLink> {
        let mut told = self.told(|plant| match plant {
            Plant::Slot { device, link } if device == of => Some(link),
            _ => None,
        });
        told.next()
    }

    /// The part of its rate that a copy of a device with the host has.
    pub(crate) fn host_part(&self, of: usize) -> f64 {
        let told = self.told(|plant| match plant {
            Plant::SlowDevice { device, part } if device == of => Some(part),
            _ => None,
        });
        told.product()
    }

    /// The part of its rate that a copy between two devices has.
    pub(crate) fn pair_part(&self, a: usize, b: usize) -> f64 {
        let told = self.told(|plant| match plant {
            Plant::SlowPair { pair, part } if pair == (a, b) || pair == (b, a) => Some(part),
            Plant::SlowWay { from, to, part } if (from, to) == (a, b) => Some(part),
            Plant::SlowDevice { device, part } if [a, b].contains(&device) => Some(part),
            _ => None,
        });
        told.product()
    }

    /// How many times as long collectives take.
    pub(crate) fn collectives(&self) -> f64 {
        let told = self.told(|plant| match plant {
            Plant::SlowCollectives { times } => Some(times),
            _ => None,
        });
        told.product()
    }

    /// Whether a fault is planted.
    pub(crate) fn has(&self, plant: Plant) -> bool {
        self.0.contains(&plant)
    }

    /// The node that the kernel says of a device, where it is not the box's own.
    pub(crate) fn node(&self, of: usize) -> Option<u32> {
        let mut told = self.told(|plant| match plant {
            Plant::OnNode { device, node } if device == of => Some(node),
            _ => None,
        });
        told.next()
    }

    /// The node on which memory lies that is wanted near a device, where it is another one.
    pub(crate) fn memory(&self, of: usize) -> Option<u32> {
        let mut told = self.told(|plant| match plant {
            Plant::MemoryOn { device, node } if device == of => Some(node),
            _ => None,
        });
        told.next()
    }

    /// Errors that the bridge above a device counts.
    pub(crate) fn aer(&self, of: usize) -> u64 {
        let told = self.told(|plant| match plant {
            Plant::Aer { device, events } if device == of => Some(events),
            _ => None,
        });
        told.sum()
    }
}
