//! [`NumaNode`] and [`Cpus`]: what the kernel says of memory nodes and processors.
//!
//! It does not place anything and does not guess a node that is not listed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::TopologyError;
use crate::{CpuSet, Sysfs};

/// One NUMA node, from `/sys/devices/system/node/nodeN`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumaNode {
    /// The node's number; numbers can have gaps.
    pub id: u32,
    /// The CPUs of the node; empty on a node that has memory only.
    pub cpus: CpuSet,
    /// Distance to each node by its number, 10 to itself (ACPI SLIT); empty where the kernel gives none.
    pub distances: BTreeMap<u32, u32>,
    /// Memory of the node in bytes (`MemTotal`).
    pub memory_bytes: Option<u64>,
}

/// The processors of the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpus {
    /// `model name` of `/proc/cpuinfo`, or on Arm the implementer and part numbers.
    pub model: Option<String>,
    /// `vendor_id` of `/proc/cpuinfo`, such as `AuthenticAMD`; `None` where it does not say, as on Arm.
    pub vendor: Option<String>,
    /// How many CPUs (hardware threads) are online.
    pub count: Option<usize>,
    /// The largest cache of CPU 0 in bytes; a buffer has to be several times larger to measure memory.
    pub last_level_cache_bytes: Option<u64>,
}

impl NumaNode {
    /// Every node that is online, by its number; none on a kernel without NUMA.
    pub(crate) fn read_all(sysfs: &Sysfs) -> Result<Vec<Self>, TopologyError> {
        const FOLDER: &str = "sys/devices/system/node";
        let mut ids: Vec<u32> = sysfs
            .names(FOLDER)
            .iter()
            .filter_map(|name| name.strip_prefix("node")?.parse().ok())
            .collect();
        ids.sort_unstable();
        ids.iter()
            .map(|&id| Self::read(sysfs, &format!("{FOLDER}/node{id}"), id, &ids))
            .collect()
    }

    fn read(sysfs: &Sysfs, folder: &str, id: u32, ids: &[u32]) -> Result<Self, TopologyError> {
        let list = sysfs
            .read_text(format!("{folder}/cpulist"))
            .unwrap_or_default();
        let cpus = list.parse().map_err(|_| TopologyError::Malformed {
            path: format!("{folder}/cpulist"),
            text: list.clone(),
        })?;
        Ok(Self {
            id,
            cpus,
            distances: distances(sysfs, folder, ids),
            memory_bytes: memory_bytes(sysfs, folder),
        })
    }
}

impl Cpus {
    pub(crate) fn read(sysfs: &Sysfs, cpuinfo: Option<&str>) -> Self {
        Self {
            model: cpuinfo.and_then(model),
            vendor: cpuinfo
                .and_then(|text| cpuinfo_value(text, "vendor_id"))
                .map(str::to_owned),
            count: sysfs
                .read_text("sys/devices/system/cpu/online")
                .and_then(|list| list.parse::<CpuSet>().ok())
                .map(|online| online.len()),
            last_level_cache_bytes: last_level_cache_bytes(sysfs),
        }
    }
}

/// The value of a `/proc/cpuinfo` line, the first of its name.
pub(crate) fn cpuinfo_value<'a>(cpuinfo: &'a str, name: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then_some(value.trim())
    })
}

fn model(cpuinfo: &str) -> Option<String> {
    if let Some(name) = cpuinfo_value(cpuinfo, "model name") {
        return Some(name.to_owned());
    }
    let implementer = cpuinfo_value(cpuinfo, "CPU implementer")?;
    let part = cpuinfo_value(cpuinfo, "CPU part")?;
    Some(format!("Arm implementer {implementer} part {part}"))
}

/// The kernel writes one distance for each online node, in their order.
fn distances(sysfs: &Sysfs, folder: &str, ids: &[u32]) -> BTreeMap<u32, u32> {
    let text = sysfs
        .read_text(format!("{folder}/distance"))
        .unwrap_or_default();
    let values: Vec<u32> = text
        .split_whitespace()
        .map_while(|word| word.parse().ok())
        .collect();
    if values.len() != ids.len() {
        return BTreeMap::new();
    }
    ids.iter().copied().zip(values).collect()
}

/// From `Node 0 MemTotal:         223936 kB`, where kB is 1024 bytes.
fn memory_bytes(sysfs: &Sysfs, folder: &str) -> Option<u64> {
    let text = sysfs.read_text(format!("{folder}/meminfo"))?;
    let line = text.lines().find(|line| line.contains("MemTotal:"))?;
    let (_, amount) = line.split_once("MemTotal:")?;
    let kib: u64 = amount.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

fn last_level_cache_bytes(sysfs: &Sysfs) -> Option<u64> {
    const FOLDER: &str = "sys/devices/system/cpu/cpu0/cache";
    sysfs
        .names(FOLDER)
        .iter()
        .filter(|name| name.starts_with("index"))
        .filter_map(|name| cache_bytes(&sysfs.read_text(format!("{FOLDER}/{name}/size"))?))
        .max()
}

/// From `107520K`; the kernel writes `K`, and `M` is taken too.
fn cache_bytes(text: &str) -> Option<u64> {
    let (number, unit) = match text.strip_suffix('K') {
        Some(number) => (number, 1024),
        None => (text.strip_suffix('M')?, 1024 * 1024),
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}
