//! Path classes of built trees; the expected ones follow from what `nvidia-smi topo -m` says of such boxes.

use topology::{Machine, PathType};

use crate::sysfs::fixture::{NVIDIA, Tree, at};

fn path(machine: &Machine, a: &str, b: &str) -> PathType {
    let there = machine.path_type(at(a), at(b));
    assert_eq!(there, machine.path_type(at(b), at(a)), "{a} {b}");
    there
}

/// A box with direct root ports, two more roots, and one root with a switch and a nested switch below one port.
fn mixed_box() -> Tree {
    let tree = Tree::new();
    for (path, node) in [
        ("pci0000:00/0000:00:01.0/0000:01:00.0", 0),
        ("pci0000:00/0000:00:03.0/0000:04:00.0", 0),
        ("pci0000:40/0000:40:01.1/0000:41:00.0", 0),
        ("pci0000:80/0000:80:01.1/0000:81:00.0", 1),
        (
            "pci0000:a0/0000:a0:01.0/0000:a1:00.0/0000:a2:00.0/0000:a3:00.0",
            1,
        ),
        (
            "pci0000:a0/0000:a0:01.0/0000:a1:00.0/0000:a2:01.0/0000:a4:00.0",
            1,
        ),
        (
            "pci0000:a0/0000:a0:01.0/0000:a1:00.0/0000:a2:02.0/0000:b0:00.0/0000:b1:00.0/0000:b2:00.0",
            1,
        ),
        ("pci0000:a0/0000:a0:02.0/0000:c0:00.0", 1),
    ] {
        tree.gpu(path, NVIDIA, node);
    }
    tree
}

#[test]
fn each_class_is_told_from_the_tree() {
    let tree = mixed_box();
    let machine = tree.machine();
    for (a, b, expected) in [
        ("01:00.0", "01:00.0", PathType::Same),
        // Two root ports of one root complex.
        ("01:00.0", "04:00.0", PathType::Phb),
        // Two root complexes of node 0.
        ("01:00.0", "41:00.0", PathType::Node),
        // Node 0 and node 1.
        ("01:00.0", "81:00.0", PathType::Sys),
        // Two downstream ports of one switch.
        ("a3:00.0", "a4:00.0", PathType::Pix),
        // A switch, and another one below it.
        ("a3:00.0", "b2:00.0", PathType::Pxb),
        // Below the switch, and on the next root port.
        ("a3:00.0", "c0:00.0", PathType::Phb),
    ] {
        assert_eq!(path(&machine, a, b), expected, "{a} {b}");
    }
}

#[test]
fn amd_cards_own_switches_do_not_count() {
    let tree = Tree::new();
    // Two cards on root ports of their own, two more behind one switch.
    tree.amd_card(
        "pci0000:e0/0000:e0:01.1/0000:e1:00.0/0000:e2:00.0/0000:e3:00.0",
        0,
    );
    tree.amd_card(
        "pci0000:e0/0000:e0:03.1/0000:e4:00.0/0000:e5:00.0/0000:e6:00.0",
        0,
    );
    let switch = "pci0000:20/0000:20:01.1/0000:21:00.0";
    tree.amd_card(
        &format!("{switch}/0000:22:00.0/0000:23:00.0/0000:24:00.0/0000:25:00.0"),
        0,
    );
    tree.amd_card(
        &format!("{switch}/0000:22:01.0/0000:26:00.0/0000:27:00.0/0000:28:00.0"),
        0,
    );
    let machine = tree.machine();
    assert_eq!(path(&machine, "e3:00.0", "e6:00.0"), PathType::Phb);
    // One switch between them; with the cards' own switches it would be PXB.
    assert_eq!(path(&machine, "25:00.0", "28:00.0"), PathType::Pix);
    assert_eq!(path(&machine, "25:00.0", "e3:00.0"), PathType::Node);
    let card = machine.gpu(at("25:00.0")).unwrap();
    assert_eq!(card.on_card_bridges, 2);
    assert_eq!(card.chain.len(), 5);
    assert_eq!(
        card.chain_to_card(),
        [at("20:01.1"), at("21:00.0"), at("22:00.0")]
    );
}

#[test]
fn four_l40_on_two_sockets_read_as_nvidia_smi_shows_them() {
    // The box of a published `nvidia-smi topo -m`: each GPU on a root of its own, GPU0 and GPU1 on node 0.
    let tree = Tree::new();
    let gpus = [
        "0000:01:00.0",
        "0000:41:00.0",
        "0000:81:00.0",
        "0000:c1:00.0",
    ];
    for (gpu, (root, node)) in gpus
        .iter()
        .zip([("00", 0), ("40", 0), ("80", 1), ("c0", 1)])
    {
        tree.gpu(
            &format!("pci0000:{root}/0000:{root}:01.1/{gpu}"),
            NVIDIA,
            node,
        );
    }
    let machine = tree.machine();
    let expected = [
        ["X", "NODE", "SYS", "SYS"],
        ["NODE", "X", "SYS", "SYS"],
        ["SYS", "SYS", "X", "NODE"],
        ["SYS", "SYS", "NODE", "X"],
    ];
    for (a, row) in gpus.iter().zip(expected) {
        let shown: Vec<String> = gpus
            .iter()
            .map(|b| path(&machine, a, b).to_string())
            .collect();
        assert_eq!(shown, row);
    }
}

#[test]
fn functions_of_one_device_are_one_switch_apart_and_strangers_unknown() {
    let tree = Tree::new();
    tree.gpu("pci0000:00/0000:00:01.0/0000:01:00.0", NVIDIA, 0);
    tree.gpu("pci0000:00/0000:00:01.0/0000:01:00.4", NVIDIA, 0);
    let machine = tree.machine();
    assert_eq!(path(&machine, "01:00.0", "01:00.4"), PathType::Pix);
    assert_eq!(path(&machine, "01:00.0", "99:00.0"), PathType::Unknown);
}

#[test]
fn a_vmd_domain_hangs_below_its_own_root() {
    let tree = Tree::new();
    let below = "pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0/10000:e1:00.0";
    tree.gpu(below, NVIDIA, 0);
    let machine = tree.machine();
    assert_eq!(machine.gpus[0].root, "pci10000:e0");
    assert_eq!(machine.gpus[0].chain, [at("10000:e0:06.0")]);
    assert_eq!(machine.gpus[0].address.to_string(), "10000:e1:00.0");
}
