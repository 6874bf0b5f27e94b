//! `nvidia-smi topo -m`, `topo -p2p` and `-L`.

use topology::EndKind;
use topology::PathType::{Node, Nv, Pix, Pxb, Same, Sys, Unknown};
use topology::captured::CapturedFinding;

use crate::captured::{captured, classes, texts};

#[test]
fn the_l40_box_has_the_matrix_that_its_owner_reported() {
    let captured = captured(texts::TOPO_L40);
    assert_eq!(captured.sources, ["nvidia-smi topo -m"]);
    let matrix = captured.matrix.unwrap();
    // GPU0-GPU1 and GPU2-GPU3 NODE, other GPUs SYS; the cards PIX to each other, NODE to GPU2 and GPU3, SYS to GPU0 and GPU1.
    let (x, n, s, p) = (Same, Node, Sys, Pix);
    let expected = [
        [x, n, s, s, s, s],
        [n, x, s, s, s, s],
        [s, s, x, n, n, n],
        [s, s, n, x, n, n],
        [s, s, n, n, x, p],
        [s, s, n, n, p, x],
    ];
    assert_eq!(matrix.classes, expected.map(Vec::from));
    let seen: Vec<_> = matrix
        .ends
        .iter()
        .map(|end| {
            let cpus = end.cpus.as_ref().map(ToString::to_string);
            (
                end.name.as_str(),
                end.kind,
                end.label.as_deref(),
                cpus,
                end.node,
            )
        })
        .collect();
    let near = || Some("0-127,256-383".to_owned());
    let far = || Some("128-255,384-511".to_owned());
    assert_eq!(
        seen,
        [
            ("GPU0", EndKind::Gpu, None, near(), Some(0)),
            ("GPU1", EndKind::Gpu, None, near(), Some(0)),
            ("GPU2", EndKind::Gpu, None, far(), Some(1)),
            ("GPU3", EndKind::Gpu, None, far(), Some(1)),
            ("NIC0", EndKind::Nic, Some("mlx5_0"), None, None),
            ("NIC1", EndKind::Nic, Some("mlx5_1"), None, None),
        ]
    );
    assert!(captured.open.is_empty(), "{:?}", captured.open);
}

#[test]
fn rows_that_a_partial_matrix_lacks_come_from_its_columns_and_are_told() {
    let captured = captured(texts::TOPO_NVLINK);
    let matrix = captured.matrix.unwrap();
    // 8 GPUs and 18 cards, of which the text has the rows of GPU0 and GPU1 only.
    assert_eq!(matrix.ends.len(), 26);
    assert_eq!(matrix.class(0, 1), Some(Nv(18)));
    assert_eq!(
        matrix.class(7, 1),
        Some(Nv(18)),
        "from column GPU7 of row GPU1"
    );
    assert_eq!(
        matrix.class(8, 0),
        Some(Pxb),
        "from column NIC0 of row GPU0"
    );
    assert_eq!(matrix.class(6, 7), Some(Unknown), "in no row");
    assert_eq!(matrix.class(25, 25), Some(Same));
    assert_eq!(matrix.ends[1].node, Some(0));
    assert_eq!(matrix.ends[2].node, None);
    let [CapturedFinding::RowsMissing { rows, .. }] = captured.open.as_slice() else {
        panic!("{:?}", captured.open);
    };
    // 26 ends less 2 rows.
    assert_eq!((rows.len(), rows[0].as_str()), (24, "GPU2"));
}

#[test]
fn underlined_headers_are_read_with_and_without_the_escape_character() {
    for (on, off) in [
        ("\u{1b}[4m", "\u{1b}[0m"),
        ("[4m", "[0m"),
        ("\u{1b}[1;4m", "\u{1b}[m"),
    ] {
        let text = format!(
            "\t{on}GPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID{off}\n\
             GPU0\t X \tNV4\t0-7\t0\t\tN/A\nGPU1\tNV4\t X \t0-7\t0\t\tN/A\n"
        );
        let matrix = captured(&text).matrix.unwrap();
        assert_eq!(matrix.classes, [[Same, Nv(4)], [Nv(4), Same]]);
    }
}

#[test]
fn cards_of_older_drivers_are_columns_by_their_own_names() {
    let text = "        GPU0    GPU1    mlx5_0  mlx5_bond_1     CPU Affinity    NUMA Affinity\n\
                GPU0     X      SOC     PIX     SYS             0-11            0\n\
                GPU1    SOC      X      SYS     PHB             12-23           1\n\
                mlx5_0  PIX     SYS      X      SYS\n\
                mlx5_bond_1     SYS     PHB     SYS      X\n";
    let matrix = captured(text).matrix.unwrap();
    // SOC is the old word for SYS.
    assert_eq!(
        classes(&matrix),
        [
            "X SYS PIX SYS",
            "SYS X SYS PHB",
            "PIX SYS X SYS",
            "SYS PHB SYS X"
        ]
    );
    assert_eq!(matrix.ends[3].label.as_deref(), Some("mlx5_bond_1"));
    assert_eq!(matrix.ends[1].node, Some(1));
}

#[test]
fn affinities_that_the_driver_does_not_know_are_absent() {
    // WSL prints the last column only; a virtual machine prints N/A everywhere; a GPU between two nodes has a list.
    for (row, cpus, node) in [
        ("GPU0\t X \t\t\t\tN/A", None, None),
        ("GPU0\t X \tN/A\tN/A\t\tN/A", None, None),
        ("GPU0\t X \t0-7\t0-1\t\tN/A", Some("0-7"), None),
        ("GPU0\t X \t0-7\t3\t\t1", Some("0-7"), Some(3)),
    ] {
        let text = format!("\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n{row}\n\nLegend:\n");
        let end = captured(&text).matrix.unwrap().ends.remove(0);
        assert_eq!(
            end.cpus.map(|cpus| cpus.to_string()).as_deref(),
            cpus,
            "{row}"
        );
        assert_eq!(end.node, node, "{row}");
    }
}

#[test]
fn one_number_under_two_affinities_is_left_open() {
    let text = "\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t\t0\n\nLegend:\n";
    let captured = captured(text);
    let end = &captured.matrix.unwrap().ends[0];
    assert_eq!((&end.cpus, end.node), (&None, None));
    assert_eq!(captured.open[0].code(), "affinity-unclear");
}

#[test]
fn peer_status_is_a_table_of_words() {
    let captured = captured(texts::P2P_STATUS);
    assert_eq!(captured.sources, ["nvidia-smi topo -p2p"]);
    let table = captured.table("peer status").unwrap();
    assert_eq!(table.cell(0, 1), Some("GNS"));
    assert_eq!(table.cell(1, 1), Some("X"));
    assert_eq!(captured.matrix, None);
}

#[test]
fn the_command_above_says_which_status_was_asked_for() {
    let status = texts::P2P_STATUS;
    let text = format!(
        "$ nvidia-smi topo -p2p r\n{status}\n$ nvidia-smi topo -p2p w\n{}",
        status.replace("GNS", "OK")
    );
    let captured = captured(&text);
    assert_eq!(
        captured.table("peer status (read)").unwrap().cell(0, 1),
        Some("GNS")
    );
    assert_eq!(
        captured.table("peer status (write)").unwrap().cell(0, 1),
        Some("OK")
    );
}

#[test]
fn a_list_names_gpus_and_their_mig_devices() {
    let gpus = captured(texts::LIST_MIG).gpus;
    assert_eq!(gpus.len(), 2);
    assert_eq!(gpus[1].name.as_deref(), Some("NVIDIA A100-SXM4-40GB"));
    assert_eq!(
        gpus[1].uuid.as_deref(),
        Some("GPU-e109d8d9-923e-7235-0429-96b7fdbcbd30")
    );
    assert_eq!(gpus[1].mig.len(), 1);
    let mig = &gpus[1].mig[0];
    assert_eq!((mig.number, mig.profile.as_str()), (0, "1g.10gb"));
    assert_eq!(mig.uuid, "MIG-b4bcd4f3-6f69-516d-9404-b5ada80d760b");
    let vgpus = captured(texts::LIST_VGPU).gpus;
    assert_eq!(vgpus[0].mig[0].profile, "4g.96gb");
}

// Two GPUs and a card of two ports; the paste begins with the first row.
#[test]
fn a_matrix_without_its_header_is_read_by_its_rows() {
    let text =
        "GPU0\t X \tNV18\tPXB\tSYS\t0-31\t0\t\tN/A\nGPU1\tNV18\t X \tSYS\tPXB\t32-63\t1\t\tN/A\n";
    let captured = captured(text);
    let matrix = captured.matrix.unwrap();
    let names: Vec<&str> = matrix.ends.iter().map(|end| end.name.as_str()).collect();
    assert_eq!(names, ["GPU0", "GPU1", "NIC0", "NIC1"]);
    assert_eq!(
        (matrix.class(0, 1), matrix.class(1, 3)),
        (Some(Nv(18)), Some(Pxb))
    );
    assert_eq!(matrix.ends[1].node, Some(1));
    assert_eq!(captured.open[0].code(), "file-cut");
}
