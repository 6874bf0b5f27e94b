//! What NVIDIA's driver lists in procfs: its GPUs by minor number, their parts (MIG), and the device files that lead to each.
//!
//! The driver's numbers of files need not follow the order of addresses.

use std::collections::BTreeMap;

use crate::{PciAddress, Sysfs};

const GPUS: &str = "proc/driver/nvidia/gpus";
const CAPABILITIES: &str = "proc/driver/nvidia/capabilities";

/// A GPU instance and its compute instances, by the driver's numbers.
pub(crate) struct Instance {
    pub(crate) id: u32,
    pub(crate) compute: Vec<u32>,
}

/// The last names of the files below `/dev` that belong to one GPU, such as `nvidia0` and, with MIG, `nvidia-cap21`.
#[must_use]
pub fn nvidia_files(sysfs: &Sysfs) -> BTreeMap<String, PciAddress> {
    let mut files = BTreeMap::new();
    for (minor, address) in minors(sysfs) {
        files.insert(format!("nvidia{minor}"), address);
        for instance in instances(sysfs, minor) {
            let own = format!("{CAPABILITIES}/gpu{minor}/mig/gi{}", instance.id);
            let compute = instance.compute.iter().map(|id| format!("{own}/ci{id}"));
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
pub(crate) fn minors(sysfs: &Sysfs) -> BTreeMap<u32, PciAddress> {
    let minor = |name: String| {
        let minor = information(sysfs, &name, "Device Minor")?.parse().ok()?;
        Some((minor, name.parse().ok()?))
    };
    sysfs.names(GPUS).into_iter().filter_map(minor).collect()
}

/// The minor numbers of the GPUs that can have parts, sorted.
pub(crate) fn divisible(sysfs: &Sysfs) -> Vec<u32> {
    numbered(sysfs, CAPABILITIES, "gpu")
}

/// The parts of a GPU, sorted.
pub(crate) fn instances(sysfs: &Sysfs, minor: u32) -> Vec<Instance> {
    let folder = format!("{CAPABILITIES}/gpu{minor}/mig");
    let instance = |id: u32| Instance {
        id,
        compute: numbered(sysfs, &format!("{folder}/gi{id}"), "ci"),
    };
    let ids = numbered(sysfs, &folder, "gi").into_iter();
    ids.map(instance).collect()
}

/// What a line such as `Model:   NVIDIA L40` of a GPU's information says.
pub(crate) fn information(sysfs: &Sysfs, gpu: &str, key: &str) -> Option<String> {
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
