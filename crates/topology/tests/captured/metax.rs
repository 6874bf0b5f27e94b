//! `mx-smi topo -m`, `topo -n` and `-L`.

use topology::EndKind;
use topology::PathType::{Mx, Node, Pix, Same, Sys, Unknown};
use topology::captured::CapturedFinding;

use crate::captured::{captured, classes, texts};

#[test]
fn four_cards_on_metaxlink_are_all_mx() {
    let captured = captured(texts::MX_ONE_GROUP);
    assert_eq!(captured.sources, ["mx-smi topo"]);
    let matrix = captured.matrix.unwrap();
    assert_eq!(
        classes(&matrix),
        ["X MX MX MX", "MX X MX MX", "MX MX X MX", "MX MX MX X"]
    );
    let end = &matrix.ends[3];
    assert_eq!(end.cpus.as_ref().unwrap().to_string(), "0-15");
    assert_eq!(end.node, Some(0));
}

#[test]
fn two_groups_of_four_have_node_between_them() {
    let matrix = captured(texts::MX_TWO_GROUPS).matrix.unwrap();
    for a in 0..8 {
        for b in 0..8 {
            let expected = match (a == b, a / 4 == b / 4) {
                (true, _) => Same,
                (_, true) => Mx,
                _ => Node,
            };
            assert_eq!(matrix.class(a, b), Some(expected), "{a} and {b}");
        }
    }
    assert_eq!(
        matrix.ends[7].cpus.as_ref().unwrap().to_string(),
        "0-31,64-95"
    );
}

#[test]
fn network_cards_are_ends_and_missing_rows_come_from_columns() {
    let captured = captured(texts::MX_WITH_CARDS);
    let matrix = captured.matrix.unwrap();
    // 8 GPUs and 6 cards; the text has the rows of GPU0, GPU4, NIC0 and NIC4.
    assert_eq!(matrix.ends.len(), 14);
    assert_eq!(matrix.ends[8].kind, EndKind::Nic);
    assert_eq!(matrix.class(0, 8), Some(Pix));
    assert_eq!(
        matrix.class(3, 8),
        Some(Pix),
        "from column GPU3 of row NIC0"
    );
    assert_eq!(matrix.class(4, 10), Some(Pix));
    assert_eq!(
        matrix.class(5, 12),
        Some(Sys),
        "from column GPU5 of row NIC4"
    );
    assert_eq!(matrix.class(5, 6), Some(Unknown), "in no row");
    assert_eq!(matrix.ends[4].node, Some(0));
    let [CapturedFinding::RowsMissing { rows, .. }] = captured.open.as_slice() else {
        panic!("{:?}", captured.open);
    };
    assert_eq!(rows[..4], ["GPU1", "GPU2", "GPU3", "GPU5"]);
}

#[test]
fn a_list_has_names_addresses_and_uuids() {
    let text = format!("{}{}", texts::MX_LIST, texts::MX_ONE_GROUP);
    let captured = captured(&text);
    assert_eq!(captured.sources, ["mx-smi -L", "mx-smi topo"]);
    let gpu = &captured.gpus[0];
    assert_eq!(gpu.name.as_deref(), Some("MXC600-AL"));
    assert_eq!(
        gpu.uuid.as_deref(),
        Some("GPU-00000000-0000-0000-0000-000000000000")
    );
    let end = &captured.matrix.unwrap().ends[0];
    assert_eq!(end.address.unwrap().to_string(), "0000:06:00.0");
    assert_eq!(end.label.as_deref(), Some("MXC600-AL"));
}
