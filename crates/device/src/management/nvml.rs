//! NVIDIA's management library through nvml-wrapper, loaded at run time.
//!
//! A MIG instance has no link and no processes of its own here: its parent is asked.

use nvml_wrapper::Nvml as Library;
use nvml_wrapper::error::NvmlError;
use topology::{PcieLink, Repairs};

use super::nvlink::nvlinks;
use super::sample::{nvml_sample, repairs, told};
use super::{Answer, ManagedDevice, Management, MigInstance, Sample};
use crate::error::{DeviceError, Result};

/// NVIDIA's management library.
pub struct Nvml(Library);

impl Nvml {
    /// Loads and initialises it.
    ///
    /// # Errors
    /// The library is missing, or no driver answers it.
    pub fn open() -> Result<Self> {
        Library::init().map(Self).map_err(|error| match error {
            NvmlError::LibloadingError(source) => DeviceError::LibraryMissing {
                library: "libnvidia-ml.so.1",
                looked: source.to_string(),
                next: "install NVIDIA's driver; without it links and other users of a device stay unknown",
            },
            other => DeviceError::NoDevice { backend: "nvml", reason: other.to_string() },
        })
    }

    /// Whether the device at a PCI address fell off the bus; `None` where the library does not say.
    pub(crate) fn is_lost(&self, pci: &str) -> Option<bool> {
        let answer = self.0.device_by_pci_bus_id(pci);
        match answer.and_then(|device| device.uuid()) {
            Ok(_) => Some(false),
            Err(NvmlError::GpuLost) => Some(true),
            Err(_) => None,
        }
    }

    /// The physical device at a PCI address.
    pub(super) fn at(&self, pci: &str) -> Answer<nvml_wrapper::Device<'_>> {
        told(self.0.device_by_pci_bus_id(pci))
    }
}

impl Management for Nvml {
    fn driver_version(&self) -> Answer<String> {
        told(self.0.sys_driver_version())
    }

    fn devices(&self) -> Answer<Vec<Answer<ManagedDevice>>> {
        let count = told(self.0.device_count())?;
        let device = |index| told(self.0.device_by_index(index));
        let described = |index| device(index).map(|device| describe(&device));
        Ok((0..count).map(described).collect())
    }

    fn link(&self, pci: &str) -> Answer<Option<PcieLink>> {
        let device = self.at(pci)?;
        let generation = told(device.current_pcie_link_gen())?;
        let width = told(device.current_pcie_link_width())?;
        let link = || PcieLink::new(generation.try_into().ok()?, width.try_into().ok()?).ok();
        Ok(link())
    }

    fn sample(&self, pci: &str) -> Sample {
        match self.at(pci) {
            Ok(device) => nvml_sample(&device, || self.link(pci)),
            Err(reason) => Sample::missing(&reason),
        }
    }
}

fn describe(device: &nvml_wrapper::Device<'_>) -> ManagedDevice {
    let (rows, pages) = repairs(device);
    ManagedDevice {
        uuid: device.uuid().ok(),
        pci: device.pci_info().ok().map(|info| info.bus_id),
        used_bytes: told(device.memory_info()).map(|memory| memory.used),
        processes: told(device.running_compute_processes())
            .map(|running| running.iter().map(|process| process.pid).collect()),
        repairs: Repairs::told(rows, pages),
        nvlinks: Some(nvlinks(device)),
        utilisation_percent: device.utilization_rates().ok().map(|rates| rates.gpu),
        mig: instances(device),
    }
}

/// The count is a maximum; instances that do not exist answer `NotFound` and are passed over.
fn instances(device: &nvml_wrapper::Device<'_>) -> Vec<MigInstance> {
    if !device.mig_mode().is_ok_and(|mode| mode.current != 0) {
        return Vec::new();
    }
    let maximum = device.mig_device_count().unwrap_or(0);
    let instances = (0..maximum).filter_map(|index| device.mig_device_by_index(index).ok());
    let described = instances.filter_map(|instance| {
        let name = instance.name().ok();
        Some(MigInstance {
            uuid: instance.uuid().ok()?,
            profile: name.and_then(|name| profile_of(&name).map(str::to_owned)),
        })
    });
    described.collect()
}

/// The profile in a name such as `NVIDIA A100-SXM4-40GB MIG 1g.5gb`.
fn profile_of(name: &str) -> Option<&str> {
    let (_, profile) = name.rsplit_once("MIG ")?;
    Some(profile.trim()).filter(|profile| !profile.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_is_what_follows_mig_in_the_name() {
        assert_eq!(
            profile_of("NVIDIA A100-SXM4-40GB MIG 1g.5gb"),
            Some("1g.5gb")
        );
        assert_eq!(profile_of("NVIDIA A100-SXM4-40GB"), None);
    }
}
