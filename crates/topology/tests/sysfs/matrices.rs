//! The matrix of built trees: who its ends are, and links beside PCI Express.

use topology::{EndKind, Machine, Matrix, Nic, PathType, Placed};

use crate::sysfs::fixture::{NVIDIA, Tree};

/// An Ethernet controller.
const ETHERNET: u32 = 0x02_0000;
const INTEL: u16 = 0x8086;

fn endpoint(tree: &Tree, path: &str, class: u32, node: i32) {
    tree.bridges_above(path, node);
    tree.function(path, INTEL, class, node);
}

#[test]
fn a_matrix_names_gpus_and_nics_and_puts_links_beside_pcie_between_gpus_only() {
    let tree = Tree::new();
    endpoint(&tree, "pci0000:80/0000:80:00.0/0000:81:00.0", ETHERNET, 1);
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
    let matrix = Matrix::of(&sysfs, &machine, &ends, &|_, _| Some(PathType::Xgmi));
    let shown: Vec<String> = matrix
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
    let ends = &matrix.ends;
    let names: Vec<&str> = ends.iter().map(|end| end.name.as_str()).collect();
    assert_eq!(names, ["GPU0", "GPU1", "NIC0"]);
    assert_eq!(ends[2].kind, EndKind::Nic);
    assert_eq!(ends[2].label.as_deref(), Some("eth7"));
    assert_eq!(ends[2].cpus.as_ref().unwrap().to_string(), "2-3");
    assert_eq!((ends[0].node, ends[1].node), (Some(0), Some(1)));
}

#[test]
fn an_end_without_a_node_has_the_cpus_that_the_kernel_calls_local() {
    let tree = Tree::new();
    endpoint(&tree, "pci0000:00/0000:00:03.0", ETHERNET, -1);
    tree.file("sys/bus/pci/devices/0000:00:03.0/local_cpulist", "0-3\n");
    let (sysfs, machine): (_, Machine) = (tree.sysfs(), tree.machine());
    let nics = Nic::read_all(&sysfs);
    let ends: Vec<Placed<'_>> = nics.iter().map(|nic| Placed::nic(nic, None)).collect();
    let matrix = Matrix::of(&sysfs, &machine, &ends, &|_, _| None);
    assert_eq!(matrix.ends[0].node, None);
    assert_eq!(matrix.ends[0].cpus.as_ref().unwrap().to_string(), "0-3");
}
