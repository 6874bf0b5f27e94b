//! `--per-rank`: a process beside the program that moves those of its processes which opened GPUs to the nodes of these.
//!
//! It sees who opened a GPU and not who computes on it: a process that opens all GPUs before it takes one has all of them. A file
//! that all GPUs share (`/dev/nvidiactl`, `/dev/kfd`, `/dev/mxcd`) tells nothing and is not looked for.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ::numa::{move_process_memory, pin_process};
use anyhow::Context;
use program::{Stop, say};
use record::exit;
use runner::child::die_with_parent;
use rustix::process::Pid;
use topology::{Machine, PciAddress, Sysfs, nvidia_files};

use super::nodes::{binding, joined};

/// Time between two looks; a worker loads its model for longer after it opened its GPU.
const LOOK: Duration = Duration::from_millis(500);

/// Follows a program that is this process's parent, and was given memory of these nodes, until it ends.
pub(super) fn run(program: u32, given: &[u32]) -> Result<u8, Stop> {
    // A program that has ended already has no workers to move.
    if die_with_parent(program).is_err() {
        return Ok(exit::DONE);
    }
    let sysfs = Sysfs::real();
    let machine = Machine::read(&sysfs).context("reading sysfs")?;
    let files = files(&sysfs);
    let top = i32::try_from(program).ok().and_then(Pid::from_raw);
    let Some(top) = top.filter(|_| !files.is_empty()) else {
        say!(
            "numa exec: --per-rank moves nobody: none of /dev/nvidiaN, /dev/nvidia-caps/nvidia-capN (MIG) and \
             /dev/dri/renderDN (AMD, MetaX) is known here"
        );
        return Ok(exit::DONE);
    };
    let mut known: BTreeMap<(u32, u64), BTreeSet<PciAddress>> = BTreeMap::new();
    loop {
        let below = runner::processes::below(top).into_iter();
        let below = below.map(|one| (one.id.as_raw_nonzero().get().unsigned_abs(), one.started));
        for process in std::iter::once((program, 0)).chain(below) {
            let gpus = opened(&sysfs, &files, process.0);
            let before = known.entry(process).or_default();
            if !gpus.is_subset(before) {
                before.extend(gpus);
                moved(&machine, process.0, before, given);
            }
        }
        std::thread::sleep(LOOK);
    }
}

/// The device files of GPUs by their names.
fn files(sysfs: &Sysfs) -> BTreeMap<String, PciAddress> {
    let mut files = nvidia_files(sysfs);
    for name in sysfs.names("sys/class/drm") {
        let device = sysfs.canonical(format!("sys/class/drm/{name}/device"));
        let address = device
            .as_deref()
            .and_then(|device| device.file_name()?.to_str()?.parse().ok());
        if let Some(address) = address.filter(|_| name.starts_with("renderD")) {
            files.insert(name, address);
        }
    }
    files
}

/// The GPUs that a process has open.
fn opened(sysfs: &Sysfs, files: &BTreeMap<String, PciAddress>, pid: u32) -> BTreeSet<PciAddress> {
    let folder = format!("proc/{pid}/fd");
    let open = sysfs.names(&folder).into_iter();
    open.filter_map(|file| sysfs.link_name(format!("{folder}/{file}")))
        .filter_map(|name| files.get(&name).copied())
        .collect()
}

/// Moves a process and its memory to the nodes of its GPUs, and says so or what was refused.
///
/// The kernel keeps a process's policy, so that it only gets memory of nodes that the program was given.
fn moved(machine: &Machine, pid: u32, gpus: &BTreeSet<PciAddress>, given: &[u32]) {
    let nodes = gpus.iter().map(|gpu| machine.gpu(*gpu)?.node);
    let nodes: Vec<Option<u32>> = nodes.collect();
    let list: Vec<String> = gpus.iter().map(ToString::to_string).collect();
    let tell = |what: &str| say!("numa exec: process {pid} with {}: {what}", list.join(", "));
    let Some(binding) = binding(&nodes, machine) else {
        return tell("the kernel gives no node for its GPUs; it stays on those of the program");
    };
    let (memory, others): (Vec<u32>, Vec<u32>) = machine
        .nodes
        .iter()
        .map(|node| node.id)
        .partition(|node| binding.memory_nodes.contains(node) && given.contains(node));
    if memory.is_empty() {
        return tell(&format!(
            "its GPUs are on nodes {}, the program was given {}; it stays there, name its GPUs with --gpus",
            joined(&binding.memory_nodes, ", "),
            joined(given, ", ")
        ));
    }
    let own = machine.nodes.iter();
    let own = own.filter(|node| binding.cpu_nodes.contains(&node.id));
    let cpus: Vec<usize> = own.flat_map(|node| node.cpus.iter()).collect();
    match pin_process(pid, &cpus) {
        Ok(_) => tell(&format!("moved to nodes {}", joined(&memory, ", "))),
        Err(error) => tell(&format!("NOT BOUND: {error}")),
    }
    if !others.is_empty() {
        match move_process_memory(pid, &others, &memory) {
            Ok(0) => {}
            Ok(left) => tell(&format!("{left} pages could not be moved to its nodes")),
            Err(error) => tell(&format!("NOT BOUND: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn open_device_files_lead_to_their_gpus() {
        let root = std::env::temp_dir().join(format!("p2p-bw-follow-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        // Minor numbers need not follow the order of addresses.
        for (address, minor) in [("0000:21:00.0", 1), ("0000:61:00.0", 0)] {
            write(
                &format!("proc/driver/nvidia/gpus/{address}/information"),
                &format!("Model: \t\t X\nDevice Minor: \t {minor}\n"),
            );
        }
        let mig = "proc/driver/nvidia/capabilities/gpu1/mig/gi2/ci0/access";
        write(mig, "DeviceFileMinor: 22\n");
        write("sys/devices/pci0000:40/0000:43:00.0/vendor", "0x1002\n");
        write("sys/class/drm/renderD128/name", "");
        symlink(
            "../../../devices/pci0000:40/0000:43:00.0",
            root.join("sys/class/drm/renderD128/device"),
        )
        .unwrap();
        let sysfs = Sysfs::at(&root);
        let files = files(&sysfs);
        for (pid, file, expected) in [
            (10, "/dev/nvidia0", Some("0000:61:00.0")),
            (11, "/dev/nvidia-caps/nvidia-cap22", Some("0000:21:00.0")),
            (12, "/dev/dri/renderD128", Some("0000:43:00.0")),
            (13, "/dev/nvidiactl", None),
        ] {
            let folder = root.join(format!("proc/{pid}/fd"));
            std::fs::create_dir_all(&folder).unwrap();
            symlink(file, folder.join("3")).unwrap();
            let gpus = opened(&sysfs, &files, pid).into_iter();
            let gpus: Vec<String> = gpus.map(|gpu| gpu.to_string()).collect();
            assert_eq!(gpus, Vec::from_iter(expected), "{file}");
        }
        std::fs::remove_dir_all(&root).unwrap();
    }
}
