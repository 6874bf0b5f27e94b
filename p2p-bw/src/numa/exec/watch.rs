//! [`Watch`]: looks at the program's processes, moves those that opened GPUs to the nodes of these, and keeps where each was.

use std::collections::{BTreeMap, BTreeSet};

use ::numa::{NumaError, move_process_memory, pin_process, process_memory, threads};
use topology::{Machine, NumaNode, PciAddress, Sysfs};

use super::gpu_files::GpuFiles;
use super::report::{MemoryReport, ProcessReport};
use crate::numa::binding;

/// Processes under watch.
pub(super) struct Watch {
    /// The root that holds `proc`.
    processes: Sysfs,
    machine: Machine,
    files: GpuFiles,
    /// Nodes of a process that is not moved on its own: those of the program.
    cpu_nodes: Vec<u32>,
    memory_nodes: Vec<u32>,
    per_rank: bool,
    seen: BTreeMap<(u32, u64), ProcessReport>,
}

impl Watch {
    /// Begins to watch; `sysfs` tells the device files, `processes` holds `proc`.
    pub(super) fn new(
        processes: Sysfs,
        sysfs: &Sysfs,
        machine: &Machine,
        (cpu_nodes, memory_nodes): (&[u32], &[u32]),
        per_rank: bool,
    ) -> Self {
        Self {
            processes,
            machine: machine.clone(),
            files: GpuFiles::read(sysfs),
            cpu_nodes: cpu_nodes.to_vec(),
            memory_nodes: memory_nodes.to_vec(),
            per_rank,
            seen: BTreeMap::new(),
        }
    }

    /// Whether a GPU's device files are known, without which no process is found to use one.
    pub(super) fn knows_gpus(&self) -> bool {
        !self.files.is_empty()
    }

    /// Looks at processes, by number and beginning, and at their memory where `memory` says so.
    ///
    /// A process that has opened another set of GPUs since the last look is moved first.
    pub(super) fn look(&mut self, processes: &[(u32, u64)], memory: bool) {
        for process in processes {
            self.look_at(*process, memory);
        }
    }

    /// What was seen, by process.
    pub(super) fn reports(&self) -> Vec<ProcessReport> {
        self.seen.values().cloned().collect()
    }

    fn look_at(&mut self, key: (u32, u64), memory: bool) {
        let pid = key.0;
        let command = self.processes.read_text(format!("proc/{pid}/comm"));
        let before = self.seen.get(&key).cloned();
        let mut report = before.unwrap_or_else(|| ProcessReport {
            pid,
            wanted_nodes: self.memory_nodes.clone(),
            ..ProcessReport::default()
        });
        report.command = command.unwrap_or(report.command);
        let gpus: BTreeSet<PciAddress> = self
            .files
            .opened(&self.processes, pid)
            .into_iter()
            .chain(report.gpus.iter().copied())
            .collect();
        if gpus.len() > report.gpus.len() {
            report.gpus = gpus.into_iter().collect();
            if self.per_rank {
                self.move_to_its_gpus(&mut report);
            }
        }
        let Some(places) = threads(&self.proc(), pid)
            .ok()
            .filter(|all| !all.is_empty())
        else {
            // It ended between the list and the look; what was seen before stays.
            return;
        };
        let allowed = places.iter().flat_map(|place| place.cpus_allowed.iter());
        report.cpus_allowed = allowed.copied().collect();
        if memory || report.memory.is_none() {
            self.remember_memory(&mut report);
        }
        self.seen.insert(key, report);
    }

    fn remember_memory(&self, report: &mut ProcessReport) {
        match process_memory(&self.proc(), report.pid) {
            Ok(memory) if !memory.own.is_empty() => {
                report.memory_unknown = None;
                report.memory = Some(MemoryReport {
                    on_wanted: memory.fraction_on(&report.wanted_nodes),
                    own_bytes: memory.own,
                });
            }
            // A process that is ending has no memory any more; what was seen before stays.
            Ok(_) => {}
            Err(error) if report.memory.is_none() => {
                report.memory_unknown = Some(error.to_string());
            }
            Err(_) => {}
        }
    }

    /// Pins a process to the CPUs of its GPUs' nodes and moves its memory there.
    ///
    /// Its memory policy stays that of the program, as no call changes another process's: among the nodes of that, it takes the one
    /// that it runs on.
    fn move_to_its_gpus(&self, report: &mut ProcessReport) {
        let node_of = |gpu: &PciAddress| self.machine.gpu(*gpu).and_then(|gpu| gpu.node);
        let nodes: Vec<Option<u32>> = report.gpus.iter().map(node_of).collect();
        report.not_bound.clear();
        let Some(binding) = binding::of(&nodes, &self.machine) else {
            let reason = "the kernel gives no node for its GPUs; it stays on those of the program";
            report.not_bound.push(reason.to_owned());
            return;
        };
        let on = |nodes: &[u32]| {
            let of_nodes = |node: &&NumaNode| nodes.contains(&node.id);
            let nodes = self.machine.nodes.iter().filter(of_nodes);
            nodes.flat_map(|node| node.cpus.iter()).collect::<Vec<_>>()
        };
        // What the program was not given, its parts do not get.
        let given = |nodes: &[u32], all: &[u32]| -> Vec<u32> {
            let mut nodes = nodes.to_vec();
            nodes.retain(|node| all.contains(node));
            nodes
        };
        let cpus: Vec<usize> = on(&given(&binding.cpu_nodes, &self.cpu_nodes));
        let memory = given(&binding.memory_nodes, &self.memory_nodes);
        if cpus.is_empty() || memory.is_empty() {
            report.not_bound.push(format!(
                "its GPUs are on nodes {:?}, the program was given {:?}; it stays there, name its GPUs with --gpus",
                binding.memory_nodes, self.memory_nodes
            ));
            report.wanted_nodes.clone_from(&self.memory_nodes);
            return;
        }
        report.wanted_nodes.clone_from(&memory);
        let mut refused = |error: NumaError| report.not_bound.push(error.to_string());
        match pin_process(&self.proc(), report.pid, &cpus) {
            Ok(_) => report.moved = true,
            Err(error) => refused(error),
        }
        let others = self.machine.nodes.iter().map(|node| node.id);
        let others: Vec<u32> = others.filter(|node| !memory.contains(node)).collect();
        if others.is_empty() {
            return;
        }
        match move_process_memory(report.pid, &others, &memory) {
            Ok(0) => {}
            Ok(left) => report
                .not_bound
                .push(format!("{left} pages could not be moved to its nodes")),
            Err(error) => refused(error),
        }
    }

    fn proc(&self) -> std::path::PathBuf {
        self.processes.root().join("proc")
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::unix::fs::symlink;
    use std::path::{Path, PathBuf};
    use std::process::{Child, Command, Stdio};

    use boxfile::BoxFile;
    use topology::CpuSet;

    use super::*;

    /// A real process that runs until it is dropped.
    struct Running(Child);

    impl Running {
        fn start() -> Self {
            let mut command = Command::new("cat");
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().unwrap();
            // What comes back shows that it runs its own program.
            child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
            child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
            Self(child)
        }
    }

    impl Drop for Running {
        fn drop(&mut self) {
            drop(self.0.kill());
            drop(self.0.wait());
        }
    }

    struct Tree(PathBuf);

    impl Tree {
        fn new(name: &str) -> Self {
            let name = format!("p2p-bw-watch-{name}-{}", std::process::id());
            let root = std::env::temp_dir().join(name);
            boxfile::sysfs::write_tree(&BoxFile::builtin("l40x4").unwrap(), &root).unwrap();
            Self(root)
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            drop(std::fs::remove_dir_all(&self.0));
        }
    }

    /// A copy of what the kernel says of a process, with a device file open.
    fn copy(tree: &Tree, pid: u32, file: &str) {
        let real = |path: &str| std::fs::read_to_string(Path::new("/proc").join(path)).unwrap();
        let stat = real(&format!("{pid}/stat"));
        tree.write(&format!("proc/{pid}/comm"), "worker\n");
        tree.write(&format!("proc/{pid}/task/{pid}/stat"), &stat);
        let status = real(&format!("{pid}/status"));
        tree.write(&format!("proc/{pid}/task/{pid}/status"), &status);
        tree.write(
            &format!("proc/{pid}/numa_maps"),
            "7f default heap anon=3 N0=1 N1=2 kernelpagesize_kB=4\n",
        );
        let folder = tree.0.join(format!("proc/{pid}/fd"));
        std::fs::create_dir_all(&folder).unwrap();
        symlink(file, folder.join("3")).unwrap();
    }

    #[test]
    fn a_worker_is_pinned_to_the_cpus_of_its_gpus_node() {
        let tree = Tree::new("rank");
        let allowed = ::numa::allowed_cpus().unwrap();
        let last = *allowed.last().unwrap();
        // The last of this machine's CPUs is made that of node 1, all others of node 0.
        let others: CpuSet = allowed.iter().copied().filter(|cpu| *cpu != last).collect();
        tree.write("sys/devices/system/node/node0/cpulist", &others.to_string());
        tree.write("sys/devices/system/node/node1/cpulist", &last.to_string());
        let sysfs = Sysfs::at(&tree.0);
        let machine = Machine::read(&sysfs).unwrap();
        let gpu = machine.gpus.iter().find(|gpu| gpu.node == Some(1)).unwrap();
        let information = format!("proc/driver/nvidia/gpus/{}/information", gpu.address);
        tree.write(&information, "Device Minor: \t 2\n");
        let worker = Running::start();
        let pid = worker.0.id();
        copy(&tree, pid, "/dev/nvidia2");

        let mut watch = Watch::new(sysfs.clone(), &sysfs, &machine, (&[0, 1], &[0, 1]), true);
        assert!(watch.knows_gpus());
        watch.look(&[(pid, 1)], true);
        let [report] = &watch.reports()[..] else {
            panic!("one process was expected");
        };
        assert_eq!((report.pid, report.command.as_str()), (pid, "worker"));
        assert_eq!(report.gpus, [gpu.address]);
        assert_eq!(report.wanted_nodes, [1]);
        // The kernel's own word, not that of the tree.
        let places = threads(Path::new("/proc"), pid).unwrap();
        // Whether this test may pin and move another process is asked of the kernel, after the look.
        let real = Path::new("/proc");
        let said = report.not_bound.join("; ");
        let granted = pin_process(real, pid, &[last]).is_ok();
        assert_eq!(report.moved, granted, "{said}");
        assert_eq!(said.contains("sched_setaffinity"), !granted, "{said}");
        let expected = if granted { vec![last] } else { allowed };
        assert_eq!(places[0].cpus_allowed, expected);
        // Two of three pages are on node 1.
        let memory = report.memory.as_ref().unwrap();
        assert_eq!(memory.own_bytes, BTreeMap::from([(0, 4096), (1, 8192)]));
        assert!((memory.on_wanted.unwrap() - 2.0 / 3.0).abs() < 1e-12);
        // This machine may have no node 1 to move pages to; then that is said.
        let granted = move_process_memory(pid, &[0], &[1]).is_ok();
        assert_eq!(said.contains("migrate_pages"), !granted, "{said}");
    }

    #[test]
    fn a_worker_whose_gpu_is_outside_of_what_was_given_stays_and_that_is_said() {
        let tree = Tree::new("outside");
        let sysfs = Sysfs::at(&tree.0);
        let machine = Machine::read(&sysfs).unwrap();
        let gpu = machine.gpus.iter().find(|gpu| gpu.node == Some(1)).unwrap();
        let information = format!("proc/driver/nvidia/gpus/{}/information", gpu.address);
        tree.write(&information, "Device Minor: \t 2\n");
        let worker = Running::start();
        let pid = worker.0.id();
        copy(&tree, pid, "/dev/nvidia2");
        let mut watch = Watch::new(sysfs.clone(), &sysfs, &machine, (&[0], &[0]), true);
        watch.look(&[(pid, 1)], true);
        let reports = watch.reports();
        assert_eq!(
            (&reports[0].wanted_nodes[..], reports[0].moved),
            (&[0][..], false)
        );
        let [said] = &reports[0].not_bound[..] else {
            panic!("{:?}", reports[0].not_bound);
        };
        assert!(
            said.contains("on nodes [1]") && said.contains("--gpus"),
            "{said}"
        );
        let places = threads(Path::new("/proc"), pid).unwrap();
        assert_eq!(places[0].cpus_allowed, ::numa::allowed_cpus().unwrap());
    }

    #[test]
    fn without_per_rank_nobody_is_moved() {
        let tree = Tree::new("all");
        let sysfs = Sysfs::at(&tree.0);
        let machine = Machine::read(&sysfs).unwrap();
        let address = machine.gpus[0].address;
        let information = format!("proc/driver/nvidia/gpus/{address}/information");
        tree.write(&information, "Device Minor: \t 0\n");
        let worker = Running::start();
        let pid = worker.0.id();
        copy(&tree, pid, "/dev/nvidia0");
        let mut watch = Watch::new(sysfs.clone(), &sysfs, &machine, (&[0, 1], &[0, 1]), false);
        watch.look(&[(pid, 1)], true);
        let reports = watch.reports();
        assert_eq!(
            (&reports[0].gpus[..], reports[0].moved),
            (&[address][..], false)
        );
        assert_eq!(reports[0].wanted_nodes, [0, 1]);
        assert_eq!(reports[0].memory.as_ref().unwrap().on_wanted, Some(1.0));
    }
}
