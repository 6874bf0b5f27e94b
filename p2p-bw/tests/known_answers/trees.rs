//! What `topology` reads from the trees that are generated of the built-in boxes, against what the boxes' owners reported.

use boxfile::{BoxFile, Link, sysfs};
use topology::{Machine, PathType, PciAddress, PcieLink, SlotLinkUnknown, Sysfs};

use super::program::Folder;

/// A built-in box as a tree, read.
struct Tree {
    described: BoxFile,
    folder: Folder,
    machine: Machine,
    gpus: Vec<PciAddress>,
}

impl Tree {
    fn of(name: &str) -> Self {
        let described = BoxFile::builtin(name).unwrap();
        let folder = Folder::new();
        sysfs::write_tree(&described, folder.path()).unwrap();
        let machine = Machine::read(&Sysfs::at(folder.path())).unwrap();
        let gpus = machine.gpus.iter().map(|gpu| gpu.address).collect();
        Self {
            described,
            folder,
            machine,
            gpus,
        }
    }

    /// The link of each slot as `GenG xW`.
    fn slots(&self) -> Vec<String> {
        let sysfs = Sysfs::at(self.folder.path());
        let link = |gpu: &PciAddress| self.machine.slot_link(&sysfs, *gpu).unwrap().current;
        self.gpus
            .iter()
            .map(link)
            .map(|link| link.to_string())
            .collect()
    }

    /// The link that each card's own function shows, the last hop.
    fn cards(&self) -> Vec<String> {
        let sysfs = Sysfs::at(self.folder.path());
        let own = |gpu| {
            topology::links(&sysfs, gpu)
                .last()
                .unwrap()
                .current
                .unwrap()
        };
        self.machine
            .gpus
            .iter()
            .map(own)
            .map(|link: PcieLink| link.to_string())
            .collect()
    }

    fn path(&self, a: usize, b: usize) -> PathType {
        self.machine.path_type(self.gpus[a], self.gpus[b])
    }
}

#[test]
fn the_l40_box_has_node_within_pairs_and_sys_between_them() {
    let tree = Tree::of("l40x4");
    let addresses: Vec<String> = tree.gpus.iter().map(ToString::to_string).collect();
    assert_eq!(
        addresses,
        [
            "0000:21:00.0",
            "0000:61:00.0",
            "0000:81:00.0",
            "0000:e1:00.0"
        ]
    );
    // As `nvidia-smi topo -m` printed it on the box: X on the diagonal, NODE for 0-1 and 2-3, SYS for all others.
    let printed = [
        "X NODE SYS SYS",
        "NODE X SYS SYS",
        "SYS SYS X NODE",
        "SYS SYS NODE X",
    ];
    for (a, row) in printed.iter().enumerate() {
        let read: Vec<_> = (0..4).map(|b| tree.path(a, b).name()).collect();
        assert_eq!(read.join(" "), *row, "GPU{a}");
    }
    let nodes: Vec<Option<u32>> = tree.machine.gpus.iter().map(|gpu| gpu.node).collect();
    assert_eq!(nodes, [Some(0), Some(0), Some(1), Some(1)]);
    // 512 logical CPUs, 256 to a node.
    let cpus: Vec<usize> = tree
        .machine
        .nodes
        .iter()
        .map(|node| node.cpus.iter().count())
        .collect();
    assert_eq!(cpus, [256, 256]);
    assert_eq!(tree.machine.hypervisor, Some(false));
}

#[test]
fn the_l40_slots_read_idle_until_they_are_loaded() {
    let tree = Tree::of("l40x4");
    // Device 0 was busy and in P0 when the box was reported, the others idle in P8.
    assert_eq!(
        tree.slots(),
        ["Gen4 x16", "Gen1 x16", "Gen1 x16", "Gen1 x16"]
    );
    let loaded = Link {
        generation: 4,
        width: 16,
    };
    sysfs::set_slot_link(&tree.described, tree.folder.path(), 2, loaded).unwrap();
    assert_eq!(
        tree.slots(),
        ["Gen4 x16", "Gen1 x16", "Gen4 x16", "Gen1 x16"]
    );
}

#[test]
fn an_r9700_slot_has_8_lanes_although_the_card_says_16() {
    let tree = Tree::of("r9700-x8");
    assert_eq!(tree.cards(), ["Gen5 x16", "Gen5 x16"]);
    assert_eq!(tree.slots(), ["Gen5 x8", "Gen5 x8"]);
    // Both slots hang on the one host bridge of a desktop CPU.
    assert_eq!(tree.path(0, 1), PathType::Phb);
}

#[test]
fn an_r9700_in_a_full_slot_has_16_lanes() {
    let tree = Tree::of("r9700-x16");
    assert_eq!(tree.cards(), ["Gen5 x16", "Gen5 x16"]);
    assert_eq!(tree.slots(), ["Gen5 x16", "Gen5 x16"]);
    // Two host bridges, one node.
    assert_eq!(tree.path(0, 1), PathType::Node);
}

#[test]
fn a_guest_shows_no_link_and_says_so() {
    let tree = Tree::of("rtxpro6000-mig");
    assert_eq!(tree.machine.hypervisor, Some(true));
    let sysfs = Sysfs::at(tree.folder.path());
    for gpu in &tree.gpus {
        assert_eq!(
            tree.machine.slot_link(&sysfs, *gpu),
            Err(SlotLinkUnknown::Unreadable(*gpu))
        );
    }
    // GPU0 on node 0 with CPUs 0-63, GPU1 on node 2 with CPUs 128-191; SYS between them.
    let nodes: Vec<Option<u32>> = tree.machine.gpus.iter().map(|gpu| gpu.node).collect();
    assert_eq!(nodes, [Some(0), Some(2)]);
    let cpus: Vec<String> = [0, 2]
        .map(|id| tree.machine.node(id).unwrap().cpus.to_string())
        .into();
    assert_eq!(cpus, ["0-63", "128-191"]);
    assert_eq!(tree.path(0, 1), PathType::Sys);
}

#[test]
fn an_h200_node_has_pairs_behind_switches() {
    let tree = Tree::of("h200x8");
    assert_eq!(tree.gpus.len(), 8);
    // Two GPUs to a switch, two switches to a socket: neighbours PIX, the other switch's NODE, the other socket's SYS.
    for a in 0..8 {
        for b in 0..8 {
            let expected = match (a == b, a / 2 == b / 2, a / 4 == b / 4) {
                (true, _, _) => PathType::Same,
                (_, true, _) => PathType::Pix,
                (_, _, true) => PathType::Node,
                _ => PathType::Sys,
            };
            assert_eq!(tree.path(a, b), expected, "GPU{a} GPU{b}");
        }
    }
    assert_eq!(tree.slots(), vec!["Gen5 x16"; 8]);
}
