//! What the parent and the inventory child say to each other, and what comes of it.

use device::Built;
pub use device::DeviceDescription as Found;
use record::Failure;
use serde::{Deserialize, Serialize};
use topology::NvLinks;

/// Asks what devices there are.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct InventoryRequest {
    pub(crate) backend: Built,
    /// Whether only the management library is asked, for NVLinks: for a driver that does not start.
    pub(crate) only_nvlinks: bool,
}

/// What a backend's child answers: its devices, or why there are none to measure with.
pub(crate) type Answer = Result<Inventory, (Absent, Failure)>;

/// NVLinks by the PCI address that the management library gives, where only these were asked for.
pub(crate) type Links = Vec<(String, NvLinks)>;

/// Why no driver answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Absent {
    /// Its library is not on this machine, or it has no device.
    NotThere,
    /// It is there and fails.
    Failing,
}

/// What a driver and its management library say.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Inventory {
    /// Version of the interface, such as `CUDA 12.8`.
    pub interface: Option<String>,
    /// Name of the simulated machine, where the driver is a simulated one.
    pub soft_box: Option<String>,
    /// The driver's devices in its order.
    pub devices: Vec<Found>,
    /// Pairs of devices by their ordinals of which the driver says that the one does not reach memory of the other.
    pub apart: Vec<(usize, usize)>,
    /// Why the driver does not say which reach each other; `None` where it does.
    pub peers_unknown: Option<String>,
    /// Version of the driver package, from the management library.
    pub driver: Option<String>,
    /// Why the management library does not answer; `None` where it does.
    pub unmanaged: Option<String>,
    /// MIG instances that the management library lists, by UUID.
    pub mig_listed: Vec<String>,
}

impl Inventory {
    /// The devices without graphics of the processor, unless there is nothing else: collectives over unlike devices say nothing of
    /// either, and AMD's runtime does not support them.
    pub fn discrete(&self) -> impl Iterator<Item = &Found> {
        let only = self.devices.iter().all(|device| device.is_integrated);
        let devices = self.devices.iter();
        devices.filter(move |device| only || !device.is_integrated)
    }

    /// Whether every one of these devices reaches every other, as the driver says; that it does is no proof, which is what
    /// `tplens p2p` is for.
    ///
    /// # Errors
    /// Why it does not say.
    pub fn all_reach(&self, found: &[Found]) -> Result<bool, String> {
        let is_one = |ordinal: usize| found.iter().any(|device| device.ordinal == ordinal);
        match &self.peers_unknown {
            Some(reason) => Err(format!("the driver was asked in vain: {reason}")),
            None => Ok(!self.apart.iter().any(|(a, b)| is_one(*a) && is_one(*b))),
        }
    }
}
