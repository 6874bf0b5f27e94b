//! Broken texts: one clear line each.

use topology::captured::read;

use crate::captured::texts;

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
fn the_error_names_tool_line_and_what_to_do() {
    for (text, breaks, with, place) in [
        (
            texts::TOPO_L40,
            "GPU2\tSYS\tSYS",
            "GPU2\tSYS\tHCCS",
            "topo -m, line 4: row GPU2 has `HCCS` in column GPU1",
        ),
        (
            texts::TOPO_L40,
            "GPU1\tNODE",
            "GPU1\tPIX",
            "line 3: row GPU1 has `PIX` in column GPU0",
        ),
        (
            texts::TOPO_L40,
            "\t0-127,256-383",
            "\t0-127,256-",
            "row GPU0 has `0-127,256-`",
        ),
        (texts::TOPO_L40, "\nGPU3\t", "\nGPU9\t", "line 5: `GPU9`"),
        (
            texts::TOPO_L40,
            "NIC1: mlx5_1",
            "NIC7: mlx5_1",
            "line 22: `NIC7`",
        ),
        (
            texts::P2P_STATUS,
            "GPU1\tGNS",
            "GPU1\tG",
            "topo -p2p, line 3: `G`",
        ),
        (texts::LIST_MIG, "a37d)", "a37d", "nvidia-smi -L, line 1: "),
        (
            texts::ROCM_TOPO,
            "GPU2   40           40           0 ",
            "GPU2   40           40 ",
            "rocm-smi --showtopo, line 6: row GPU2 is cut short",
        ),
        (
            texts::AMD_TOPOLOGY,
            "WEIGHT TABLE:",
            "ACCESS TABLE:",
            "amd-smi topology, line 6: the table of access",
        ),
        (
            texts::AMD_TOPOLOGY,
            "0000:03:00.0 0000:0c:00.0",
            "0000:03:00.0 0000:zz:00.0",
            "amd-smi topology, line 2: `0000:zz:00.0`",
        ),
        (
            texts::MX_ONE_GROUP,
            "GPU2    MX",
            "GPU2    HCCS",
            "row GPU2 has `HCCS` in column GPU0",
        ),
        (
            texts::MX_LIST,
            "0000:06:00.0",
            "0000:06",
            "mx-smi -L, line 1: ",
        ),
        (
            texts::NODES_A,
            "nodes (0-1)",
            "nodes (0-2)",
            "numactl -H, line 1: `available: 2 nodes (0-2)`",
        ),
        (
            texts::NODES_A,
            "node 1 cpus: 2 3",
            "node 1 cpus: 2 x",
            "line 5: `node 1 cpus: 2 x`",
        ),
        (texts::NODES_A, "node 1 size: 251 MB\n", "", "line 6: "),
    ] {
        assert!(text.contains(breaks), "no `{breaks}` in\n{text}");
        let error = refusal(&text.replacen(breaks, with, 1));
        assert!(error.contains(place), "no `{place}` in `{error}`");
        assert!(error.contains("paste the whole outputs"), "{error}");
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
    assert!(refusal(&text).contains("nvidia-smi topo -m, line 24: "));
    let list = format!("{0}{0}", texts::LIST_MIG);
    assert!(refusal(&list).contains("line 5: GPU 0 "));
}

#[test]
fn sizes_are_bounded() {
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
