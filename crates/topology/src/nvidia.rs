//! What NVIDIA's driver lists in procfs: its GPUs by minor number, [`MigGpu`]: those that are divided, and the device files that lead to
//! each.
//!
//! The driver's numbers of files need not follow the order of addresses.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::vendor::NVIDIA;
use crate::{PciAddress, PciDevice, Sysfs};

const GPUS: &str = "proc/driver/nvidia/gpus";
const CAPABILITIES: &str = "proc/driver/nvidia/capabilities";

/// A GPU of NVIDIA that is divided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigGpu {
    /// The driver's minor number of the GPU.
    pub minor: u32,
    /// Its address; `None` where the driver does not say.
    pub address: Option<PciAddress>,
    /// Its GPU instances.
    pub instances: Vec<GpuInstance>,
}

/// A part of a divided GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuInstance {
    /// The driver's number of it.
    pub id: u32,
    /// How many compute instances it has.
    pub compute_instances: usize,
}

impl MigGpu {
    /// Every GPU with GPU instances, by its number.
    #[must_use]
    pub fn read_all(sysfs: &Sysfs) -> Vec<Self> {
        let addresses = minors(sysfs);
        let of = |minor: u32| Self {
            minor,
            address: addresses.get(&minor).copied(),
            instances: instances(sysfs, minor),
        };
        let all = numbered(sysfs, CAPABILITIES, "gpu").into_iter().map(of);
        all.filter(|gpu| !gpu.instances.is_empty()).collect()
    }
}

/// The last names of the files below `/dev` that belong to one GPU, such as `nvidia0` and, with MIG, `nvidia-cap21`.
#[must_use]
pub fn nvidia_files(sysfs: &Sysfs) -> BTreeMap<String, PciAddress> {
    let mut files = BTreeMap::new();
    for (minor, address) in minors(sysfs) {
        files.insert(format!("nvidia{minor}"), address);
        let below = format!("{CAPABILITIES}/gpu{minor}/mig");
        for instance in numbered(sysfs, &below, "gi") {
            let own = format!("{below}/gi{instance}");
            let compute = numbered(sysfs, &own, "ci").into_iter();
            let compute = compute.map(|id| format!("{own}/ci{id}"));
            for folder in std::iter::once(own.clone()).chain(compute) {
                let access = sysfs.read_text(format!("{folder}/access"));
                let file = access.and_then(|text| field(&text, "DeviceFileMinor")?.parse().ok());
                let file: Option<u32> = file;
                files.extend(file.map(|file| (format!("nvidia-cap{file}"), address)));
            }
        }
    }
    files
}

/// Addresses by the driver's minor number, of the GPUs whose number it tells.
fn minors(sysfs: &Sysfs) -> BTreeMap<u32, PciAddress> {
    let minor = |name: String| {
        let minor = information(sysfs, &name, "Device Minor")?.parse().ok()?;
        Some((minor, name.parse().ok()?))
    };
    sysfs.names(GPUS).into_iter().filter_map(minor).collect()
}

/// The parts of a GPU, sorted.
fn instances(sysfs: &Sysfs, minor: u32) -> Vec<GpuInstance> {
    let folder = format!("{CAPABILITIES}/gpu{minor}/mig");
    let instance = |id: u32| GpuInstance {
        id,
        compute_instances: numbered(sysfs, &format!("{folder}/gi{id}"), "ci").len(),
    };
    let ids = numbered(sysfs, &folder, "gi").into_iter();
    ids.map(instance).collect()
}

/// What the GPU is called: by NVIDIA's driver, or by AMD's where the card has a name.
#[must_use]
pub fn gpu_name(sysfs: &Sysfs, gpu: &PciDevice) -> Option<String> {
    let name = if gpu.vendor == NVIDIA {
        information(sysfs, &gpu.address.to_string(), "Model")
    } else {
        sysfs.read_text(format!("sys/bus/pci/devices/{}/product_name", gpu.address))
    };
    name.filter(|name| !name.is_empty())
}

/// What a line such as `Model:   NVIDIA L40` of a GPU's information says.
fn information(sysfs: &Sysfs, gpu: &str, key: &str) -> Option<String> {
    let text = sysfs.read_text(format!("{GPUS}/{gpu}/information"))?;
    field(&text, key).map(str::to_owned)
}

/// The value of a line `KEY: VALUE`.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let found = lines.find(|(name, _)| name.trim() == key);
    found.map(|(_, value)| value.trim())
}

/// The numbers of the names that are a prefix and a number, sorted.
fn numbered(sysfs: &Sysfs, folder: &str, prefix: &str) -> Vec<u32> {
    let names = sysfs.names(folder);
    let mut numbers: Vec<u32> = names
        .iter()
        .filter_map(|name| name.strip_prefix(prefix)?.parse().ok())
        .collect();
    numbers.sort_unstable();
    numbers
}
