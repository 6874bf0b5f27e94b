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
    /// The link that the slot of a device gives, where it is not the box's own.
    pub(crate) fn slot(&self, device: usize) -> Option<PcieLink> {
        self.0.iter().find_map(|plant| match plant {
            Plant::Slot { device: at, link } if *at == device => Some(*link),
            _ => None,
        })
    }

    /// The part of its rate that a copy of a device with the host has.
    pub(crate) fn host_part(&self, device: usize) -> f64 {
        let part = |plant: &Plant| match plant {
            Plant::SlowDevice { device: at, part } if *at == device => *part,
            _ => 1.0,
        };
        self.0.iter().map(part).product()
    }

    /// The part of its rate that a copy between two devices has.
    pub(crate) fn pair_part(&self, from: usize, to: usize) -> f64 {
        let part = |plant: &Plant| match plant {
            Plant::SlowPair { pair, part } if *pair == (from, to) || *pair == (to, from) => *part,
            Plant::SlowWay {
                from: a,
                to: b,
                part,
            } if (*a, *b) == (from, to) => *part,
            Plant::SlowDevice { device, part } if [from, to].contains(device) => *part,
            _ => 1.0,
        };
        self.0.iter().map(part).product()
    }

    /// How many times as long collectives take.
    pub(crate) fn collectives(&self) -> f64 {
        let times = |plant: &Plant| match plant {
            Plant::SlowCollectives { times } => *times,
            _ => 1.0,
        };
        self.0.iter().map(times).product()
    }

    pub(crate) fn is_lost(&self, device: usize) -> bool {
        self.0.contains(&Plant::Lost { device })
    }

    pub(crate) fn is_hot(&self, device: usize) -> bool {
        self.0.contains(&Plant::Hot { device })
    }

    pub(crate) fn drops(&self, from: usize, to: usize) -> bool {
        self.0.contains(&Plant::DropsData { from, to })
    }

    pub(crate) fn hangs(&self, from: usize, to: usize) -> bool {
        self.0.contains(&Plant::Hangs { from, to })
    }

    /// The node that the kernel says of a device, where it is not the box's own.
    pub(crate) fn node(&self, device: usize) -> Option<u32> {
        self.0.iter().find_map(|plant| match plant {
            Plant::OnNode { device: at, node } if *at == device => Some(*node),
            _ => None,
        })
    }

    /// The node on which memory lies that is wanted near a device, where it is another one.
    pub(crate) fn memory(&self, device: usize) -> Option<u32> {
        self.0.iter().find_map(|plant| match plant {
            Plant::MemoryOn { device: at, node } if *at == device => Some(*node),
            _ => None,
        })
    }

    /// Errors that the bridge above a device counts.
    pub(crate) fn aer(&self, device: usize) -> u64 {
        let events = |plant: &Plant| match plant {
            Plant::Aer { device: at, events } if *at == device => *events,
            _ => 0,
        };
        self.0.iter().map(events).sum()
    }
}
