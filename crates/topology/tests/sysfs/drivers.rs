//! What drivers say beside PCI: AMD's KFD, NVIDIA's MIG and names, and the firmware of guests.

use topology::{GpuInstance, KfdLinkKind, KfdNode, MigGpu, PathType, Platform, gpu_name, xgmi};

use crate::sysfs::fixture::{AMD, NVIDIA, Tree, at};

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
    assert_eq!(
        (nodes[0].address, nodes[0].gfx_target_version),
        (None, None)
    );
    assert_eq!(nodes[1].address, Some(at("c1:00.0")));
    assert_eq!(nodes[1].gfx_target_version, Some(90402));
    let link = &nodes[1].links[0];
    assert_eq!(
        (link.to, link.kind, link.peer),
        (2, KfdLinkKind::Xgmi, false)
    );
    // The driver's 0 means that it does not know.
    assert_eq!((link.weight, link.mb_per_s), (Some(15), None));
    assert_eq!(
        xgmi(&nodes, at("c1:00.0"), at("c5:00.0")),
        Some(PathType::Xgmi)
    );
    assert_eq!(xgmi(&nodes, at("c1:00.0"), at("c6:00.0")), None);
}

#[test]
fn pci_express_between_gpus_is_a_peer_link_and_no_class_of_its_own() {
    let tree = two_gpus(2, "p2p_links");
    let nodes = KfdNode::read_all(&tree.sysfs());
    assert_eq!(
        (nodes[2].links[0].kind, nodes[2].links[0].peer),
        (KfdLinkKind::Pcie, true)
    );
    assert_eq!(xgmi(&nodes, at("c1:00.0"), at("c5:00.0")), None);
}

#[test]
fn a_broken_or_refused_topology_of_the_kfd_is_no_gpu() {
    let tree = two_gpus(11, "io_links");
    for broken in [
        "",
        "simd_count many\n",
        "simd_count 304\nlocation_id 99999999\ndomain 0\n",
        "simd_count 304\n",
    ] {
        tree.file(&format!("{KFD}/1/properties"), broken);
        let nodes = KfdNode::read_all(&tree.sysfs());
        assert_eq!(nodes[1].address, None, "{broken}");
        assert_eq!(xgmi(&nodes, at("c1:00.0"), at("c5:00.0")), None);
    }
    tree.file(
        &format!("{KFD}/2/io_links/0/properties"),
        "type eleven\nnode_to 1\n",
    );
    assert!(KfdNode::read_all(&tree.sysfs())[2].links.is_empty());
    assert_eq!(KfdNode::read_all(&Tree::new().sysfs()), []);
}

#[test]
fn divided_gpus_are_told_with_their_instances() {
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
    for (address, minor) in [("0000:21:00.0", 0), ("0000:61:00.0", 1)] {
        let information =
            format!("Model: \t\t NVIDIA L40\nIRQ:   \t\t 99\nDevice Minor: \t {minor}\n");
        tree.file(
            &format!("proc/driver/nvidia/gpus/{address}/information"),
            information,
        );
    }
    let found = MigGpu::read_all(&tree.sysfs());
    let instance = |id, compute_instances| GpuInstance {
        id,
        compute_instances,
    };
    let expected = MigGpu {
        minor: 1,
        address: Some(at("61:00.0")),
        instances: vec![instance(1, 1), instance(2, 2), instance(10, 0)],
    };
    assert_eq!(found, [expected]);
}

#[test]
fn names_are_the_drivers_and_absent_where_they_give_none() {
    let tree = Tree::new();
    tree.gpu("pci0000:20/0000:20:01.1/0000:21:00.0", NVIDIA, 0);
    tree.gpu("pci0000:60/0000:60:01.1/0000:61:00.0", AMD, 0);
    let names = || {
        let gpus = tree.machine().gpus;
        gpus.iter()
            .map(|gpu| gpu_name(&tree.sysfs(), gpu))
            .collect::<Vec<_>>()
    };
    assert_eq!(names(), [None, None]);
    tree.file(
        "proc/driver/nvidia/gpus/0000:21:00.0/information",
        "Model: \t\t NVIDIA L40\n",
    );
    tree.file("sys/bus/pci/devices/0000:61:00.0/product_name", "\n");
    assert_eq!(names(), [Some("NVIDIA L40".to_owned()), None]);
    tree.file(
        "sys/bus/pci/devices/0000:61:00.0/product_name",
        "AMD Instinct MI210\n",
    );
    assert_eq!(names()[1].as_deref(), Some("AMD Instinct MI210"));
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
