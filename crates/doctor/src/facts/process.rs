//! Limits and rights of this process, from `/proc/self`.

use topology::{CpuSet, Sysfs};

use super::Reading;

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
            group_cpus: group_cpus(own),
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

const MOUNT: &str = "sys/fs/cgroup";
const GROUPS: &str = "proc/self/cgroup";

/// How much processor time the control groups allow, in version 2 and version 1 of their files.
///
/// A group above may be tighter than the process's own, so all of them up to the root that is shown are read.
fn group_cpus(own: &Sysfs) -> Reading<Option<f64>> {
    let groups = own.read_text(GROUPS).unwrap_or_default();
    let is_unified = own
        .read_text(format!("{MOUNT}/cgroup.controllers"))
        .is_some();
    let (top, file) = match is_unified {
        true => (MOUNT.to_owned(), "cpu.max"),
        false => (format!("{MOUNT}/cpu"), "cpu.cfs_quota_us"),
    };
    // Lines are `0::/path` of version 2 and `2:cpu,cpuacct:/path` of version 1.
    let path = groups.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let mut controllers = controllers.split(',');
        let is_it = controllers.any(|name| name == if is_unified { "" } else { "cpu" });
        is_it.then_some(path)
    });
    let Some(path) = path.filter(|_| !own.names(&top).is_empty()) else {
        let why = "the controller is not shown under /sys/fs/cgroup";
        return Reading::unknown(format!("/{MOUNT}"), why);
    };
    // Microseconds of processor time in each period; `max` and -1 are no limit.
    let of = |folder: &str| -> Option<f64> {
        let text = own.read_text(format!("{folder}/{file}"))?;
        let (quota, period) = match text.split_once(' ') {
            Some((quota, period)) => (quota.to_owned(), period.to_owned()),
            None => (text, own.read_text(format!("{folder}/cpu.cfs_period_us"))?),
        };
        let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
        (quota > 0.0 && period > 0.0).then(|| quota / period)
    };
    let mut folders = vec![top];
    for part in path.split('/') {
        if !part.is_empty() && part != ".." {
            folders.push(format!("{}/{part}", folders[folders.len() - 1]));
        }
    }
    let limits = folders
        .iter()
        .filter_map(|folder| Some((of(folder)?, folder)));
    let tightest = limits.min_by(|(a, _), (b, _)| a.total_cmp(b));
    let folder = tightest.map_or(&folders[folders.len() - 1], |(_, folder)| folder);
    Reading::known(format!("/{folder}/{file}"), tightest.map(|(cpus, _)| cpus))
}
