//! Both path classes, as `nvidia-smi` names them and as NCCL computes them, of built trees.

use std::cell::Cell;

use topology::{EndKind, Machine, Matrices, NcclTree, Nic, PathType, PciTree, Placed};

use crate::sysfs::fixture::{AMD_HOST, BRIDGE, NVIDIA, Tree, at};

/// Base class of what has no class, and an Ethernet controller.
const UNCLASSED: u32 = 0x00_ff00;
const ETHERNET: u32 = 0x02_0000;
const VIRTIO: u16 = 0x1af4;
const INTEL: u16 = 0x8086;

fn endpoint(tree: &Tree, path: &str, vendor: u16, class: u32, node: i32) {
    tree.bridges_above(path, node);
    tree.function(path, vendor, class, node);
}

/// The classes between two functions, in both ways of counting.
pub(crate) fn classes(tree: &Tree, a: &str, b: &str) -> [String; 2] {
    let sysfs = tree.sysfs();
    let all = PciTree::read(&sysfs, false);
    let [a, b] = [a, b].map(|address| &all.at(at(address)).expect("it is in the tree").pci);
    let [there, back] = [(a, b), (b, a)].map(|(a, b)| {
        let nccl = NcclTree::of(&sysfs, &[a, b]).class(0, 1);
        [a.path_to(b), nccl].map(|class| class.to_string())
    });
    assert_eq!(there, back, "{} {}", a.address, b.address);
    there
}

/// Root ports of two nodes with two devices each, below expanders with the buses 40 and 80, as QEMU builds such a machine.
fn two_nodes() -> Tree {
    let tree = Tree::new();
    for (path, vendor, class, node) in [
        ("pci0000:40/0000:40:00.0/0000:41:00.0", VIRTIO, UNCLASSED, 0),
        ("pci0000:40/0000:40:01.0/0000:42:00.0", 0x1b36, 0x01_0802, 0),
        ("pci0000:80/0000:80:00.0/0000:81:00.0", INTEL, ETHERNET, 1),
        ("pci0000:80/0000:80:01.0/0000:82:00.0", VIRTIO, UNCLASSED, 1),
    ] {
        endpoint(&tree, path, vendor, class, node);
    }
    tree
}

/// A switch below a root port, and a second switch below its second port, as QEMU builds such a machine.
fn cascaded() -> Tree {
    let tree = Tree::new();
    let switch = "pci0000:40/0000:40:00.0/0000:41:00.0";
    let second = format!("{switch}/0000:42:01.0/0000:44:00.0");
    endpoint(
        &tree,
        &format!("{switch}/0000:42:00.0/0000:43:00.0"),
        VIRTIO,
        UNCLASSED,
        1,
    );
    endpoint(
        &tree,
        &format!("{second}/0000:45:00.0/0000:46:00.0"),
        VIRTIO,
        UNCLASSED,
        1,
    );
    endpoint(
        &tree,
        &format!("{second}/0000:45:01.0/0000:47:00.0"),
        INTEL,
        ETHERNET,
        1,
    );
    tree
}

#[test]
fn root_ports_of_two_nodes_are_a_host_bridge_or_the_nodes_link_apart() {
    let tree = two_nodes();
    assert_eq!(classes(&tree, "41:00.0", "42:00.0"), ["PHB", "PHB"]);
    assert_eq!(classes(&tree, "81:00.0", "82:00.0"), ["PHB", "PHB"]);
    assert_eq!(classes(&tree, "41:00.0", "81:00.0"), ["SYS", "SYS"]);
}

#[test]
fn one_switch_is_pix_and_a_second_one_below_it_is_pxb() {
    let tree = cascaded();
    assert_eq!(classes(&tree, "46:00.0", "47:00.0"), ["PIX", "PIX"]);
    assert_eq!(classes(&tree, "43:00.0", "46:00.0"), ["PXB", "PXB"]);
}

#[test]
fn host_bridges_of_one_node_are_one_host_bridge_to_nccl() {
    let tree = Tree::new();
    tree.gpu("pci0000:20/0000:20:01.1/0000:21:00.0", NVIDIA, 0);
    tree.gpu("pci0000:60/0000:60:01.1/0000:61:00.0", NVIDIA, 0);
    tree.gpu("pci0000:80/0000:80:01.1/0000:81:00.0", NVIDIA, 1);
    assert_eq!(classes(&tree, "21:00.0", "61:00.0"), ["NODE", "PHB"]);
    assert_eq!(classes(&tree, "21:00.0", "81:00.0"), ["SYS", "SYS"]);
}

#[test]
fn nodes_that_are_not_known_are_one_node_to_nccl_and_unknown_else() {
    let tree = Tree::new();
    tree.gpu("pci0002:00/0002:00:00.0", NVIDIA, -1);
    tree.gpu("pci0003:00/0003:00:00.0", NVIDIA, -1);
    tree.gpu("pci0004:00/0004:00:00.0", NVIDIA, 0);
    assert_eq!(
        classes(&tree, "0002:00:00.0", "0003:00:00.0"),
        ["UNKNOWN", "PHB"]
    );
    assert_eq!(
        classes(&tree, "0002:00:00.0", "0004:00:00.0"),
        ["UNKNOWN", "SYS"]
    );
}

#[test]
fn an_amd_cards_own_switch_counts_for_nccl_alone() {
    let tree = Tree::new();
    let switch = "pci0000:20/0000:20:01.1/0000:21:00.0";
    for (port, up, down, gpu) in [("00", "23", "24", "25"), ("01", "26", "27", "28")] {
        tree.amd_card(
            &format!("{switch}/0000:22:{port}.0/0000:{up}:00.0/0000:{down}:00.0/0000:{gpu}:00.0"),
            0,
        );
    }
    // NCCL sees the card's upstream port and above it the box's switch: two switches.
    assert_eq!(classes(&tree, "25:00.0", "28:00.0"), ["PIX", "PXB"]);
}

#[test]
fn nccl_sees_no_switch_in_a_domain_of_five_digits() {
    let tree = Tree::new();
    let switch = "pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0/10000:e1:00.0";
    tree.gpu(&format!("{switch}/10000:e2:00.0/10000:e3:00.0"), NVIDIA, 0);
    tree.gpu(&format!("{switch}/10000:e2:01.0/10000:e4:00.0"), NVIDIA, 0);
    assert_eq!(
        classes(&tree, "10000:e3:00.0", "10000:e4:00.0"),
        ["PIX", "PHB"]
    );
}

#[test]
fn what_nccl_cannot_find_in_a_domain_of_five_digits_has_no_node() {
    let tree = Tree::new();
    let vmd = "pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0";
    tree.gpu(&format!("{vmd}/10000:e1:00.0"), NVIDIA, 0);
    tree.gpu("pci0000:20/0000:20:01.1/0000:21:00.0", NVIDIA, 0);
    assert_eq!(classes(&tree, "10000:e1:00.0", "21:00.0"), ["NODE", "SYS"]);
}

/// A network card's function with an RDMA device.
fn rdma(tree: &Tree, path: &str, node: i32) {
    endpoint(tree, path, 0x15b3, ETHERNET, node);
    let (_, name) = path.rsplit_once('/').expect("a path");
    tree.file(
        &format!("sys/bus/pci/devices/{name}/infiniband/mlx5_{name}/x"),
        "",
    );
}

#[test]
fn the_rdma_ports_and_virtual_functions_of_one_bus_are_one_device_to_nccl() {
    let tree = Tree::new();
    for function in ["0000:a1:00.0", "0000:a1:00.1", "0000:a1:03.2"] {
        rdma(&tree, &format!("pci0000:a0/0000:a0:01.0/{function}"), 1);
    }
    assert_eq!(classes(&tree, "a1:00.0", "a1:00.1"), ["PIX", "X"]);
    assert_eq!(classes(&tree, "a1:00.1", "a1:03.2"), ["PIX", "X"]);
    // What NCCL reaches by sockets, and functions of something else, are as many devices as functions.
    for (device, class) in [("a2", ETHERNET), ("a3", 0x03_0200)] {
        for function in ["00.0", "00.1"] {
            let path = format!("pci0000:a0/0000:a0:02.0/0000:{device}:{function}");
            endpoint(&tree, &path, NVIDIA, class, 1);
        }
        let [a, b] = ["00.0", "00.1"].map(|function| format!("{device}:{function}"));
        assert_eq!(classes(&tree, &a, &b), ["PIX", "PHB"]);
    }
}

#[test]
fn an_rdma_device_whose_bus_has_no_first_function_has_no_node_to_nccl() {
    let tree = Tree::new();
    // A virtual function in a guest, alone in a domain of its own; NCCL looks for 0002:00:00.0.
    rdma(&tree, "pci0002:00/0002:00:02.0", 0);
    tree.gpu("pci0003:00/0003:00:00.0", NVIDIA, 0);
    assert_eq!(
        classes(&tree, "0002:00:02.0", "0003:00:00.0"),
        ["NODE", "SYS"]
    );
}

#[test]
fn nccl_takes_the_node_of_the_topmost_port_that_it_climbs_to() {
    let tree = Tree::new();
    // The device says nothing of its node, the switch's upstream port says 1.
    let switch = "pci0000:40/0000:40:00.0/0000:41:00.0";
    tree.bridges_above(&format!("{switch}/0000:42:00.0/x"), 1);
    tree.function(
        &format!("{switch}/0000:42:00.0/0000:43:00.0"),
        NVIDIA,
        0x03_0200,
        -1,
    );
    tree.gpu("pci0000:80/0000:80:01.0/0000:81:00.0", NVIDIA, 1);
    assert_eq!(classes(&tree, "43:00.0", "81:00.0"), ["UNKNOWN", "PHB"]);
}

#[test]
fn a_matrix_names_gpus_and_nics_and_puts_links_beside_pcie_between_gpus_only() {
    let tree = two_nodes();
    tree.gpu("pci0000:40/0000:40:02.0/0000:43:00.0", NVIDIA, 0);
    tree.gpu("pci0000:80/0000:80:02.0/0000:83:00.0", NVIDIA, 1);
    for (id, cpus) in [(0, "0-1"), (1, "2-3")] {
        tree.file(
            &format!("sys/devices/system/node/node{id}/cpulist"),
            format!("{cpus}\n"),
        );
    }
    let (sysfs, machine) = (tree.sysfs(), tree.machine());
    let nics = Nic::read_all(&sysfs);
    let ends: Vec<Placed<'_>> = machine
        .gpus
        .iter()
        .map(|gpu| Placed::gpu(gpu, None))
        .chain(nics.iter().map(|nic| Placed::nic(nic, Some("eth7"))))
        .collect();
    let matrices = Matrices::of(&sysfs, &machine, &ends, &|_, _| Some(PathType::Xgmi));
    let shown: Vec<String> = matrices
        .smi
        .classes
        .iter()
        .map(|row| {
            row.iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    // GPU0 is on node 0, GPU1 and NIC0 on node 1.
    assert_eq!(shown, ["X XGMI SYS", "XGMI X PHB", "SYS PHB X"]);
    let ends = &matrices.smi.ends;
    let names: Vec<&str> = ends.iter().map(|end| end.name.as_str()).collect();
    assert_eq!(names, ["GPU0", "GPU1", "NIC0"]);
    assert_eq!(ends[2].kind, EndKind::Nic);
    assert_eq!(ends[2].label.as_deref(), Some("eth7"));
    assert_eq!(ends[2].cpus.as_ref().unwrap().to_string(), "2-3");
    assert_eq!((ends[0].node, ends[1].node), (Some(0), Some(1)));
    assert_eq!(matrices.nccl.classes, matrices.smi.classes);
}

#[test]
fn a_matrix_of_a_crowd_has_its_first_ends_and_asks_for_no_more_pairs() {
    let tree = Tree::new();
    tree.gpu("pci0000:20/0000:20:01.1/0000:21:00.0", NVIDIA, 0);
    let (sysfs, machine) = (tree.sysfs(), tree.machine());
    let count = 8000;
    let ends = vec![Placed::gpu(&machine.gpus[0], None); count];
    let asked = Cell::new(0);
    let matrices = Matrices::of(&sysfs, &machine, &ends, &|_, _| {
        asked.set(asked.get() + 1);
        None
    });
    let most = Matrices::MOST_ENDS;
    assert_eq!(matrices.smi.ends.len(), most);
    assert_eq!(matrices.nccl.classes.len(), most);
    // Each pair of two, there and back, once for each matrix.
    assert_eq!(asked.get(), 2 * most * (most - 1));
    let names = Placed::named(&sysfs, &machine, &ends);
    assert_eq!(names.len(), count);
    assert_eq!(names[count - 1].name, "GPU7999");
}

#[test]
fn an_end_without_a_node_has_the_cpus_that_the_kernel_calls_local() {
    let tree = Tree::new();
    endpoint(&tree, "pci0000:00/0000:00:03.0", VIRTIO, ETHERNET, -1);
    tree.file("sys/bus/pci/devices/0000:00:03.0/local_cpulist", "0-3\n");
    let (sysfs, machine): (_, Machine) = (tree.sysfs(), tree.machine());
    let nics = Nic::read_all(&sysfs);
    let ends: Vec<Placed<'_>> = nics.iter().map(|nic| Placed::nic(nic, None)).collect();
    let matrices = Matrices::of(&sysfs, &machine, &ends, &|_, _| None);
    assert_eq!(matrices.smi.ends[0].node, None);
    assert_eq!(
        matrices.smi.ends[0].cpus.as_ref().unwrap().to_string(),
        "0-3"
    );
}

#[test]
fn bridges_of_the_fixture_have_the_class_of_bridges() {
    let tree = two_nodes();
    let all = PciTree::read(&tree.sysfs(), false);
    let port = all.at(at("40:00.0")).unwrap();
    assert_eq!((port.pci.class, port.pci.vendor), (BRIDGE, AMD_HOST));
    assert!(port.is_bridge() && !all.at(at("41:00.0")).unwrap().is_bridge());
}
