//! What the caller brings, because it needs a driver, a library, a system call or the environment.

use serde::Serialize;
use topology::{Fact, NvLinks, PciAddress, Repairs};

/// What [`super::Facts`] cannot read from files.
#[derive(Debug, Clone)]
pub struct Given {
    /// The GPUs to look at.
    pub devices: Vec<Device>,
    /// Why no driver names the devices; `None` where one does.
    pub undriven: Option<String>,
    /// Versions of drivers and libraries.
    pub versions: Vec<Version>,
    /// What was asked for a version and did not give one, in words.
    pub unversioned: Vec<String>,
    /// The variables of this process and of configuration files that [`crate::variables::is_known`] names, and no others.
    pub variables: Fact<Vec<Variable>>,
    /// The file system at `/dev/shm`.
    pub shared_memory: Fact<SharedMemory>,
    /// The lines of the kernel's log.
    pub kernel_log: Fact<Vec<String>>,
}

/// One GPU, or one MIG instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// As tables call it: `GPU0`, `MIG1`.
    pub label: String,
    /// The driver's name of it.
    pub name: Option<String>,
    /// Where it is.
    pub address: Option<PciAddress>,
    /// Whether it is a MIG instance; `None` where no management library was asked.
    pub mig: Option<bool>,
    /// What the management library says was repaired of its memory.
    pub repairs: Fact<Repairs>,
    /// What the management library says of its NVLinks.
    pub nvlinks: Fact<NvLinks>,
}

/// The version of a part of the software.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Version {
    /// `NVIDIA driver`, `NCCL`, `RCCL`, `ROCm`, `MCCL`.
    pub component: String,
    /// As it says itself: `570.133.07`.
    #[serde(rename = "version")]
    pub text: String,
    /// Where it says so: a file, or what was asked.
    pub source: String,
}

impl Version {
    /// The numbers of the text up to the first part that is none: 570, 133, 7.
    #[must_use]
    pub fn numbers(&self) -> Vec<u32> {
        numbers(&self.text)
    }
}

/// A variable and where it is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// `environment`, or a file such as `/etc/nccl.conf`.
    pub source: String,
}

/// The size of the shared memory's file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedMemory {
    /// All of it, in bytes.
    pub bytes: u64,
    /// What is not taken.
    pub free_bytes: u64,
}

/// The numbers that a version begins with.
pub(crate) fn numbers(text: &str) -> Vec<u32> {
    let parts = text.split(['.', '-', '+', ' ']);
    parts.map_while(|part| part.parse().ok()).collect()
}
