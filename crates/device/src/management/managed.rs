//! Who is asked for a vendor's devices and their users: one row for each vendor.

use topology::Sysfs;

use super::{Amd, Answer, ManagedDevice, ManagedLink, Nvml, Sample};

/// What tells of a vendor's devices, whoever uses them.
pub trait Management {
    /// The version of the driver package or of the kernel's driver.
    ///
    /// # Errors
    /// Why it is not reported.
    fn driver_version(&self) -> Answer<String>;

    /// All physical devices; one that cannot be asked is left out with its reason.
    ///
    /// # Errors
    /// Why devices are not told at all.
    fn devices(&self) -> Answer<Vec<Answer<ManagedDevice>>>;

    /// The device's own link, at a PCI address.
    ///
    /// # Errors
    /// No such device, or why its link is not reported.
    fn link(&self, pci: &str) -> Answer<ManagedLink>;

    /// Reads the physical device at a PCI address now; of each value that is missing, why.
    ///
    /// On NVIDIA this takes 40 ms or more: each of two PCIe counters counts for 20 ms.
    fn sample(&self, pci: &str) -> Sample;
}

/// A vendor's management, which is opened where it is needed.
#[derive(Debug)]
pub struct Managed {
    /// What is asked.
    pub name: &'static str,
    /// The vendor's tool, for what is not told here.
    pub tool: &'static str,
    /// Opens it; of files, those under this root are read.
    pub open: fn(&Sysfs) -> Answer<Box<dyn Management>>,
}

/// NVIDIA's library.
pub(crate) static NVML: Managed = Managed {
    name: "nvml",
    tool: "nvidia-smi",
    open: |_| {
        let nvml = Nvml::open().map_err(|error| error.to_string())?;
        Ok(Box::new(nvml))
    },
};

/// The files of AMD's kernel driver.
pub(crate) static AMDGPU: Managed = Managed {
    name: "amdgpu (sysfs)",
    tool: "rocm-smi --showpids",
    open: |sysfs| Ok(Box::new(Amd::open(sysfs)?)),
};

/// MetaX's library, which is not loaded: its header is not public.
pub(crate) static MXSML: Managed = Managed {
    name: "mxsml",
    tool: "mx-smi",
    open: |_| Err("MetaX's management library is not read by this version".to_owned()),
};
