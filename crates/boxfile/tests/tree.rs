//! The generated sysfs tree: what files hold and where links lead. Reading it as a machine is tested in `topology`.

use boxfile::{BoxFile, Link, builtin_names, sysfs};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder of this test's own, removed when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("boxfile-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("temporary folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn text(root: &Path, path: &str) -> String {
    fs::read_to_string(root.join(path))
        .unwrap_or_else(|error| panic!("{path}: {error}"))
        .trim_end()
        .to_owned()
}

fn tree(name: &str) -> (BoxFile, Folder) {
    let described = BoxFile::builtin(name).expect("built in");
    let folder = Folder::new(name);
    sysfs::write_tree(&described, &folder.0).expect("written");
    (described, folder)
}

#[test]
fn the_l40_tree_has_bridges_nodes_and_links() {
    let (described, folder) = tree("l40x4");
    let root = &folder.0;
    let gpu = "sys/bus/pci/devices/0000:61:00.0";
    let real = fs::canonicalize(root.join(gpu)).expect("the link leads somewhere");
    let wanted = fs::canonicalize(root)
        .expect("root")
        .join("sys/devices/pci0000:60/0000:60:01.1/0000:61:00.0");
    assert_eq!(real, wanted);
    assert_eq!(text(root, &format!("{gpu}/vendor")), "0x10de");
    assert_eq!(text(root, &format!("{gpu}/class")), "0x030200");
    assert_eq!(text(root, &format!("{gpu}/numa_node")), "0");
    assert_eq!(text(root, &format!("{gpu}/local_cpulist")), "0-127,256-383");
    assert_eq!(
        text(root, &format!("{gpu}/max_link_speed")),
        "16.0 GT/s PCIe"
    );
    assert_eq!(
        text(root, "sys/devices/system/node/node1/cpulist"),
        "128-255,384-511"
    );
    assert_eq!(text(root, "sys/devices/system/node/online"), "0-1");
    assert_eq!(text(root, "sys/devices/system/cpu/online"), "0-511");
    assert!(!text(root, "proc/cpuinfo").contains("hypervisor"));
    // Device 1 idles at Gen1: 2.5 GT/s, at both ends of its slot; device 0 is busy and does not.
    assert_eq!(
        text(root, &format!("{gpu}/current_link_speed")),
        "2.5 GT/s PCIe"
    );
    assert_eq!(
        text(root, "sys/bus/pci/devices/0000:60:01.1/current_link_speed"),
        "2.5 GT/s PCIe"
    );
    assert_eq!(
        text(root, "sys/bus/pci/devices/0000:21:00.0/current_link_speed"),
        "16.0 GT/s PCIe"
    );
    let full = Link {
        generation: 4,
        width: 16,
    };
    sysfs::set_slot_link(&described, root, 1, full).expect("set");
    assert_eq!(sysfs::current_link(root, "0000:61:00.0"), Some(full));
    assert_eq!(sysfs::current_link(root, "0000:60:01.1"), Some(full));
}

#[test]
fn a_guest_tree_has_a_hypervisor_and_no_link_files() {
    let (_, folder) = tree("rtxpro6000-mig");
    assert!(text(&folder.0, "proc/cpuinfo").contains("hypervisor"));
    let gpu = folder.0.join("sys/bus/pci/devices/0002:00:00.0");
    assert!(gpu.join("vendor").exists());
    assert!(!gpu.join("current_link_speed").exists() && !gpu.join("max_link_width").exists());
    assert_eq!(
        text(&folder.0, "sys/bus/pci/devices/0002:00:00.0/numa_node"),
        "2"
    );
}

#[test]
fn an_amd_tree_shows_x16_at_the_card_and_x8_at_the_slot() {
    let (_, folder) = tree("r9700-x8");
    let width = |address: &str| {
        text(
            &folder.0,
            &format!("sys/bus/pci/devices/{address}/current_link_width"),
        )
    };
    assert_eq!(
        [
            width("0000:03:00.0"),
            width("0000:02:00.0"),
            width("0000:01:00.0"),
            width("0000:00:01.1")
        ],
        ["16", "16", "8", "8"]
    );
}

#[test]
fn every_builtin_tree_can_be_written_twice() {
    for name in builtin_names() {
        let folder = Folder::new(&format!("twice-{name}"));
        let described = BoxFile::builtin(name).expect("built in");
        sysfs::write_tree(&described, &folder.0).expect("written");
        sysfs::write_tree(&described, &folder.0).expect("written again");
        let shown = fs::read_dir(folder.0.join("sys/bus/pci/devices"))
            .expect("listed")
            .count();
        assert_eq!(shown, described.port.len() + described.device.len());
    }
}
