//! What NVIDIA's driver lists in procfs: which GPUs are divided, what each is called, and the device files that lead to it.
//!
//! The driver's numbers of files need not follow the order of addresses.

use std::collections::BTreeMap;

use crate::vendor::NVIDIA;
use crate::{PciAddress, PciDevice, Sysfs};

const GPUS: &str = "proc/driver/nvidia/gpus";
const CAPABILITIES: &str = "proc/driver/nvidia/capabilities";

/// NVIDIA's GPUs that MIG divides, by the driver's minor number.
#[must_use]
pub fn divided_gpus(sysfs: &Sysfs) -> Vec<u32> {
    let mut gpus = numbered(sysfs, CAPABILITIES, "gpu");
    gpus.retain(|gpu| !numbered(sysfs, &format!("{CAPABILITIES}/gpu{gpu}/mig"), "gi").is_empty());
    gpus
}

/// The last names of the files below `/dev` that belong to one GPU, such as `nvidia0` and, with MIG, `nvidia-cap21`.
#[must_use]
pub fn nvidia_files(sysfs: &Sysfs) -> BTreeMap<String, PciAddress> {
    let mut files = BTreeMap::new();
    let minor = |name: String| -> Option<(u32, PciAddress)> {
        let minor = information(sysfs, &name, "Device Minor")?.parse().ok()?;
        Some((minor, name.parse().ok()?))
    };
    for (minor, address) in sysfs.names(GPUS).into_iter().filter_map(minor) {
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
