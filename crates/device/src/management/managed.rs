//! Who is asked for a vendor's devices and their users: one row for each vendor.

use topology::Sysfs;

use super::{Amd, Answer, Management, Nvml};

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
