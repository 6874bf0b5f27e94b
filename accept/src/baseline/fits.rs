//! Whether a baseline is of a machine like that of a run.

use record::Links;

use super::Baseline;

const OTHER: &str = "--baseline is of another machine; run without it, or capture one here";

impl Baseline {
    /// Refuses a baseline of a simulated machine for a real one, the other way about, and that of another simulated one.
    pub(crate) fn same_kind(&self, simulated: Option<&str>) -> Result<(), String> {
        match self.soft_box.as_deref() == simulated {
            true => Ok(()),
            false => Err(OTHER.to_owned()),
        }
    }

    /// Refuses one without any device like those here; a missing or exchanged one is for the inventory to judge.
    pub(crate) fn same_devices(&self, links: &Links) -> Result<(), String> {
        let known = &self.fingerprint;
        let backend = links.backend.as_ref().map(|backend| backend.name.as_str());
        let mut devices = links.devices.iter();
        let is_shared = devices.any(|device| known.devices.contains(&device.name));
        match backend == Some(known.backend.as_str()) && (is_shared || links.devices.is_empty()) {
            true => Ok(()),
            false => Err(OTHER.to_owned()),
        }
    }
}
