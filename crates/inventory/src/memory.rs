//! How much host memory is left: asking for more ends in the kernel's out-of-memory killer.

use topology::Sysfs;

/// What the kernel and the control group leave, in bytes.
#[must_use]
pub fn host_memory_available(sysfs: &Sysfs) -> Option<u64> {
    let meminfo = sysfs.read_text("proc/meminfo")?;
    let kib = field(&meminfo, "MemAvailable:")?;
    Some(group_leaves(sysfs).map_or(kib << 10, |left| left.min(kib << 10)))
}

/// Files of a control group's limit and use, and the names of its page cache in `memory.stat`.
const VERSION_2: [&str; 4] = [
    "memory.max",
    "memory.current",
    "inactive_file",
    "active_file",
];
const VERSION_1: [&str; 4] = [
    "memory.limit_in_bytes",
    "memory.usage_in_bytes",
    "total_inactive_file",
    "total_active_file",
];

/// What this process's control group leaves (version 2, else 1 as a container sees it); page cache counts as free, since
/// the kernel takes it back. A limit of `max` is no number, and then the machine's memory is the limit.
fn group_leaves(sysfs: &Sysfs) -> Option<u64> {
    let own = sysfs.read_text("proc/self/cgroup").unwrap_or_default();
    let own = own
        .lines()
        .find_map(|line| line.strip_prefix("0::/"))
        .unwrap_or_default()
        .to_owned();
    let folders = [
        (format!("sys/fs/cgroup/{own}"), VERSION_2),
        ("sys/fs/cgroup".to_owned(), VERSION_2),
        ("sys/fs/cgroup/memory".to_owned(), VERSION_1),
    ];
    folders.iter().find_map(|(folder, files)| {
        let [limit, used, cache @ ..] = files;
        let number = |file: &str| {
            sysfs
                .read_text(format!("{folder}/{file}"))?
                .trim()
                .parse::<u64>()
                .ok()
        };
        let limit = number(limit)?;
        let stat = sysfs
            .read_text(format!("{folder}/memory.stat"))
            .unwrap_or_default();
        let cached: u64 = cache.iter().filter_map(|name| field(&stat, name)).sum();
        Some(limit.saturating_sub(number(used).unwrap_or(0).saturating_sub(cached)))
    })
}

/// The number after a name at the beginning of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some(name)).then(|| words.next()?.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_cache_of_a_control_group_counts_as_free() {
        let root = std::env::temp_dir().join(format!("tplens-memory-{}", std::process::id()));
        let group = root.join("sys/fs/cgroup");
        std::fs::create_dir_all(&group).unwrap();
        std::fs::create_dir_all(root.join("proc")).unwrap();
        std::fs::write(root.join("proc/meminfo"), "MemAvailable:   20000000 kB\n").unwrap();
        std::fs::write(group.join("memory.max"), "8000000000\n").unwrap();
        std::fs::write(group.join("memory.current"), "7900000000\n").unwrap();
        std::fs::write(
            group.join("memory.stat"),
            "anon 1\ninactive_file 7000000000\nactive_file 400000000\n",
        )
        .unwrap();
        // 8.0e9 - (7.9e9 - 7.4e9) = 7.5e9, less than the machine's 20.48e9.
        assert_eq!(
            host_memory_available(&Sysfs::at(&root)),
            Some(7_500_000_000)
        );
        std::fs::write(group.join("memory.max"), "max\n").unwrap();
        assert_eq!(
            host_memory_available(&Sysfs::at(&root)),
            Some(20_000_000 << 10)
        );
        std::fs::remove_dir_all(root).unwrap();
    }
}
