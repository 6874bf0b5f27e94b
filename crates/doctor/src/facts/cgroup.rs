//! How much processor time the control groups of this process allow it, in version 2 and version 1 of their files.
//!
//! A group above may be tighter than the process's own, so all of them up to the root that is shown are read.

use topology::Sysfs;

use super::Reading;

const MOUNT: &str = "sys/fs/cgroup";
const GROUPS: &str = "proc/self/cgroup";

/// Processors' worth of time; `None` inside is no limit.
pub(super) fn cpus(own: &Sysfs) -> Reading<Option<f64>> {
    let groups = Reading::text(own, GROUPS);
    let groups = match groups.told() {
        Ok(groups) => groups,
        Err(why) => return Reading::unknown(format!("/{GROUPS}"), why),
    };
    let is_unified = own.read_text(format!("{MOUNT}/cgroup.controllers"));
    let is_unified = is_unified.is_some();
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
    let mut folder = top;
    let mut tightest: Option<(f64, String)> = None;
    let below = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != "..");
    for part in std::iter::once("").chain(below) {
        if !part.is_empty() {
            folder = format!("{folder}/{part}");
        }
        let limit =
            of(&folder).filter(|cpus| tightest.as_ref().is_none_or(|(least, _)| cpus < least));
        tightest = limit.map(|cpus| (cpus, folder.clone())).or(tightest);
    }
    match tightest {
        Some((cpus, folder)) => Reading::known(format!("/{folder}/{file}"), Some(cpus)),
        None => Reading::known(format!("/{folder}/{file}"), None),
    }
}
