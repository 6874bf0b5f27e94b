//! Nodes, processors and GPUs of built trees, and of the machine that runs the tests.

use std::os::unix::fs::symlink;

use topology::{Machine, Sysfs, TopologyError};

use crate::sysfs::fixture::{AMD, DISPLAY_3D, NVIDIA, Tree, VGA, at};

/// Two nodes with CPUs and one with memory only, numbered 0, 1 and 4.
fn three_nodes() -> Tree {
    let tree = Tree::new();
    for (id, cpus, distance, kib) in [
        (0, "0-1", "10 21 30", 223_936),
        (1, "2-3", "21 10 30", 257_184),
        (4, "", "30 30 10", 65_536),
    ] {
        let folder = format!("sys/devices/system/node/node{id}");
        tree.file(&format!("{folder}/cpulist"), format!("{cpus}\n"));
        tree.file(&format!("{folder}/distance"), format!("{distance}\n"));
        let meminfo = format!("Node {id} MemTotal:         {kib} kB\nNode {id} MemFree: 1 kB\n");
        tree.file(&format!("{folder}/meminfo"), meminfo);
    }
    tree.file("sys/devices/system/node/online", "0-1,4\n");
    tree
}

#[test]
fn nodes_are_read_with_distances_by_number() {
    let tree = three_nodes();
    let machine = tree.machine();
    assert_eq!(machine.nodes.len(), 3);
    let far = machine.node(4).unwrap();
    assert!(far.cpus.is_empty());
    assert_eq!(far.distances[&1], 30);
    assert_eq!(far.distances[&4], 10);
    // 65536 kB of 1024 bytes.
    assert_eq!(far.memory_bytes, Some(67_108_864));
    assert_eq!(machine.node(1).unwrap().cpus.to_string(), "2-3");
    assert_eq!(machine.node(2), None);
}

#[test]
fn a_cpu_list_that_is_none_is_an_error_that_names_the_file() {
    let tree = three_nodes();
    tree.file("sys/devices/system/node/node1/cpulist", "two\n");
    assert_eq!(
        Machine::read(&tree.sysfs()).unwrap_err(),
        TopologyError::Malformed {
            path: "sys/devices/system/node/node1/cpulist".into(),
            text: "two".into(),
        }
    );
}

#[test]
fn processors_of_x86_are_read() {
    let tree = Tree::new();
    tree.file(
        "proc/cpuinfo",
        "processor\t: 0\nmodel name\t: AMD EPYC 9575F 64-Core Processor\nflags\t\t: fpu vme\n\nprocessor\t: 1\n",
    );
    tree.file("sys/devices/system/cpu/online", "0-127,256-383\n");
    for (index, size) in [(0, "48K"), (1, "32K"), (2, "1024K"), (3, "32768K")] {
        tree.file(
            &format!("sys/devices/system/cpu/cpu0/cache/index{index}/size"),
            format!("{size}\n"),
        );
    }
    tree.file(
        "proc/sys/kernel/random/boot_id",
        "f95a41cf-86db-4f76-a180-1d2cb37a30aa\n",
    );
    let machine = tree.machine();
    assert_eq!(
        machine.cpus.model.as_deref(),
        Some("AMD EPYC 9575F 64-Core Processor")
    );
    assert_eq!(machine.cpus.count, Some(256));
    // 32768 * 1024.
    assert_eq!(machine.cpus.last_level_cache_bytes, Some(33_554_432));
    assert_eq!(machine.hypervisor, Some(false));
    assert_eq!(
        machine.boot_id.as_deref(),
        Some("f95a41cf-86db-4f76-a180-1d2cb37a30aa")
    );
}

#[test]
fn arm_gives_numbers_for_a_name_and_no_word_on_a_hypervisor() {
    let tree = Tree::new();
    tree.file(
        "proc/cpuinfo",
        "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x48\nCPU part\t: 0xd02\n",
    );
    let machine = tree.machine();
    assert_eq!(
        machine.cpus.model.as_deref(),
        Some("Arm implementer 0x48 part 0xd02")
    );
    assert_eq!(machine.hypervisor, None);
}

#[test]
fn a_root_without_sysfs_is_an_error_that_names_it() {
    let error = Machine::read(&Sysfs::at("/nonexistent-root")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "/nonexistent-root/sys not found; mount sysfs or give a root folder that holds `sys`"
    );
}

#[test]
fn gpus_are_told_from_other_devices_by_vendor_and_class() {
    let tree = Tree::new();
    for (bus, vendor, class, gpu) in [
        (1, NVIDIA, VGA, true),
        (2, NVIDIA, DISPLAY_3D, true),
        // The sound function of a graphics card.
        (3, NVIDIA, 0x04_0300, false),
        (4, AMD, VGA, true),
        (5, AMD, 0x03_8000, true),
        (6, AMD, 0x12_0000, true),
        // A management controller's screen.
        (7, 0x1a03, VGA, false),
        (8, 0x9999, 0x03_8000, true),
        (9, 0x9999, 0x12_0000, true),
        (10, 0x9999, 0x0b_4000, true),
        (11, 0x9999, 0x02_0000, false),
    ] {
        let name = format!("0000:{bus:02x}:00.0");
        tree.function(
            &format!("pci0000:00/0000:00:{bus:02x}.0/{name}"),
            vendor,
            class,
            0,
        );
        assert_eq!(
            tree.machine().gpu(at(&name)).is_some(),
            gpu,
            "{vendor:#x} {class:#x}"
        );
    }
}

#[test]
fn a_link_that_leaves_the_root_is_an_error() {
    let tree = Tree::new();
    let outside = Tree::new();
    outside.gpu("pci0000:00/0000:00:01.0", NVIDIA, 0);
    let devices = "sys/bus/pci/devices";
    symlink(
        outside
            .sysfs()
            .root()
            .join("sys/devices/pci0000:00/0000:00:01.0"),
        tree.sysfs().root().join(devices).join("0000:00:01.0"),
    )
    .unwrap();
    assert_eq!(
        Machine::read(&tree.sysfs()).unwrap_err(),
        TopologyError::NoRoot {
            path: format!("{devices}/0000:00:01.0")
        }
    );
}

#[test]
fn the_machine_that_runs_the_test_can_be_read() {
    let machine = Machine::read(&Sysfs::real()).unwrap();
    assert_eq!(machine, Machine::read(&Sysfs::at("/")).unwrap());
    // The kernel writes a UUID of 36 characters.
    assert_eq!(machine.boot_id.map(|id| id.len()), Some(36));
}

#[test]
fn pipes_and_devices_are_not_read_and_of_a_file_its_beginning() {
    let tree = Tree::new();
    let gpu = "pci0000:20/0000:20:01.1/0000:21:00.0";
    tree.gpu(gpu, NVIDIA, 0);
    let folder = format!("sys/devices/{gpu}");
    // Nobody writes to the pipe, so to open it for reading would wait for ever; zeros have no end.
    let made = std::process::Command::new("mkfifo")
        .arg(tree.path(&format!("{folder}/current_link_speed")))
        .status()
        .expect("mkfifo is there");
    assert!(made.success());
    std::os::unix::fs::symlink("/dev/zero", tree.path(&format!("{folder}/config"))).unwrap();
    tree.file(&format!("{folder}/resource"), vec![b'0'; 70_000]);
    let sysfs = tree.sysfs();
    assert_eq!(
        sysfs.read_text(format!("{folder}/current_link_speed")),
        None
    );
    assert_eq!(sysfs.read_bytes(format!("{folder}/config")), None);
    assert_eq!(sysfs.read_bytes(&folder), None);
    let begun = sysfs.read_bytes(format!("{folder}/resource")).unwrap();
    assert_eq!(begun.len(), 64 * 1024);
    assert_eq!(tree.machine().gpus.len(), 1);
    let all = topology::PciTree::read(&sysfs, false);
    assert_eq!(all.at(at("21:00.0")).unwrap().current, None);
}
