//! Whether the IOMMU translates what a device sends, from its group, the list of IOMMUs and the kernel's command line.

use serde::{Deserialize, Serialize};

use crate::fact::Fact;
use crate::node::cpuinfo_value;
use crate::{PciAddress, Sysfs};

/// What the IOMMU does with a device's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IommuMode {
    /// There is none, or it is switched off.
    Off,
    /// It passes addresses through (`iommu=pt`).
    Identity,
    /// It translates every request, so that peer copies may be sent up to it.
    Translated,
}

/// A group's type as the kernel writes it (Documentation/ABI/testing/sysfs-kernel-iommu_groups).
const TYPES: [(&str, IommuMode); 4] = [
    ("identity", IommuMode::Identity),
    ("DMA", IommuMode::Translated),
    ("DMA-FQ", IommuMode::Translated),
    ("DMA-SQ", IommuMode::Translated),
];

/// Words of the command line that switch it off, wherever they stand (Documentation/admin-guide/kernel-parameters), and the
/// `vendor_id` of the processors that heed them; those of all where there is none.
const OFF: [(&str, &[&str]); 3] = [
    ("iommu=off", &[]),
    ("amd_iommu=off", &["AuthenticAMD", "HygonGenuine"]),
    (
        "intel_iommu=off",
        &["GenuineIntel", "CentaurHauls", "Shanghai"],
    ),
];

/// Words that say what it does for all devices where it is on; the last one counts.
const WORDS: [(&str, IommuMode); 3] = [
    ("iommu=pt", IommuMode::Identity),
    ("iommu.passthrough=1", IommuMode::Identity),
    ("iommu.passthrough=0", IommuMode::Translated),
];

impl std::fmt::Display for IommuMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Off => "none",
            Self::Identity => "identity",
            Self::Translated => "translates",
        })
    }
}

/// What the IOMMU does with a device's requests.
pub(crate) fn mode(sysfs: &Sysfs, hypervisor: bool, device: PciAddress) -> Fact<IommuMode> {
    if let Some(text) = group_type(sysfs, device) {
        let known = TYPES.iter().find(|(name, _)| *name == text);
        return known.map_or_else(
            || Fact::Unknown(format!("its group's type is `{text}`")),
            |(_, mode)| Fact::Known(*mode),
        );
    }
    if hypervisor {
        return Fact::Unknown(
            "this guest shows none, and not its host's; read it on the host".to_owned(),
        );
    }
    let shown = sysfs.canonical("sys/class/iommu").is_some();
    if shown && sysfs.names("sys/class/iommu").is_empty() {
        return Fact::Known(IommuMode::Off);
    }
    let line = sysfs.read_text("proc/cmdline").unwrap_or_default();
    let cpuinfo = sysfs.read_text("proc/cpuinfo");
    let vendor = cpuinfo
        .as_deref()
        .and_then(|text| cpuinfo_value(text, "vendor_id"));
    commanded(&line, vendor).unwrap_or_else(|| {
        Fact::Unknown(if shown {
            "there is one, and the device is in none of its groups".to_owned()
        } else {
            "/sys/class/iommu is not shown".to_owned()
        })
    })
}

/// What a command line says to a processor of this vendor; `None` where it says nothing.
fn commanded(line: &str, vendor: Option<&str>) -> Option<Fact<IommuMode>> {
    let off = |said: &str| OFF.iter().find(|(word, _)| *word == said);
    let mut unclear = None;
    for (word, heeded_by) in line.split_whitespace().filter_map(off) {
        match vendor {
            _ if heeded_by.is_empty() => return Some(Fact::Known(IommuMode::Off)),
            Some(vendor) if heeded_by.contains(&vendor) => {
                return Some(Fact::Known(IommuMode::Off));
            }
            Some(_) => {}
            None => unclear = Some(word),
        }
    }
    if let Some(word) = unclear {
        return Some(Fact::Unknown(format!(
            "the kernel was started with {word}, and /proc/cpuinfo does not say whether the processor heeds that"
        )));
    }
    let mut words = line.split_whitespace().rev();
    let last = words.find_map(|said| WORDS.iter().find(|(word, _)| *word == said));
    last.map(|(_, mode)| Fact::Known(*mode))
}

/// The type of the device's group, by its own link or by the groups' lists of devices.
fn group_type(sysfs: &Sysfs, device: PciAddress) -> Option<String> {
    const GROUPS: &str = "sys/kernel/iommu_groups";
    let own = sysfs.read_text(format!("sys/bus/pci/devices/{device}/iommu_group/type"));
    own.or_else(|| {
        let name = device.to_string();
        let holds = |group: &&String| {
            let devices = sysfs.names(format!("{GROUPS}/{group}/devices"));
            devices.contains(&name)
        };
        let groups = sysfs.names(GROUPS);
        let group = groups.iter().find(holds)?;
        sysfs.read_text(format!("{GROUPS}/{group}/type"))
    })
}
