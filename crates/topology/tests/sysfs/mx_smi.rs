//! Texts of `mx-smi`, built line by line as the tool aligns them: four cards on MetaXLink, two groups of four, network cards.

use topology::mx_smi::{Matrix, list, topo_m};
use topology::{Fabric, PathType, with_fabric};

use crate::sysfs::fixture::at;

/// A table of `topo -m`: cells are padded to eight columns, and the last two columns are affinities.
fn table(names: &[&str], rows: &[Vec<&str>], attached: usize) -> String {
    let padded = |cells: &[&str]| {
        cells
            .iter()
            .map(|cell| format!("{cell:<8}"))
            .collect::<String>()
    };
    let mut text = format!(
        "=================== MetaX System Management Interface Log ===================\n\
         Timestamp                                         : Wed Feb 11 16:37:10 2026\n\n\
         Attached GPUs                                     : {attached}\n\
         Device link type matrix\n        {}Node Affinity  CPU Affinity\n",
        padded(names)
    );
    for (name, cells) in names.iter().zip(rows) {
        let affinity = if name.starts_with("GPU") {
            "0              0-31,64-95"
        } else {
            ""
        };
        text += &format!("{name:<8}{}{affinity}\n", padded(cells));
    }
    text + "\nLegend:\n  X    = Self\n  MX   = Connection traversing MetaXLink\n  NA   = Connection type is unknown\n"
}

/// `near` within groups of four, NODE between them.
fn grouped(count: usize) -> String {
    let names: Vec<String> = (0..count).map(|gpu| format!("GPU{gpu}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let cell = |a: usize, b: usize| match (a == b, a / 4 == b / 4) {
        (true, _) => "X",
        (_, true) => "MX",
        _ => "NODE",
    };
    let rows: Vec<Vec<&str>> = (0..count)
        .map(|a| (0..count).map(|b| cell(a, b)).collect())
        .collect();
    table(&names, &rows, count)
}

fn classes(matrix: &Matrix) -> Vec<String> {
    let row = |a| {
        let names =
            (0..matrix.gpus()).map(|b| matrix.class(a, b).expect("within the matrix").name());
        names.collect::<Vec<_>>().join(" ")
    };
    (0..matrix.gpus()).map(row).collect()
}

fn refusal(text: &str) -> String {
    let error = topo_m(text).expect_err(text).to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn four_cards_on_metaxlink_are_all_mx() {
    let matrix = topo_m(&grouped(4)).unwrap();
    assert_eq!(
        classes(&matrix),
        ["X MX MX MX", "MX X MX MX", "MX MX X MX", "MX MX MX X"]
    );
    assert_eq!(matrix.class(0, 4), None);
}

#[test]
fn two_groups_of_four_have_node_between_them() {
    let matrix = topo_m(&grouped(8)).unwrap();
    assert_eq!(matrix.gpus(), 8);
    assert_eq!(matrix.class(3, 0), Some(PathType::Mx));
    assert_eq!(matrix.class(3, 4), Some(PathType::Node));
}

#[test]
fn network_cards_are_left_out_and_words_without_class_are_unknown() {
    let names = ["GPU0", "NIC0", "GPU1"];
    let rows = [
        vec!["X", "PIX", "ETH"],
        vec!["PIX", "X", "SYS"],
        vec!["ETH", "SYS", "X"],
    ];
    let matrix = topo_m(&table(&names, &rows, 2)).unwrap();
    assert_eq!(classes(&matrix), ["X UNKNOWN", "UNKNOWN X"]);
}

#[test]
fn strange_texts_are_one_line_that_names_what_is_wrong() {
    let whole = grouped(4);
    for (text, says) in [
        (String::new(), "there is no `Device link type matrix`"),
        (
            "Device link type matrix".to_owned(),
            "its header has 0 GPUs",
        ),
        (
            whole.replace(": 4", ": 5"),
            "5 GPUs are attached and the matrix has 4",
        ),
        (
            whole.replace("GPU2    MX", "GPU2    HCCS"),
            "row GPU2 has `HCCS`",
        ),
        (
            whole.replacen("X       MX", "X       PIX", 1),
            "GPU1 and GPU0 contradict",
        ),
        (
            whole.replace("GPU3    MX", "GPU4    MX"),
            "there is no row GPU3",
        ),
        (
            whole.replace("X       MX      MX      MX", "MX      X       MX      MX"),
            "GPU0 and GPU0 contradict",
        ),
    ] {
        let error = refusal(&text);
        assert!(error.contains(says), "no `{says}` in {error}");
    }
}

#[test]
fn a_text_cut_anywhere_is_refused_or_whole() {
    let text = grouped(8);
    let whole = topo_m(&text).unwrap();
    let mut read = 0;
    for length in 0..text.len() {
        // The table is ASCII, so every length is a cut between characters.
        match topo_m(&text[..length]) {
            Ok(matrix) => {
                assert_eq!(matrix, whole, "{length}");
                read += 1;
            }
            Err(error) => assert!(!error.to_string().contains('\n'), "{length}"),
        }
    }
    // The last cell is the X of GPU7; all that follows it is not read.
    let after_last_cell = text.len() - text.rfind("X       0  ").unwrap() - 1;
    assert_eq!(read, after_last_cell);
}

#[test]
fn random_bytes_in_a_table_never_break_the_reader() {
    // Numerical Recipes' linear congruential generator; the seed does not matter.
    let mut state: u32 = 4;
    let mut random = |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % below
    };
    let text = grouped(4);
    for _ in 0..20_000 {
        let mut bytes = text.clone().into_bytes();
        for _ in 0..=random(4) {
            let at = random(bytes.len());
            match random(3) {
                0 => bytes[at] = u8::try_from(random(256)).unwrap(),
                1 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, b"\n X:GPU9"[random(8)]),
            }
        }
        let strange = String::from_utf8_lossy(&bytes);
        if let Ok(matrix) = topo_m(&strange) {
            // What is read at all is a matrix: symmetric, with itself on the diagonal only.
            for a in 0..matrix.gpus() {
                assert_eq!(matrix.class(a, a), Some(PathType::Same));
                for b in 0..matrix.gpus() {
                    assert_eq!(matrix.class(a, b), matrix.class(b, a));
                }
            }
        }
        assert_ne!(list(&strange), Some(Vec::new()));
    }
}

#[test]
fn the_list_gives_addresses_in_the_tools_order() {
    let text = "GPU#0    MXC600-AL    0000:06:00.0    Available (UUID: GPU-00)\n\
                GPU#1    MXC500 rev: 2    0000:01:00.0    Available (UUID: GPU-01)\n";
    assert_eq!(list(text), Some(vec![at("06:00.0"), at("01:00.0")]));
    assert_eq!(
        list("GPU#1    MXC500    0000:01:00.0"),
        None,
        "GPU 0 is missing"
    );
    assert_eq!(list("GPU#0    MXC500    Available"), None);
    assert_eq!(list("mx-smi: no device"), None);
}

#[test]
fn metaxlink_wins_over_the_pci_tree_and_nothing_else_does() {
    let gpus: Vec<_> = (0..8).map(|gpu| at(&format!("{gpu:02x}:00.0"))).collect();
    let fabric = Fabric::new(topo_m(&grouped(8)).unwrap(), gpus.clone()).unwrap();
    let path = |path, a: usize, b: usize| with_fabric(path, gpus[a], gpus[b], &fabric);
    assert_eq!(path(PathType::Phb, 0, 1), PathType::Mx);
    assert_eq!(path(PathType::Sys, 7, 4), PathType::Mx);
    // The tool says NODE; the tree knows better.
    assert_eq!(path(PathType::Sys, 0, 4), PathType::Sys);
    assert_eq!(path(PathType::Same, 2, 2), PathType::Same);
    assert_eq!(
        with_fabric(PathType::Phb, gpus[0], at("99:00.0"), &fabric),
        PathType::Phb
    );
    assert_eq!(
        Fabric::new(topo_m(&grouped(4)).unwrap(), gpus),
        None,
        "4 are not 8"
    );
    assert_eq!(serde_json::to_string(&PathType::Mx).unwrap(), "\"MX\"");
}
