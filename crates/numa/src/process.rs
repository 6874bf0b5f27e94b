//! Where a process is: CPUs and nodes that its threads may use, where they ran last, and the nodes of its memory.
//!
//! Read from procfs, whose folder is given, so that a test has its own; nothing is changed. Memory that a driver maps itself,
//! such as what CUDA pins, has no pages that the kernel counts for the process and is missing here.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::error::NumaError;
use crate::list::numbers;

/// One thread of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadPlace {
    /// The thread's number.
    pub id: u32,
    /// CPUs it may run on.
    pub cpus_allowed: Vec<usize>,
    /// Nodes it may take memory from (its cpuset; a memory policy narrows this further).
    pub nodes_allowed: Vec<u32>,
    /// CPU it ran on last; `None` where it ended meanwhile.
    pub last_cpu: Option<usize>,
}

/// Where the memory of a process is, in bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessMemory {
    /// What it has made: anonymous, shared and huge pages, and what it wrote of files, on each node.
    pub own: BTreeMap<u32, u64>,
    /// Pages of files that it maps and has not written, on each node. Whoever read a file first decides where these are.
    pub files: BTreeMap<u32, u64>,
    /// What of `own` is in reserved huge pages, on each node.
    pub huge: BTreeMap<u32, u64>,
}

impl ProcessMemory {
    /// The part of its own memory that is on some nodes, 0 to 1; `None` where it has none.
    pub fn fraction_on(&self, nodes: &[u32]) -> Option<f64> {
        let all: u64 = self.own.values().sum();
        let there: u64 = nodes.iter().filter_map(|node| self.own.get(node)).sum();
        (all > 0).then(|| there as f64 / all as f64)
    }
}

/// The nodes that this process may take memory from, from `Mems_allowed_list` of `/proc/self/status`.
///
/// # Errors
/// [`NumaError::Unreadable`]: there is no such line, as on a kernel without cpusets.
pub fn allowed_nodes() -> Result<Vec<u32>, NumaError> {
    let path = Path::new("/proc/self/status");
    let text = read(path)?;
    status_list(&text, "Mems_allowed_list").ok_or_else(|| {
        let reason = "no Mems_allowed_list (the kernel may lack CONFIG_CPUSETS)";
        unreadable(path, reason)
    })
}

/// The threads of a process; `proc` is the folder of procfs.
///
/// # Errors
/// [`NumaError::Unreadable`]: the process has ended or is hidden. A thread that ends meanwhile is left out.
pub fn threads(proc: &Path, pid: u32) -> Result<Vec<ThreadPlace>, NumaError> {
    let of_thread = |id: u32| {
        let folder = proc.join(format!("{pid}/task/{id}"));
        let status = fs::read_to_string(folder.join("status")).ok()?;
        let stat = fs::read_to_string(folder.join("stat")).ok();
        Some(ThreadPlace {
            id,
            cpus_allowed: status_list(&status, "Cpus_allowed_list")?,
            nodes_allowed: status_list(&status, "Mems_allowed_list").unwrap_or_default(),
            last_cpu: stat.as_deref().and_then(last_cpu),
        })
    };
    let ids = thread_ids(proc, pid)?;
    Ok(ids.into_iter().filter_map(of_thread).collect())
}

/// The numbers of a process's threads, smallest first.
pub(crate) fn thread_ids(proc: &Path, pid: u32) -> Result<Vec<u32>, NumaError> {
    let folder = proc.join(format!("{pid}/task"));
    let entries = fs::read_dir(&folder).map_err(|error| unreadable(&folder, &error.to_string()))?;
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    let mut ids: Vec<u32> = entries.flatten().filter_map(number).collect();
    ids.sort_unstable();
    Ok(ids)
}

/// Where a process's memory is, from `numa_maps`; `proc` is the folder of procfs.
///
/// The kernel walks the page tables of the process for it, which takes milliseconds for each GiB and holds up its mapping calls.
///
/// # Errors
/// [`NumaError::Unreadable`]: the process has ended, belongs to another user, or the kernel has no NUMA.
pub fn process_memory(proc: &Path, pid: u32) -> Result<ProcessMemory, NumaError> {
    let path = proc.join(format!("{pid}/numa_maps"));
    Ok(memory_of(&read(&path)?))
}

/// Sums `numa_maps`: `ADDRESS POLICY [file=PATH] [huge] [anon=N] N0=PAGES N1=PAGES kernelpagesize_kB=4`.
fn memory_of(numa_maps: &str) -> ProcessMemory {
    let mut memory = ProcessMemory::default();
    for line in numa_maps.lines() {
        let words = || line.split_ascii_whitespace().skip(2);
        let value = |name: &str| words().find_map(|word| word.strip_prefix(name));
        // Present since Linux 3.2; without it the size of a page is not known.
        let Some(page_kib) = value("kernelpagesize_kB=").and_then(|kib| kib.parse::<u64>().ok())
        else {
            continue;
        };
        let is_huge = words().any(|word| word == "huge");
        let of_file = value("file=").is_some_and(|path| !is_memory(path));
        let written: u64 = value("anon=")
            .and_then(|pages| pages.parse().ok())
            .unwrap_or(0);
        for word in words() {
            let Some((node, pages)) = word.strip_prefix('N').and_then(|rest| rest.split_once('='))
            else {
                continue;
            };
            let (Ok(node), Ok(pages)) = (node.parse::<u32>(), pages.parse::<u64>()) else {
                continue;
            };
            let bytes = pages.saturating_mul(page_kib).saturating_mul(1024);
            let kind = if of_file && written == 0 {
                &mut memory.files
            } else {
                &mut memory.own
            };
            *kind.entry(node).or_default() += bytes;
            if is_huge {
                *memory.huge.entry(node).or_default() += bytes;
            }
        }
    }
    memory
}

/// Whether a mapped path is memory and not a file on a disk: shared memory of several kinds, and huge pages.
fn is_memory(path: &str) -> bool {
    const MEMORY: &[&str] = &[
        "/dev/shm/",
        "/dev/zero",
        "/dev/hugepages",
        "/memfd:",
        "/SYSV",
        "/anon_hugepage",
    ];
    MEMORY.iter().any(|memory| path.starts_with(memory))
}

/// A list of a status file.
fn status_list<T: TryFrom<u32> + Ord>(status: &str, name: &str) -> Option<Vec<T>> {
    let value = |line: &str| {
        Some(
            line.strip_prefix(name)?
                .strip_prefix(':')?
                .trim()
                .to_owned(),
        )
    };
    numbers(&status.lines().find_map(value)?)
}

/// Field 39 of `stat` (proc(5)); the name in field 2 may hold anything, parentheses among it.
fn last_cpu(stat: &str) -> Option<usize> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name
        .split_ascii_whitespace()
        .nth(39 - 3)?
        .parse()
        .ok()
}

fn read(path: &Path) -> Result<String, NumaError> {
    let bytes = fs::read(path).map_err(|error| unreadable(path, &error.to_string()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn unreadable(path: &Path, reason: &str) -> NumaError {
    NumaError::Unreadable {
        path: path.display().to_string(),
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_count_by_node_size_and_what_they_are() {
        let memory = memory_of(
            "55 default file=/usr/bin/x mapped=6 mapmax=2 N0=2 N1=4 kernelpagesize_kB=4\n\
             56 default file=/usr/bin/x anon=1 dirty=1 N1=3 kernelpagesize_kB=4\n\
             57 bind:1 heap anon=10 dirty=10 active=0 N1=10 kernelpagesize_kB=4\n\
             58 default file=/dev/shm/nccl-1 mapped=5 N0=5 kernelpagesize_kB=4\n\
             59 bind:0 file=/anon_hugepage\\040(deleted) huge anon=2 dirty=2 N0=2 kernelpagesize_kB=2048\n\
             60 default\n",
        );
        // Own: node 0 has 5 * 4 KiB + 2 * 2 MiB, node 1 has (3 + 10) * 4 KiB.
        assert_eq!(
            memory.own,
            BTreeMap::from([(0, 20_480 + 4_194_304), (1, 53_248)])
        );
        // Files: 2 and 4 pages of 4 KiB.
        assert_eq!(memory.files, BTreeMap::from([(0, 8_192), (1, 16_384)]));
        assert_eq!(memory.huge, BTreeMap::from([(0, 4_194_304)]));
        // 53248 / (4214784 + 53248) = 0.012476.
        let fraction = memory.fraction_on(&[1]).unwrap();
        assert!((fraction - 0.012_476).abs() < 1e-6, "{fraction}");
        assert_eq!(memory.fraction_on(&[0, 1]), Some(1.0));
        assert_eq!(ProcessMemory::default().fraction_on(&[0]), None);
    }

    #[test]
    fn garbage_is_no_memory() {
        let memory = memory_of("a b N0=1\n55 default Nx=4 N1=y kernelpagesize_kB=4\n\n\u{0}\n");
        assert_eq!(memory, ProcessMemory::default());
    }

    #[test]
    fn the_last_cpu_is_field_39_whatever_the_name_holds() {
        // 3 is the state; 36 fields follow up to field 39.
        let fields: Vec<String> = (4..=52).map(|field| field.to_string()).collect();
        let stat = format!("12 (a) b (c) S {}\n", fields.join(" "));
        assert_eq!(last_cpu(&stat), Some(39));
        assert_eq!(last_cpu("12 (x) S 1"), None);
    }
}
