//! Broken and truncated texts: one clear line each, and never a wrong box.

use topology::PathType;
use topology::captured::{Captured, CapturedFinding, read};

use crate::captured::{captured, texts};

/// The error of a text; it is one line.
fn refusal(text: &str) -> String {
    let error = read(text).expect_err(text).to_string();
    assert!(
        !error.contains('\n') && !error.contains(char::is_control),
        "{error:?}"
    );
    error
}

#[test]
fn the_error_names_tool_line_place_and_what_to_do() {
    for (text, breaks, with, says) in [
        (
            texts::TOPO_L40,
            "GPU2\tSYS\tSYS",
            "GPU2\tSYS\tHCCS",
            "nvidia-smi topo -m, line 4: row GPU2 has `HCCS` in column GPU1",
        ),
        (
            texts::TOPO_L40,
            "GPU1\tNODE",
            "GPU1\tPIX",
            "line 3: GPU1 and GPU0 contradict each other",
        ),
        (
            texts::TOPO_L40,
            "GPU1\tNODE\t X ",
            "GPU1\tNODE\tSYS",
            "GPU1 and GPU1 contradict each other",
        ),
        (
            texts::TOPO_L40,
            "GPU1\tNODE\t X \t",
            "GPU1\tX\t",
            "line 3: GPU1 and GPU0 contradict each other",
        ),
        (
            texts::TOPO_L40,
            "\t0-127,256-383",
            "\t0-127,256-",
            "row GPU0 has `0-127,256-`, which is no list",
        ),
        (
            texts::TOPO_L40,
            "\nGPU3\t",
            "\nGPU9\t",
            "line 5: `GPU9` begins no row of this table",
        ),
        (
            texts::TOPO_L40,
            "\nGPU1\t",
            "\nG?U1\t",
            "line 3: `G?U1` begins no row of this table",
        ),
        (
            texts::TOPO_L40,
            "\nGPU3\tSYS",
            "\nGPU2\tSYS",
            "line 5: row GPU2 stands there twice",
        ),
        (
            texts::TOPO_L40,
            "GPU1\tGPU2",
            "GPU1\tGPU1",
            "line 1: the header has column `GPU1` twice",
        ),
        (
            texts::TOPO_L40,
            "NUMA Affinity",
            "NUMA Aff",
            "line 1: the header has `NUMA Aff",
        ),
        (
            texts::TOPO_L40,
            "NIC1: mlx5_1",
            "NIC7: mlx5_1",
            "line 22: NIC7 of the legend is no column",
        ),
        (
            texts::P2P_STATUS,
            "GPU1\tGNS",
            "GPU1\tG",
            "nvidia-smi topo -p2p, line 3: row GPU1 has `G` in column GPU0, which is no peer status",
        ),
        (
            texts::LIST_MIG,
            "a37d)",
            "a37d",
            "nvidia-smi -L, line 1: GPU 0 has no whole UUID",
        ),
        (
            texts::LIST_MIG,
            "Device  0: (UUID: MIG-6e",
            "Device  0: (MIG-6e",
            "nvidia-smi -L, line 2: `MIG 1g.10gb     Device  0: (MIG-...",
        ),
        (
            texts::ROCM_TOPO,
            "GPU2   40           40           0 ",
            "GPU2   40           40 ",
            "rocm-smi --showtopo, line 6: row GPU2 is cut short, it has 3 of 4 cells",
        ),
        (
            texts::ROCM_TOPO,
            "Numa Node: 0",
            "Numa Node: zero",
            "line 24: `GPU[0]",
        ),
        (
            texts::AMD_TOPOLOGY,
            "WEIGHT TABLE:",
            "ACCESS TABLE:",
            "amd-smi topology, line 6: the table of access stands in the text twice",
        ),
        (
            texts::AMD_TOPOLOGY,
            "0000:03:00.0 0000:0c:00.0",
            "0000:03:00.0 0000:zz:00.0",
            "line 2: the header of access has `0000:zz:00.0`, which is no PCI address",
        ),
        (
            texts::MX_ONE_GROUP,
            ": 4",
            ": 5",
            "mx-smi topo, line 3: 5 GPUs are attached and the matrix has 4",
        ),
        (
            texts::MX_ONE_GROUP,
            "GPU2    MX",
            "GPU2    NV4",
            "row GPU2 has `NV4` in column GPU0",
        ),
        (
            texts::MX_LIST,
            "0000:06:00.0",
            "0000:06",
            "mx-smi -L, line 1: GPU#0 has no PCI address",
        ),
        (
            texts::NODES_A,
            "nodes (0-1)",
            "nodes (0-2)",
            "numactl -H, line 1: 2 nodes are said and 3 listed",
        ),
        (
            texts::NODES_A,
            "node 1 cpus: 2 3",
            "node 1 cpus: 2 x",
            "line 5: node 1 has `x` among its CPUs",
        ),
        (
            texts::NODES_A,
            "node 1 size: 251 MB\n",
            "",
            "line 6: there is no `node 1 size:`",
        ),
        (
            texts::NODES_A,
            "  1:  21  10",
            "  1:  21  11",
            "line 11: the row of distances of node 1 has `11` to node 1",
        ),
        (
            texts::NODES_A,
            "  1:  21  10",
            "  1:  21",
            "line 11: the row of distances of node 1 has 1 of 2 numbers",
        ),
    ] {
        assert!(text.contains(breaks), "no `{breaks}` in\n{text}");
        let error = refusal(&text.replacen(breaks, with, 1));
        assert!(error.contains(says), "no `{says}` in `{error}`");
        assert!(
            error.contains("paste its whole output again") || error.contains("each once"),
            "{error}"
        );
    }
}

#[test]
fn a_text_of_no_tool_names_the_tools() {
    for text in [
        "",
        "hello\n",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver",
    ] {
        let error = refusal(text);
        assert!(
            error.contains("nvidia-smi topo -m") && error.contains("numactl -H"),
            "{error}"
        );
    }
}

#[test]
fn two_boxes_in_one_text_are_refused() {
    let text = format!("{}\n{}", texts::TOPO_L40, texts::TOPO_PHB);
    // The first one has 22 lines and an empty one follows.
    assert!(
        refusal(&text).contains("nvidia-smi topo -m, line 24: a matrix stands in the text twice")
    );
    let list = format!("{0}{0}", texts::LIST_MIG);
    assert!(refusal(&list).contains("line 5: GPU 0 stands in the text twice"));
}

#[test]
fn sizes_are_bounded() {
    // 2^20 bytes are read, one more is not.
    assert!(refusal(&"x".repeat((1 << 20) + 1)).contains("1048577 bytes"));
    let ends: String = (0..257).map(|gpu| format!("\tGPU{gpu}")).collect();
    assert!(refusal(&format!("{ends}\tCPU Affinity\n")).contains("the header names 257 ends"));
    let cpus = format!(
        "\tGPU0\tCPU Affinity\nGPU0\tX\t{}\n\nLegend:\n",
        "0-65535,".repeat(9)
    );
    assert!(refusal(&cpus).contains("which is no list"));
    let long = format!("\tGPU0\tCPU Affinity\nGPU0\t{}\n", "y".repeat(100_000));
    assert!(refusal(&long).len() < 300);
}

/// Whether all that one says the other says, too.
fn is_part(part: &Captured, whole: &Captured) -> Result<(), String> {
    let check = |holds: bool, what: &str| holds.then_some(()).ok_or_else(|| what.to_owned());
    if let Some(matrix) = &part.matrix {
        let all = whole.matrix.as_ref().ok_or("a matrix")?;
        check(matrix.ends.len() == all.ends.len(), "ends")?;
        for (end, other) in matrix.ends.iter().zip(&all.ends) {
            let cpus = end.cpus.is_none() || end.cpus == other.cpus;
            let node = end.node.is_none() || end.node == other.node;
            check(cpus && node && end.name == other.name, &end.name)?;
        }
        let cells = matrix
            .classes
            .iter()
            .flatten()
            .zip(all.classes.iter().flatten());
        for (class, other) in cells {
            check(class == other || *class == PathType::Unknown, "a class")?;
        }
    }
    for table in &part.tables {
        let all = whole.table(&table.about).ok_or("a table")?;
        for (cell, other) in table.cells.iter().flatten().zip(all.cells.iter().flatten()) {
            check(cell.is_none() || cell == other, &table.about)?;
        }
    }
    let gpus = part
        .gpus
        .iter()
        .map(|gpu| (gpu.number, &gpu.uuid, gpu.address));
    for (number, uuid, address) in gpus {
        let all = whole.gpus.iter().find(|gpu| gpu.number == number);
        let all = all.ok_or("a GPU")?;
        check(uuid.is_none() || *uuid == all.uuid, "a UUID")?;
        check(address.is_none() || address == all.address, "an address")?;
    }
    check(part.nodes.is_empty() || part.nodes == whole.nodes, "nodes")
}

#[test]
fn a_text_cut_anywhere_is_refused_or_says_nothing_wrong() {
    for (name, text) in texts::ALL {
        let whole = captured(text);
        for length in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
            match read(&text[..length]) {
                Ok(part) => {
                    let lacks_rows = part.matrix.as_ref().is_some_and(|matrix| {
                        let unknown = |m: &topology::Matrix| {
                            m.classes
                                .iter()
                                .flatten()
                                .filter(|c| **c == PathType::Unknown)
                                .count()
                        };
                        unknown(matrix) > whole.matrix.as_ref().map_or(0, unknown)
                    });
                    assert!(
                        !lacks_rows || !part.open.is_empty(),
                        "{name} cut at {length}: silent"
                    );
                    let is_end = |one: &_| matches!(one, CapturedFinding::EndMissing { .. });
                    let cut = part.open.iter().any(is_end);
                    if let Err(what) =
                        is_part(&part, &whole).or_else(|what| if cut { Ok(()) } else { Err(what) })
                    {
                        panic!("{name} cut at {length}: other {what}");
                    }
                }
                Err(error) => {
                    let error = error.to_string();
                    assert!(!error.contains('\n'), "{error}");
                }
            }
        }
    }
}
