//! What stands beside a verdict, from built trees: ACS of the ports between two GPUs, IOMMU, windows, how far the way goes.

use std::os::unix::fs::symlink;

use topology::{Fact, IommuMode, LargeBar, PeerSurroundings, peer_surroundings};

use crate::sysfs::fixture::{AMD, NVIDIA, Tree, at};

/// Two GPUs below one switch, and a third on the next root port.
const SWITCH: &str = "pci0000:20/0000:20:01.1/0000:21:00.0";
const A: &str = "0000:24:00.0";
const B: &str = "0000:25:00.0";
const C: &str = "0000:41:00.0";

fn switched() -> Tree {
    let tree = Tree::new();
    tree.gpu(&format!("{SWITCH}/0000:22:00.0/{A}"), NVIDIA, 0);
    tree.gpu(&format!("{SWITCH}/0000:22:01.0/{B}"), NVIDIA, 0);
    tree.gpu(&format!("pci0000:40/0000:40:01.1/{C}"), NVIDIA, 1);
    tree
}

/// Configuration space whose only extended capability is ACS (13, version 1) with a control word.
fn acs(tree: &Tree, port: &str, control: u16) {
    let mut config = vec![0_u8; 4096];
    config[0x100..0x104].copy_from_slice(&0x0001_000d_u32.to_le_bytes());
    config[0x106..0x108].copy_from_slice(&control.to_le_bytes());
    tree.file(&format!("sys/bus/pci/devices/{port}/config"), config);
}

fn between(tree: &Tree, a: &str, b: &str) -> PeerSurroundings {
    peer_surroundings(&tree.machine(), &tree.sysfs(), at(a), at(b))
}

#[test]
fn only_the_ports_that_one_of_both_has_above_it_count() {
    let tree = switched();
    // The root port and the switch's upstream port are above both: packets turn below them.
    for (port, control) in [
        ("0000:20:01.1", 0x1d),
        ("0000:21:00.0", 0x1d),
        ("0000:22:00.0", 0x00),
        ("0000:22:01.0", 0x61),
        ("0000:40:01.1", 0x00),
    ] {
        acs(&tree, port, control);
    }
    let pair = between(&tree, A, B);
    assert_eq!(pair.redirecting().count(), 0);
    assert_eq!(pair.acs.known().unwrap().len(), 2);
    // To the third GPU the way goes through both, on the other side through 40:01.1: 2 + 1 + 1 + 1 ports.
    let far = between(&tree, A, C);
    assert_eq!(far.acs.known().unwrap().len(), 4);
    let at: Vec<String> = far
        .redirecting()
        .map(|port| port.address.to_string())
        .collect();
    assert_eq!(at, ["0000:20:01.1", "0000:21:00.0"]);
}

#[test]
fn without_root_acs_is_unknown_and_says_so() {
    let tree = switched();
    for port in ["0000:22:00.0", "0000:22:01.0"] {
        tree.file(&format!("sys/bus/pci/devices/{port}/config"), [0; 64]);
    }
    let unread = || {
        let ports = between(&tree, A, B).acs.known().unwrap().clone();
        let unread = ports.iter().filter(|port| match &port.control {
            Fact::Unknown(why) => why.contains("needs root"),
            Fact::Known(_) => false,
        });
        unread.count()
    };
    assert_eq!(unread(), 2);
    acs(&tree, "0000:22:01.0", 0x00);
    assert_eq!(unread(), 1);
}

#[test]
fn a_guest_knows_neither_its_hosts_ports_nor_its_iommu() {
    let tree = switched();
    tree.file(
        "proc/cpuinfo",
        "processor\t: 0\nflags\t\t: fpu hypervisor\n",
    );
    acs(&tree, "0000:22:00.0", 0x1d);
    tree.file("sys/class/iommu/.keep", "");
    let pair = between(&tree, A, B);
    let (Fact::Unknown(acs), [Fact::Unknown(iommu), _]) = (pair.acs, pair.iommu) else {
        panic!("a guest sees neither");
    };
    assert!(acs.contains("hypervisor"), "{acs}");
    assert!(iommu.contains("guest"), "{iommu}");
}

#[test]
fn the_iommu_is_read_from_the_devices_group() {
    let tree = switched();
    let mode = |text: &str| {
        tree.file("sys/kernel/iommu_groups/7/type", text);
        let group = format!("sys/kernel/iommu_groups/7/devices/{A}");
        tree.file(&group, "");
        between(&tree, A, B).iommu
    };
    for (text, expected) in [
        ("identity\n", IommuMode::Identity),
        ("DMA\n", IommuMode::Translated),
        ("DMA-FQ\n", IommuMode::Translated),
    ] {
        let [a, b] = mode(text);
        assert_eq!(a, Fact::Known(expected), "{text}");
        assert!(matches!(b, Fact::Unknown(_)), "B is in no group");
    }
    let [Fact::Unknown(why), _] = mode("blocked\n") else {
        panic!("a blocked device is no mode");
    };
    assert!(why.contains("`blocked`"), "{why}");
    // The device's own link counts before the lists.
    let own = tree
        .sysfs()
        .root()
        .join("sys/bus/pci/devices")
        .join(B)
        .join("iommu_group");
    tree.file("sys/kernel/iommu_groups/8/type", "identity\n");
    symlink(tree.sysfs().root().join("sys/kernel/iommu_groups/8"), own).unwrap();
    assert_eq!(
        between(&tree, A, B).iommu[1],
        Fact::Known(IommuMode::Identity)
    );
}

#[test]
fn without_groups_the_list_of_iommus_and_the_command_line_decide() {
    let tree = switched();
    let mode = || between(&tree, A, B).iommu[0].clone();
    assert!(matches!(mode(), Fact::Unknown(_)));
    for (line, expected) in [
        ("quiet iommu=pt", IommuMode::Identity),
        ("iommu=pt iommu=off", IommuMode::Off),
        ("iommu=off iommu=pt", IommuMode::Off),
        ("iommu.passthrough=0", IommuMode::Translated),
        ("iommu.passthrough=0 iommu=pt", IommuMode::Identity),
        ("iommu=pt iommu.passthrough=0 quiet", IommuMode::Translated),
    ] {
        tree.file("proc/cmdline", line);
        assert_eq!(mode(), Fact::Known(expected), "{line}");
    }
    // A vendor's word is for its own processors; of which these are, nothing says yet.
    tree.file("proc/cmdline", "amd_iommu=off iommu=pt");
    let Fact::Unknown(why) = mode() else {
        panic!("nobody said whose processor it is");
    };
    assert!(why.contains("amd_iommu=off"), "{why}");
    for (vendor, expected) in [
        ("AuthenticAMD", IommuMode::Off),
        ("GenuineIntel", IommuMode::Identity),
    ] {
        tree.file("proc/cpuinfo", format!("vendor_id\t: {vendor}\n"));
        assert_eq!(mode(), Fact::Known(expected), "{vendor}");
    }
    // Half a word is none.
    tree.file("proc/cmdline", "xiommu=pt iommu=ptx");
    assert!(matches!(mode(), Fact::Unknown(_)));
    // The kernel has the folder and no IOMMU in it.
    std::fs::create_dir_all(tree.sysfs().root().join("sys/class/iommu")).unwrap();
    assert_eq!(mode(), Fact::Known(IommuMode::Off));
}

#[test]
fn amd_says_how_much_the_cpu_sees_and_others_show_their_windows() {
    let tree = Tree::new();
    let amd = "0000:03:00.0";
    tree.gpu(&format!("pci0000:00/0000:00:01.1/{amd}"), AMD, 0);
    tree.gpu(&format!("pci0000:20/0000:20:01.1/{A}"), NVIDIA, 0);
    let attribute = |device: &str, name: &str, text: &str| {
        tree.file(&format!("sys/bus/pci/devices/{device}/{name}"), text);
    };
    // 32624 MiB = 34208743424 bytes, 256 MiB = 268435456.
    attribute(amd, "mem_info_vram_total", "34208743424\n");
    attribute(amd, "mem_info_vis_vram_total", "268435456\n");
    let nothing = "0x0000000000000000 0x0000000000000000 0x0000000000000000\n";
    // 64 GiB from 0x380000000000, 64-bit and prefetchable.
    let window = "0x0000380000000000 0x0000380fffffffff 0x000000000014220c\n";
    attribute(A, "resource", &format!("{nothing}{window}"));
    let pair = between(&tree, amd, A);
    let [small, large] = &pair.bars;
    assert_eq!(
        small,
        &Fact::Known(LargeBar {
            window_bytes: 256 << 20,
            memory_bytes: Some(32624 << 20),
        })
    );
    assert!(!small.known().unwrap().is_large());
    assert_eq!(large.known().unwrap().window_bytes, 64 << 30);
}

#[test]
fn two_instances_of_one_device_have_no_port_between_them() {
    let pair = between(&switched(), A, A);
    assert_eq!(pair.acs, Fact::Known(Vec::new()));
}
