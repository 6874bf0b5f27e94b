//! Far memory, sizes of pageable copies and network cards: reading and refusing them, and the tree of the cards.

use boxfile::{BoxFile, Fault, builtin_names, sysfs};
use std::fs;

/// The L40 box without its own `[[far]]` and `[[nic]]` tables, with some text of a test before its peers.
fn l40_with(text: &str) -> Result<BoxFile, String> {
    let mut described = BoxFile::builtin("l40x4").expect("built in");
    described.far.clear();
    described.nic.clear();
    let plain = described.to_toml().expect("written");
    let (before, after) = plain.split_once("[peer_default]").expect("it has peers");
    BoxFile::from_toml(
        &format!("{before}{text}\n[peer_default]{after}"),
        "l40.toml",
    )
    .map_err(|error| error.to_string())
}

/// A table of what is far, all of whose parts are one half, and 1 us.
fn far(place: &str) -> String {
    let half = "{ value = 0.5, assumed = \"test\" }";
    let parts = [
        "h2d",
        "d2h",
        "h2d_pageable",
        "d2h_pageable",
        "pageable_thread",
    ];
    let parts: Vec<String> = parts
        .iter()
        .map(|part| format!("{part} = {half}"))
        .collect();
    let latency = "latency_us = { value = 1.0, assumed = \"test\" }";
    format!("[[far]]\n{place}\n{}\n{latency}\n", parts.join("\n"))
}

fn refused(text: &str, words: [&str; 2]) {
    let error = l40_with(text).expect_err("the box must be refused");
    for word in words {
        assert!(error.contains(word), "{word} is not in: {error}");
    }
}

#[test]
fn two_nodes_have_their_own_table_before_that_of_their_distance() {
    let own = far("nodes = [1, 0]").replace("0.5", "1.25");
    let described = l40_with(&format!("{}{own}", far("distance = 32"))).expect("valid");
    let part = |from, memory| described.far(from, memory).map(|far| far.h2d.value);
    assert_eq!([part(0, 1), part(1, 0)], [Some(0.5), Some(1.25)]);
    // One node is not far from itself, and a node that is not there from nothing.
    assert_eq!([part(0, 0), part(0, 7), part(7, 0)], [None; 3]);
    let again = BoxFile::from_toml(&described.to_toml().expect("written"), "again").expect("valid");
    assert_eq!(again, described);
}

#[test]
fn a_box_without_such_tables_has_nothing_far() {
    let described = l40_with("").expect("valid");
    assert_eq!(described.far(0, 1), None);
}

#[test]
fn every_builtin_box_with_several_nodes_says_what_is_far() {
    for name in builtin_names() {
        let described = BoxFile::builtin(name).expect("built in");
        for from in &described.node {
            for memory in described.node.iter().filter(|memory| memory.id != from.id) {
                assert!(described.far(from.id, memory.id).is_some(), "{name}");
            }
        }
    }
}

#[test]
fn tables_of_far_memory_that_make_no_sense_are_refused() {
    let good = far("distance = 32");
    refused(&far(""), ["far[0].distance", "either distance or nodes"]);
    refused(
        &far("distance = 32\nnodes = [0, 1]"),
        ["far[0].distance", "either"],
    );
    refused(
        &far("nodes = [0, 2]"),
        ["far[0].nodes", "two different nodes"],
    );
    refused(
        &far("nodes = [1, 1]"),
        ["far[0].nodes", "two different nodes"],
    );
    refused(&far("nodes = [0, 1]"), ["far", "[1, 0]"]);
    refused(&good.replacen("0.5", "0.0", 1), ["far[0].h2d", "above 0"]);
    refused(
        &good.replace("1.0", "-1.0"),
        ["far[0].latency_us", "0 or above"],
    );
    refused(
        &format!("{good}segments = [\"nowhere\"]\n"),
        ["far[0].segments", "a route names [[segment]] tables"],
    );
    refused(&format!("{good}rate = 1\n"), ["unknown field", "rate"]);
}

#[test]
fn pageable_sizes_and_the_refused_bind_are_checked() {
    let mut described = BoxFile::builtin("r9700-x8").expect("built in");
    let small = described.device[0]
        .pageable_up_to
        .as_mut()
        .expect("AMD's runtime has a size");
    // ROCm's default is 1 MiB.
    assert_eq!(small.bytes, 1 << 20);
    small.bytes = 0;
    let error = described.validate("box").expect_err("no bytes").to_string();
    assert!(error.contains("device[0].pageable_up_to.bytes"), "{error}");
    let fault = "[[fault]]\nkind = \"mbind_refused\"\n";
    let with = |node: &str| {
        let plain = BoxFile::builtin("l40x4")
            .expect("built in")
            .to_toml()
            .expect("written");
        BoxFile::from_toml(&format!("{plain}\n{fault}{node}"), "box")
    };
    assert_eq!(
        with("").expect("valid").fault,
        [Fault::MbindRefused { node: None }]
    );
    assert_eq!(
        with("node = 1\n").expect("valid").fault,
        [Fault::MbindRefused { node: Some(1) }]
    );
    let error = with("node = 9\n").expect_err("no such node").to_string();
    assert!(
        error.contains("fault[0].node") && error.contains('9'),
        "{error}"
    );
}

const NIC: &str = "[[nic]]\naddress = \"0000:c1:00.0\"\nparent = \"0000:80:01.1\"\npci_id = \"15b3:101d\"\n\
                   class = \"020700\"\nnode = 1\nrdma = \"mlx5_0\"\n\
                   port = { state = \"DOWN\", link_layer = \"InfiniBand\", rate = \"10 Gb/sec (4X SDR)\" }\n";

#[test]
fn network_cards_that_make_no_sense_are_refused() {
    l40_with(NIC).expect("valid");
    let but = |from: &str, to: &str| {
        assert!(NIC.contains(from), "{from}");
        NIC.replacen(from, to, 1)
    };
    refused(
        &but("0000:80:01.1", "0000:99:01.1"),
        ["nic[0].parent", "root"],
    );
    refused(
        &but("0000:c1:00.0", "0000:21:00.0"),
        ["nic[0].address", "unique"],
    );
    refused(
        &but("15b3:101d", "15b3"),
        ["nic[0].pci_id", "vendor:device"],
    );
    refused(&but("node = 1", "node = 5"), ["nic[0].node", "no [[node]]"]);
    refused(&but("mlx5_0", "../x"), ["nic[0].rdma", "letters"]);
    refused(&but("(4X SDR)", "\\n"), ["nic[0].port.rate", "one line"]);
    refused(&but("DOWN", "UP"), ["state", "UP"]);
}

#[test]
fn the_tree_shows_network_cards_with_their_interfaces_and_ports() {
    let root = std::env::temp_dir().join(format!("boxfile-nics-{}", std::process::id()));
    let described = BoxFile::builtin("l40x4").expect("built in");
    sysfs::write_tree(&described, &root).expect("written");
    let text = |path: &str| {
        let found = fs::read_to_string(root.join(path));
        found
            .unwrap_or_else(|error| panic!("{path}: {error}"))
            .trim_end()
            .to_owned()
    };
    let real = |path: &str| fs::canonicalize(root.join(path)).expect("the link leads somewhere");
    // Both functions of the card are behind one port on node 1.
    for (function, rdma, interface) in [
        ("0000:c1:00.0", "mlx5_0", "ens1f0np0"),
        ("0000:c1:00.1", "mlx5_1", "ens1f1np1"),
    ] {
        let place = real(&format!("sys/bus/pci/devices/{function}"));
        let wanted = format!("sys/devices/pci0000:c0/0000:c0:01.1/{function}");
        assert_eq!(place, real("").join(wanted));
        assert_eq!(
            text(&format!("sys/bus/pci/devices/{function}/numa_node")),
            "1"
        );
        assert_eq!(
            text(&format!("sys/bus/pci/devices/{function}/class")),
            "0x020000"
        );
        assert_eq!(real(&format!("sys/class/infiniband/{rdma}/device")), place);
        assert_eq!(real(&format!("sys/class/net/{interface}/device")), place);
        assert_eq!(text(&format!("sys/class/net/{interface}/operstate")), "up");
        let port = format!("sys/class/infiniband/{rdma}/ports/1");
        assert_eq!(text(&format!("{port}/state")), "4: ACTIVE");
        assert_eq!(text(&format!("{port}/phys_state")), "5: LinkUp");
        assert_eq!(text(&format!("{port}/link_layer")), "Ethernet");
        assert_eq!(text(&format!("{port}/rate")), "100 Gb/sec (4X EDR)");
    }
    fs::remove_dir_all(&root).expect("removed");
}
