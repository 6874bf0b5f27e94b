//! What drivers say beside PCI: AMD's KFD, NVIDIA's MIG and names, and the firmware of guests.

use topology::{KfdNode, PathType, Platform, divided_gpus, xgmi};

use crate::sysfs::fixture::{Tree, at};

const KFD: &str = "sys/class/kfd/kfd/topology/nodes";

/// A processor as node 0 and GPUs at c1:00.0 and c5:00.0 as nodes 1 and 2, joined by a link of this type.
fn two_gpus(kind: u32, folder: &str) -> Tree {
    let tree = Tree::new();
    tree.file(
        &format!("{KFD}/0/properties"),
        "cpu_cores_count 64\nsimd_count 0\nlocation_id 0\ndomain 0\n",
    );
    // 0xc100 = 49408, 0xc500 = 50432.
    for (node, location) in [(1, 49408), (2, 50432)] {
        let properties = format!(
            "cpu_cores_count 0\nsimd_count 304\ngfx_target_version 90402\nlocation_id {location}\ndomain 0\n"
        );
        tree.file(&format!("{KFD}/{node}/properties"), properties);
        let to = 3 - node;
        let link = format!(
            "type {kind}\nnode_from {node}\nnode_to {to}\nweight 15\nmax_bandwidth 0\nmin_bandwidth 0\n"
        );
        tree.file(&format!("{KFD}/{node}/{folder}/0/properties"), link);
    }
    tree
}

#[test]
fn xgmi_is_a_class_of_the_pair_that_it_joins() {
    let tree = two_gpus(11, "io_links");
    let nodes = KfdNode::read_all(&tree.sysfs());
    assert_eq!(nodes.len(), 3);
    assert_eq!(nodes[0].address, None);
    assert_eq!(nodes[1].address, Some(at("c1:00.0")));
    let link = &nodes[1].links[0];
    assert_eq!((link.to, link.is_xgmi), (2, true));
    assert_eq!(
        xgmi(&nodes, at("c1:00.0"), at("c5:00.0")),
        Some(PathType::Xgmi)
    );
    assert_eq!(xgmi(&nodes, at("c1:00.0"), at("c6:00.0")), None);
}

#[test]
fn divided_gpus_are_told() {
    let tree = Tree::new();
    for access in [
        "gi1/access",
        "gi1/ci0/access",
        "gi2/access",
        "gi2/ci0/access",
        "gi2/ci1/access",
        "gi10/access",
    ] {
        tree.file(
            &format!("proc/driver/nvidia/capabilities/gpu1/mig/{access}"),
            "DeviceFileMinor: 12\n",
        );
    }
    // Not divided.
    tree.file("proc/driver/nvidia/capabilities/gpu0/mig/access", "");
    assert_eq!(divided_gpus(&tree.sysfs()), [1]);
}

#[test]
fn a_guest_is_told_by_its_processor_or_its_firmware() {
    for (cpuinfo, product, expected) in [
        ("flags : fpu hypervisor\n", "", Some(true)),
        ("flags : fpu\n", "PowerEdge R7625", Some(false)),
        // Arm has no such flag.
        (
            "CPU implementer : 0x48\n",
            "KVM Virtual Machine",
            Some(true),
        ),
        ("CPU implementer : 0x48\n", "TaiShan 200", None),
        ("", "", None),
    ] {
        let tree = Tree::new();
        tree.file("proc/cpuinfo", cpuinfo);
        tree.file("sys/class/dmi/id/product_name", format!("{product}\n"));
        let platform = Platform::read(&tree.sysfs(), &tree.machine());
        assert_eq!(platform.is_guest, expected, "{cpuinfo} {product}");
        assert_eq!(platform.product.unwrap_or_default(), product);
    }
}
