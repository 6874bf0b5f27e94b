//! Writes the sysfs and procfs files of a described box below a folder, so that what reads a machine's topology can read
//! the box instead. It reads none of the running machine's files, and writes only what is listed here: PCI functions, links,
//! NUMA nodes, CPUs, boot id, cpuinfo; in `gpus` the windows and what AMD's driver shows, in `isolation` ACS and IOMMU groups;
//! in `mx_smi` that program, in `nics` network cards. Interrupts and drivers are not shown, of config space only what says how peer requests go.

mod gpus;
mod isolation;
mod link_errors;
mod mx_smi;
mod nics;

pub use link_errors::{count_link_errors, show_link_errors};

use crate::model::Function;
use crate::{BoxError, BoxFile, Link, cpulist};
use std::fs;
use std::path::{Path, PathBuf};

/// The boot id of every generated tree (a version 4 UUID that says what it is).
pub const BOOT_ID: &str = "50f7b0c5-0000-4000-8000-000000000000";

/// Writes the whole tree below `root`, which is made where it is missing; what is there already is replaced file by file.
///
/// Devices that have an `idle_link` show it at both ends of the slot until a driver opens them.
///
/// # Errors
/// [`BoxError::Io`] with the path.
pub fn write_tree(described: &BoxFile, root: &Path) -> Result<(), BoxError> {
    write_cpus(described, root)?;
    write_nodes(described, root)?;
    for function in described.functions() {
        write_function(described, root, &function)?;
    }
    gpus::write(described, root)?;
    nics::write(described, root)?;
    isolation::write(described, root)?;
    mx_smi::write(described, root)?;
    for (index, device) in described.device.iter().enumerate() {
        if let Some(idle) = device.idle_link {
            set_slot_link(described, root, index, idle)?;
        }
    }
    Ok(())
}

/// Shows `link` as the current link at both ends of the device's slot in a tree that [`write_tree`] made.
///
/// A function that has no link files (a guest) gets none. Files are replaced whole, so a reader sees the old or the new text.
///
/// # Errors
/// [`BoxError::Io`] with the path.
pub fn set_slot_link(
    described: &BoxFile,
    root: &Path,
    device: usize,
    link: Link,
) -> Result<(), BoxError> {
    for address in described.slot_ends(device) {
        let folder = root.join("sys/bus/pci/devices").join(address);
        if folder.join("current_link_width").exists() {
            replace(&folder.join("current_link_speed"), &link.sysfs_speed())?;
            replace(&folder.join("current_link_width"), &link.width.to_string())?;
        }
    }
    Ok(())
}

/// Makes the config space of a function all ones, as it reads where nothing answers.
///
/// # Errors
/// The tree cannot be written.
pub fn take_off_the_bus(root: &Path, address: &str) -> Result<(), BoxError> {
    let path = config_of(root, address);
    fs::write(&path, [0xff; 64]).map_err(at(&path))
}

/// Whether the config space of a function reads as all ones.
#[must_use]
pub fn is_off_the_bus(root: &Path, address: &str) -> bool {
    fs::read(config_of(root, address)).is_ok_and(|config| config.starts_with(&[0xff; 4]))
}

fn config_of(root: &Path, address: &str) -> PathBuf {
    let functions = root.join("sys/bus/pci/devices");
    functions.join(address).join("config")
}

/// The current link that a tree shows at one function; `None` where it shows none.
#[must_use]
pub fn current_link(root: &Path, address: &str) -> Option<Link> {
    let folder = root.join("sys/bus/pci/devices").join(address);
    let text = |file: &str| fs::read_to_string(folder.join(file)).ok();
    Link::from_sysfs(&text("current_link_speed")?, &text("current_link_width")?)
}

fn write_function(
    described: &BoxFile,
    root: &Path,
    function: &Function<'_>,
) -> Result<(), BoxError> {
    let below = below(described, function.address)?;
    let folder = root.join("sys/devices").join(&below);
    let (vendor, device) = function
        .pci_id
        .split_once(':')
        .unwrap_or((function.pci_id, ""));
    let node = function
        .node
        .map_or("-1".to_owned(), |node| node.to_string());
    for (file, text) in [
        ("vendor", format!("0x{vendor}")),
        ("device", format!("0x{device}")),
        ("class", format!("0x{}", function.class)),
        ("numa_node", node),
        ("local_cpulist", cpus_of(described, function.node)),
    ] {
        put(&folder.join(file), &text)?;
    }
    for (link, kind) in [(function.link, "current"), (function.maximum, "max")] {
        if let Some(link) = link {
            let (speed, width) = (link.sysfs_speed(), link.width.to_string());
            put(&folder.join(format!("{kind}_link_speed")), &speed)?;
            put(&folder.join(format!("{kind}_link_width")), &width)?;
        }
    }
    let target = Path::new("../../../devices").join(&below);
    link(
        &target,
        &root.join("sys/bus/pci/devices").join(function.address),
    )
}

/// The folder of a function below `sys/devices`.
fn below(described: &BoxFile, address: &str) -> Result<PathBuf, BoxError> {
    let Some((pci_root, chain)) = described.ancestors(address) else {
        let source = std::io::Error::other("its ports form a ring; check the box with validate");
        return Err(BoxError::Io {
            path: address.to_owned(),
            source,
        });
    };
    Ok([pci_root].into_iter().chain(chain).collect())
}

fn write_nodes(described: &BoxFile, root: &Path) -> Result<(), BoxError> {
    let folder = root.join("sys/devices/system/node");
    let mut ids: Vec<u32> = described.node.iter().map(|node| node.id).collect();
    ids.sort_unstable();
    put(&folder.join("online"), &cpulist::format(&ids))?;
    put(&folder.join("possible"), &cpulist::format(&ids))?;
    for node in &described.node {
        let own = folder.join(format!("node{}", node.id));
        put(&own.join("cpulist"), &node.cpus)?;
        let distances: Vec<String> = node.distances.iter().map(u32::to_string).collect();
        put(&own.join("distance"), &distances.join(" "))?;
        let kib = node.memory_gib * 1024 * 1024;
        let id = node.id;
        put(
            &own.join("meminfo"),
            &format!("Node {id} MemTotal:       {kib} kB\nNode {id} MemFree:        {kib} kB"),
        )?;
    }
    Ok(())
}

fn write_cpus(described: &BoxFile, root: &Path) -> Result<(), BoxError> {
    let all = cpus_of(described, None);
    let folder = root.join("sys/devices/system/cpu");
    put(&folder.join("online"), &all)?;
    put(&folder.join("possible"), &all)?;
    if let Some(kib) = described.last_level_cache_kib {
        let cache = folder.join("cpu0/cache/index3");
        put(&cache.join("level"), "3")?;
        put(&cache.join("type"), "Unified")?;
        put(&cache.join("size"), &format!("{kib}K"))?;
    }
    put(&root.join("proc/sys/kernel/random/boot_id"), BOOT_ID)?;
    let flags = if described.guest {
        "fpu sse2 hypervisor"
    } else {
        "fpu sse2"
    };
    let model = &described.cpu_model;
    let blocks: Vec<String> = cpulist::parse(&all)
        .unwrap_or_default()
        .iter()
        .map(|cpu| format!("processor\t: {cpu}\nmodel name\t: {model}\nflags\t\t: {flags}\n"))
        .collect();
    put(&root.join("proc/cpuinfo"), &blocks.join("\n"))
}

/// The CPUs of a node, or of all nodes where the node is not known, as a kernel list.
fn cpus_of(described: &BoxFile, node: Option<u32>) -> String {
    let mut cpus: Vec<u32> = described
        .node
        .iter()
        .filter(|entry| node.is_none_or(|node| entry.id == node))
        .flat_map(|entry| cpulist::parse(&entry.cpus).unwrap_or_default())
        .collect();
    cpus.sort_unstable();
    cpulist::format(&cpus)
}

fn at(path: &Path) -> impl FnOnce(std::io::Error) -> BoxError {
    let path = path.display().to_string();
    |source| BoxError::Io { path, source }
}

fn make_folder(path: &Path) -> Result<(), BoxError> {
    fs::create_dir_all(path).map_err(at(path))
}

fn put(path: &Path, line: &str) -> Result<(), BoxError> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    fs::write(path, format!("{line}\n")).map_err(at(path))
}

/// Makes a link of this name, in place of one that is there already.
fn link(target: &Path, name: &Path) -> Result<(), BoxError> {
    if let Some(folder) = name.parent() {
        make_folder(folder)?;
    }
    if fs::symlink_metadata(name).is_ok() {
        fs::remove_file(name).map_err(at(name))?;
    }
    std::os::unix::fs::symlink(target, name).map_err(at(name))
}

fn replace(path: &Path, line: &str) -> Result<(), BoxError> {
    let new = path.with_extension(format!("new{}", std::process::id()));
    put(&new, line)?;
    fs::rename(&new, path).map_err(at(path))
}
