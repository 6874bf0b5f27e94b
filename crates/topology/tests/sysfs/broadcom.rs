//! What NCCL makes of Broadcom's switches that show two levels; the numbers are those of `getBcmGen` in NCCL's src/graph/topo.cc, written
//! out here from its masks and not taken from the crate's table.

use topology::{NcclTree, PciTree};

use crate::sysfs::fixture::{NVIDIA, Tree, at};
use crate::sysfs::matrices::classes;

/// Vendor, device, subsystem's vendor and device: Gen4 in both levels, Gen5 above and below. Of the last number the top four bits count.
const GEN4: [u16; 4] = [0x1000, 0xc010, 0x1000, 0xa024];
const GEN5_UPPER: [u16; 4] = [0x1000, 0xc030, 0x1000, 0x0144];
const GEN5_LOWER: [u16; 4] = [0x1000, 0xc030, 0x1000, 0x1144];

/// A switch with two below it, a GPU below each of those; gives the upstream ports, the upper first.
fn two_leaves(tree: &Tree, upper: [u16; 4], lower: [u16; 4]) {
    let switch = "pci0000:20/0000:20:01.1/0000:21:00.0";
    tree.gpu(
        &format!("{switch}/0000:22:00.0/0000:23:00.0/0000:24:00.0/0000:25:00.0"),
        NVIDIA,
        0,
    );
    tree.gpu(
        &format!("{switch}/0000:22:01.0/0000:33:00.0/0000:34:00.0/0000:35:00.0"),
        NVIDIA,
        0,
    );
    tree.numbers("0000:21:00.0", upper);
    tree.numbers("0000:23:00.0", lower);
    tree.numbers("0000:33:00.0", lower);
}

/// A fourth pair of bridges and a GPU below the first leaf.
fn third_level(tree: &Tree, numbers: [u16; 4]) {
    let leaf = "pci0000:20/0000:20:01.1/0000:21:00.0/0000:22:00.0/0000:23:00.0";
    tree.gpu(
        &format!("{leaf}/0000:24:01.0/0000:26:00.0/0000:27:00.0/0000:28:00.0"),
        NVIDIA,
        0,
    );
    tree.numbers("0000:26:00.0", numbers);
}

#[test]
fn two_leaves_of_one_fabric_are_one_switch_to_nccl_and_two_to_nvidia_smi() {
    for (upper, lower) in [(GEN4, GEN4), (GEN5_UPPER, GEN5_LOWER)] {
        let tree = Tree::new();
        two_leaves(&tree, upper, lower);
        let found = classes(&tree, "25:00.0", "35:00.0");
        assert_eq!(found, ["PXB", "PIX"], "{upper:04x?}");
    }
}

#[test]
fn switches_that_are_no_fabric_stay_two_levels() {
    const PLX: [u16; 4] = [0x10b5, 0x9797, 0x10b5, 0x9797];
    let of_another_subsystem = [0x1000, 0xc010, 0x15d9, 0xa024];
    let of_another_level = [0x1000, 0xc010, 0x1000, 0x2004];
    for (upper, lower) in [
        (PLX, PLX),
        // Different generations.
        (GEN4, GEN5_LOWER),
        (GEN5_UPPER, GEN4),
        // Gen5 has one number for each level; two uppers, or two lowers, are two switches.
        (GEN5_UPPER, GEN5_UPPER),
        (GEN5_LOWER, GEN5_LOWER),
        (of_another_subsystem, GEN4),
        (GEN4, of_another_subsystem),
        (of_another_level, of_another_level),
    ] {
        let tree = Tree::new();
        two_leaves(&tree, upper, lower);
        let found = classes(&tree, "25:00.0", "35:00.0");
        assert_eq!(found, ["PXB", "PXB"], "{upper:04x?} {lower:04x?}");
    }
}

#[test]
fn ports_without_numbers_of_a_subsystem_are_no_fabric() {
    let tree = Tree::new();
    two_leaves(&tree, GEN4, GEN4);
    let upper = tree.path("sys/bus/pci/devices/0000:21:00.0/subsystem_device");
    std::fs::remove_file(upper).unwrap();
    assert_eq!(classes(&tree, "25:00.0", "35:00.0"), ["PXB", "PXB"]);
}

#[test]
fn a_third_level_stays_apart() {
    for (upper, lower) in [(GEN4, GEN4), (GEN5_UPPER, GEN5_LOWER)] {
        let tree = Tree::new();
        two_leaves(&tree, upper, lower);
        third_level(&tree, lower);
        // The leaves are one with the switch above them, and a switch below a leaf is a second one.
        assert_eq!(classes(&tree, "25:00.0", "35:00.0"), ["PXB", "PIX"]);
        assert_eq!(classes(&tree, "28:00.0", "35:00.0"), ["PXB", "PXB"]);
        assert_eq!(classes(&tree, "28:00.0", "25:00.0"), ["PXB", "PXB"]);
    }
}

#[test]
fn a_fabric_below_a_fabric_is_two_switches() {
    let tree = Tree::new();
    two_leaves(&tree, GEN5_UPPER, GEN5_LOWER);
    third_level(&tree, GEN5_UPPER);
    let leaf = "pci0000:20/0000:20:01.1/0000:21:00.0/0000:22:00.0/0000:23:00.0";
    let second = format!("{leaf}/0000:24:01.0/0000:26:00.0");
    tree.gpu(
        &format!("{second}/0000:27:01.0/0000:29:00.0/0000:2a:00.0/0000:2b:00.0"),
        NVIDIA,
        0,
    );
    tree.numbers("0000:29:00.0", GEN5_LOWER);
    // Upper, lower, upper, lower: the first two are one, and so are the last two.
    assert_eq!(classes(&tree, "28:00.0", "2b:00.0"), ["PXB", "PIX"]);
    assert_eq!(classes(&tree, "2b:00.0", "35:00.0"), ["PXB", "PXB"]);
}

#[test]
fn switches_linked_beside_the_tree_are_several_switches_and_no_host_bridge() {
    let tree = Tree::new();
    for (root, node) in [("20", 0), ("40", 1)] {
        let path = format!("pci0000:{root}/0000:{root}:01.1/0000:{root}:02.0/0000:{root}:03.0");
        tree.gpu(&format!("{path}/0000:{root}:04.0"), NVIDIA, node);
        tree.gpu(
            &format!("pci0000:{root}/0000:{root}:11.0/0000:{root}:12.0"),
            NVIDIA,
            node,
        );
    }
    assert_eq!(classes(&tree, "20:04.0", "40:04.0"), ["SYS", "SYS"]);
    let listed = "sys/kernel/pci_switch_link/virtual_switch_links";
    tree.file(&format!("{listed}/0000:20:02.0/0000:40:02.0"), "");
    tree.file(&format!("{listed}/0000:40:02.0/0000:20:02.0"), "");
    // NCCL reads that list of switches of Broadcom's alone.
    assert_eq!(classes(&tree, "20:04.0", "40:04.0"), ["SYS", "SYS"]);
    for switch in ["0000:20:02.0", "0000:40:02.0"] {
        tree.numbers(switch, GEN5_UPPER);
    }
    assert_eq!(classes(&tree, "20:04.0", "40:04.0"), ["SYS", "PXB"]);
    let (sysfs, all) = (tree.sysfs(), PciTree::read(&tree.sysfs(), false));
    let ends = ["20:04.0", "40:04.0", "20:12.0", "40:12.0"];
    let ends = ends.map(|address| &all.at(at(address)).unwrap().pci);
    let nccl = NcclTree::of(&sysfs, &ends);
    // The way between the nodes that the linked switches open is through two host bridges and not from node to node.
    assert_eq!(nccl.class(2, 3).to_string(), "PHB");
    let apart = NcclTree::of(&sysfs, &ends[2..]);
    assert_eq!(apart.class(0, 1).to_string(), "SYS");
}
