//! What else was seen of the box and of the servers: links, the machine beside the load, the library's variables.
//!
//! Advice and what-ifs rest on it. What is missing was not looked at, and then nothing is said of it.

use record::{LinkDevice, Links, ServerMachine};
use topology::PcieLink;

/// What else was seen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    /// Links of the box, of tplens p2p; the servers ran on the first of its devices.
    pub links: Option<Links>,
    /// The link of the GPUs as a box file has it, where none was read.
    pub described_link: Option<PcieLink>,
    /// What a monitor saw beside the loads, with the tensor parallel size of each.
    pub machines: Vec<(u32, ServerMachine)>,
    /// Variables of the collective library that were set, as records keep them.
    pub variables: Vec<Variable>,
    /// The model as it was named on the command line, for commands that are printed; `None` where its own name does.
    pub model_given: Option<String>,
    /// The simulated machine as it was named on the command line, for commands that are printed; `None` where its own name does.
    pub soft_given: Option<String>,
    /// Whether the program that made these runs switched the engine's own all-reduce off by itself, because no simulated machine can time it.
    pub off_by_us: bool,
}

/// A variable that was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// The record that says so.
    pub origin: String,
}

impl Seen {
    /// The devices that a server of this size ran on; empty where no links were measured.
    pub(crate) fn used(&self, tp: u32) -> &[LinkDevice] {
        let devices = self.links.as_ref().map_or(&[][..], |links| &links.devices);
        &devices[..(tp as usize).min(devices.len())]
    }

    /// The link that limits the slowest of them under load; as described where none was read.
    pub(crate) fn link(&self, tp: u32) -> Option<PcieLink> {
        let loaded = self.used(tp).iter().map(|device| {
            let reading = device.loaded.as_ref()?;
            reading.limiting()
        });
        let all: Option<Vec<PcieLink>> = loaded.collect();
        let slowest = all.unwrap_or_default().into_iter().reduce(PcieLink::slower);
        slowest.or(self.described_link)
    }

    /// The first of these variables whose value fits.
    pub(crate) fn variable(&self, name: &str, fits: impl Fn(&str) -> bool) -> Option<&Variable> {
        let mut all = self.variables.iter();
        all.find(|variable| variable.name == name && fits(&variable.value))
    }
}
