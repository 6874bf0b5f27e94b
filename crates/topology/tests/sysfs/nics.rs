//! Network cards of built trees: names, ports, GID types, and files that are broken.

use std::os::unix::fs::symlink;

use topology::{Gid, Nic};

use crate::sysfs::fixture::Tree;

const MELLANOX: u16 = 0x15b3;
const ETHERNET: u32 = 0x02_0000;
const INFINIBAND: u32 = 0x02_0700;
const CARD: &str = "0000:a1:00.0";

/// One card with the RDMA device mlx5_0 and the interface eth2.
fn rdma_card(class: u32) -> Tree {
    let tree = Tree::new();
    let path = format!("pci0000:a0/0000:a0:01.0/{CARD}");
    tree.bridges_above(&path, 1);
    tree.function(&path, MELLANOX, class, 1);
    let folder = format!("sys/bus/pci/devices/{CARD}");
    tree.file(
        &format!("{folder}/infiniband/mlx5_0/node_guid"),
        "0000:0000:0000:0001\n",
    );
    tree.file(&format!("{folder}/net/eth2/operstate"), "up\n");
    tree
}

fn port(tree: &Tree, files: &[(&str, &str)]) {
    for (name, text) in files {
        tree.file(
            &format!("sys/class/infiniband/mlx5_0/ports/1/{name}"),
            format!("{text}\n"),
        );
    }
}

#[test]
fn ports_are_read_with_state_rate_layer_and_gid_types() {
    let tree = rdma_card(ETHERNET);
    port(
        &tree,
        &[
            ("state", "4: ACTIVE"),
            ("phys_state", "5: LinkUp"),
            ("rate", "400 Gb/sec (4X NDR)"),
            ("link_layer", "Ethernet"),
            ("gid_attrs/types/0", "IB/RoCE v1"),
            ("gid_attrs/types/3", "RoCE v2"),
            ("gid_attrs/ndevs/3", "eth2"),
            ("gid_attrs/types/10", "RoCE v2"),
            // Not in use: the kernel gives an error there, a copy an empty file.
            ("gid_attrs/types/2", ""),
        ],
    );
    let nics = Nic::read_all(&tree.sysfs());
    assert_eq!(nics.len(), 1);
    let nic = &nics[0];
    assert_eq!(nic.label().as_deref(), Some("mlx5_0"));
    assert_eq!((nic.pci.node, nic.is_virtual), (Some(1), false));
    let port = &nic.rdma[0].ports[0];
    assert_eq!((port.number, port.is_active()), (1, Some(true)));
    assert_eq!(port.physical.as_deref(), Some("LinkUp"));
    assert_eq!(port.rate.as_deref(), Some("400 Gb/sec (4X NDR)"));
    assert_eq!(port.link_layer.as_deref(), Some("Ethernet"));
    let gid = |index, kind: &str, interface: Option<&str>| Gid {
        index,
        kind: kind.to_owned(),
        interface: interface.map(str::to_owned),
    };
    // By number: 10 comes after 3.
    assert_eq!(
        port.gids,
        [
            gid(0, "IB/RoCE v1", None),
            gid(3, "RoCE v2", Some("eth2")),
            gid(10, "RoCE v2", None)
        ]
    );
    assert_eq!(nic.interfaces.len(), 1);
}

#[test]
fn a_port_that_is_down_or_silent_is_not_active() {
    let tree = rdma_card(INFINIBAND);
    port(
        &tree,
        &[("state", "1: DOWN"), ("phys_state", "3: Disabled")],
    );
    let read = || Nic::read_all(&tree.sysfs())[0].rdma[0].ports[0].clone();
    assert_eq!(read().is_active(), Some(false));
    assert_eq!((read().rate, read().link_layer), (None, None));
    // A table that is not shown is not one without entries.
    assert!(read().gids.is_empty());
    port(&tree, &[("gid_attrs/types/0", "")]);
    assert!(read().gids.is_empty());
    port(&tree, &[("state", "")]);
    assert_eq!(read().is_active(), None);
}

#[test]
fn virtual_functions_are_told_and_other_classes_are_no_nics() {
    let tree = rdma_card(ETHERNET);
    let virtual_one = "0000:a1:00.2";
    tree.function(
        &format!("pci0000:a0/0000:a0:01.0/{virtual_one}"),
        MELLANOX,
        ETHERNET,
        1,
    );
    symlink(
        format!("../{CARD}"),
        tree.path(&format!("sys/bus/pci/devices/{virtual_one}/physfn")),
    )
    .unwrap();
    tree.function("pci0000:a0/0000:a0:02.0", MELLANOX, 0x06_0400, 1);
    // The old class of InfiniBand, among the serial buses.
    tree.function("pci0000:a0/0000:a0:03.0", MELLANOX, 0x0c_0600, 1);
    let shown: Vec<(String, bool)> = Nic::read_all(&tree.sysfs())
        .iter()
        .map(|nic| (nic.pci.address.to_string(), nic.is_virtual))
        .collect();
    let expected = [("0000:a0:03.0", false), (CARD, false), (virtual_one, true)];
    assert_eq!(
        shown,
        expected.map(|(address, is_virtual)| (address.to_owned(), is_virtual))
    );
}
