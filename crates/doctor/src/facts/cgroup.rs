//! [`Cgroup`]: what the control groups of this process allow it, in version 2 and version 1 of their files.
//!
//! A group above may be tighter than the process's own, so all of them up to the root that is shown are read.

use topology::Sysfs;

use super::Reading;

/// The limits of the control groups; `None` inside is no limit.
#[derive(Debug, Clone)]
pub struct Cgroup {
    /// Processors' worth of time.
    pub cpus: Reading<Option<f64>>,
    /// Bytes of memory.
    pub memory: Reading<Option<Quota>>,
    /// Processes and threads.
    pub tasks: Reading<Option<Quota>>,
}

/// A limit and how much of it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// What is allowed.
    pub limit: u64,
    /// What is used, without what the kernel gives back when it is wanted; `None` where that is not shown.
    pub used: Option<u64>,
}

impl Quota {
    /// What is left.
    #[must_use]
    pub fn free(self) -> u64 {
        self.limit.saturating_sub(self.used.unwrap_or(0))
    }
}

/// A controller's files in both versions.
struct Controller {
    name: &'static str,
    limit: [&'static str; 2],
    used: [&'static str; 2],
    /// File and key of a part of what is used that the kernel gives back when it is wanted.
    given_back: Option<(&'static str, [&'static str; 2])>,
}

const MEMORY: Controller = Controller {
    name: "memory",
    limit: ["memory.max", "memory.limit_in_bytes"],
    used: ["memory.current", "memory.usage_in_bytes"],
    // Files that were read stay in memory until it is wanted for something else.
    given_back: Some(("memory.stat", ["inactive_file", "total_inactive_file"])),
};

const TASKS: Controller = Controller {
    name: "pids",
    limit: ["pids.max", "pids.max"],
    used: ["pids.current", "pids.current"],
    given_back: None,
};

/// Version 1 writes "no limit" as the largest multiple of a page; nothing has an exbibyte.
const SURELY_NONE: u64 = 1 << 60;

const MOUNT: &str = "sys/fs/cgroup";

impl Cgroup {
    pub(super) fn read(own: &Sysfs) -> Self {
        let groups = Reading::text(own, "proc/self/cgroup");
        Self {
            cpus: cpus(own, &groups),
            memory: quota(own, &groups, &MEMORY),
            tasks: quota(own, &groups, &TASKS),
        }
    }
}

/// The folders of a controller from the process's own group up, and which version's files they have.
fn folders(own: &Sysfs, groups: &str, controller: &str) -> Option<(Vec<String>, usize)> {
    // Lines are `0::/path` of version 2 and `4:memory:/path` of version 1.
    let path = |is_it: &dyn Fn(&str) -> bool| {
        groups.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (names, path) = (fields.next()?, fields.next()?);
            is_it(names).then(|| path.to_owned())
        })
    };
    let is_unified = own
        .read_text(format!("{MOUNT}/cgroup.controllers"))
        .is_some();
    let (top, path, version) = if is_unified {
        (MOUNT.to_owned(), path(&str::is_empty)?, 0)
    } else {
        let named = |names: &str| names.split(',').any(|name| name == controller);
        (format!("{MOUNT}/{controller}"), path(&named)?, 1)
    };
    let shown = own.names(&top);
    if shown.is_empty() {
        return None;
    }
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != "..")
        .collect();
    let folder = |depth: usize| {
        let mut folder = top.clone();
        for part in &parts[..depth] {
            folder.push('/');
            folder.push_str(part);
        }
        folder
    };
    Some(((0..=parts.len()).rev().map(folder).collect(), version))
}

const NOT_SHOWN: &str = "the controller is not shown under /sys/fs/cgroup";

fn quota(own: &Sysfs, groups: &Reading<String>, controller: &Controller) -> Reading<Option<Quota>> {
    let groups = match groups.told() {
        Ok(groups) => groups,
        Err(why) => return Reading::unknown("/proc/self/cgroup", why),
    };
    let Some((folders, version)) = folders(own, groups, controller.name) else {
        return Reading::unknown(format!("/{MOUNT}"), NOT_SHOWN);
    };
    let number = |folder: &str, file: &str| -> Option<u64> {
        own.read_text(format!("{folder}/{file}"))?.parse().ok()
    };
    let limits = folders.iter().filter_map(|folder| {
        let limit =
            number(folder, controller.limit[version]).filter(|limit| *limit < SURELY_NONE)?;
        let given_back = controller.given_back.and_then(|(file, keys)| {
            let stat = own.read_text(format!("{folder}/{file}"))?;
            let mut lines = stat.lines().filter_map(|line| line.split_once(' '));
            let (_, bytes) = lines.find(|(key, _)| *key == keys[version])?;
            bytes.trim().parse::<u64>().ok()
        });
        let used = number(folder, controller.used[version]);
        let used = used.map(|used| used.saturating_sub(given_back.unwrap_or(0)));
        Some((Quota { limit, used }, folder))
    });
    match limits.min_by_key(|(quota, _)| quota.free()) {
        Some((quota, folder)) => Reading::known(
            format!("/{folder}/{}", controller.limit[version]),
            Some(quota),
        ),
        // The topmost group has no such file, and no limit.
        None => Reading::known(format!("/{}", folders[0]), None),
    }
}

fn cpus(own: &Sysfs, groups: &Reading<String>) -> Reading<Option<f64>> {
    let groups = match groups.told() {
        Ok(groups) => groups,
        Err(why) => return Reading::unknown("/proc/self/cgroup", why),
    };
    let Some((folders, version)) = folders(own, groups, "cpu") else {
        return Reading::unknown(format!("/{MOUNT}"), NOT_SHOWN);
    };
    let file = ["cpu.max", "cpu.cfs_quota_us"][version];
    // Microseconds of processor time in each period; `max` and -1 are no limit.
    let of = |folder: &String| -> Option<f64> {
        let text = own.read_text(format!("{folder}/{file}"))?;
        let (quota, period) = if version == 0 {
            let (quota, period) = text.split_once(' ')?;
            (quota.to_owned(), period.to_owned())
        } else {
            (text, own.read_text(format!("{folder}/cpu.cfs_period_us"))?)
        };
        let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
        (quota > 0.0 && period > 0.0).then(|| quota / period)
    };
    let tightest = folders
        .iter()
        .filter_map(|folder| Some((of(folder)?, folder)))
        .min_by(|(a, _), (b, _)| a.total_cmp(b));
    match tightest {
        Some((cpus, folder)) => Reading::known(format!("/{folder}/{file}"), Some(cpus)),
        None => Reading::known(format!("/{}/{file}", folders[0]), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn memory_that_files_hold_and_give_back_is_not_counted_as_used() {
        let root = std::env::temp_dir().join(format!("doctor-cgroup-{}", std::process::id()));
        let group = root.join("sys/fs/cgroup/box");
        fs::create_dir_all(&group).unwrap();
        fs::create_dir_all(root.join("proc/self")).unwrap();
        for (file, text) in [
            ("proc/self/cgroup", "0::/box\n"),
            ("sys/fs/cgroup/cgroup.controllers", "memory pids\n"),
            ("sys/fs/cgroup/box/memory.max", "2000\n"),
            ("sys/fs/cgroup/box/memory.current", "1500\n"),
            (
                "sys/fs/cgroup/box/memory.stat",
                "anon 400\ninactive_file 1000\nactive_file 100\n",
            ),
        ] {
            fs::write(root.join(file), text).unwrap();
        }
        let read = Cgroup::read(&Sysfs::at(&root));
        fs::remove_dir_all(&root).unwrap();
        // 1500 used, of which 1000 are given back: 2000 - 500.
        let quota = read.memory.told().unwrap().unwrap();
        assert_eq!((quota.used, quota.free()), (Some(500), 1500));
        // No file of tasks is there, so there is no limit.
        assert_eq!(*read.tasks.told().unwrap(), None);
    }
}
