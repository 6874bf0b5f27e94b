//! Limits and rights of this process, from `/proc/self`.

use topology::{CpuSet, Sysfs};

use super::{Reading, cgroup};

/// Limits and rights of this process.
#[derive(Debug, Clone)]
pub struct Process {
    /// Bytes that may be locked, soft and hard; `None` is no limit.
    pub locked_bytes: Reading<[Option<u64>; 2]>,
    /// Files that may be open, soft and hard.
    pub open_files: Reading<[Option<u64>; 2]>,
    /// Seccomp's mode: 0 off, 1 strict, 2 filter.
    pub seccomp: Reading<u32>,
    /// The effective capabilities as the kernel's mask.
    pub capabilities: Reading<u64>,
    /// The CPUs that it may run on.
    pub cpus: Reading<CpuSet>,
    /// The nodes that it may take memory of.
    pub memory_nodes: Reading<CpuSet>,
    /// Processors' worth of time that the control groups allow; `None` inside is no limit.
    pub group_cpus: Reading<Option<f64>>,
}

impl Process {
    pub(super) fn read(own: &Sysfs) -> Self {
        const LIMITS: &str = "proc/self/limits";
        const STATUS: &str = "proc/self/status";
        let limit = |name: &'static str| {
            Reading::text(own, LIMITS).and_then(|text| pair(text.lines(), name))
        };
        let status = |name: &str| {
            Reading::text(own, STATUS).and_then(|text| {
                let line = text.lines().find_map(|line| line.strip_prefix(name));
                line.map(|value| value.trim().to_owned())
            })
        };
        Self {
            locked_bytes: limit("Max locked memory"),
            open_files: limit("Max open files"),
            seccomp: status("Seccomp:").and_then(|text| text.parse().ok()),
            capabilities: status("CapEff:").and_then(|text| u64::from_str_radix(text, 16).ok()),
            cpus: status("Cpus_allowed_list:").and_then(|text| text.parse().ok()),
            memory_nodes: status("Mems_allowed_list:").and_then(|text| text.parse().ok()),
            group_cpus: cgroup::cpus(own),
        }
    }

    /// Whether it has a capability by its number (linux/capability.h); `None` where that is not known.
    #[must_use]
    pub fn has(&self, capability: u32) -> Option<bool> {
        let mask = self.capabilities.value.known()?;
        Some(mask >> capability & 1 == 1)
    }
}

/// Soft and hard limit of a line `Max open files   1024   524288   files`.
fn pair<'a>(mut lines: impl Iterator<Item = &'a str>, name: &str) -> Option<[Option<u64>; 2]> {
    let line = lines.find_map(|line| line.strip_prefix(name))?;
    let mut words = line.split_whitespace().map(|word| match word {
        "unlimited" => Some(None),
        number => number.parse().ok().map(Some),
    });
    Some([words.next()??, words.next()??])
}
