//! `tplens topo`: simulated machines, copied trees, captured texts, and what is refused.

use std::fs;

use boxfile::BoxFile;
use serde_json::Value;
use topology::Matrix;

use super::common::{Ran, Scratch, gen4};

/// The matrix that the owner of four L40 printed: GPU0 and GPU1 on node 0, the rest on node 1.
const L40: &str = "\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID
GPU0\t X \tNODE\tSYS\tSYS\tSYS\tSYS\t0-127,256-383\t0\t\tN/A
GPU1\tNODE\t X \tSYS\tSYS\tSYS\tSYS\t0-127,256-383\t0\t\tN/A
GPU2\tSYS\tSYS\t X \tNODE\tNODE\tNODE\t128-255,384-511\t1\t\tN/A
GPU3\tSYS\tSYS\tNODE\t X \tNODE\tNODE\t128-255,384-511\t1\t\tN/A
NIC0\tSYS\tSYS\tNODE\tNODE\t X \tPIX\t\t\t\t
NIC1\tSYS\tSYS\tNODE\tNODE\tPIX\t X \t\t\t\t

Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_1
";

fn json(ran: &Ran) -> Value {
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    serde_json::from_str(&ran.stdout).unwrap()
}

fn matrix(value: &Value) -> Matrix {
    serde_json::from_value(value.clone()).unwrap()
}

/// The classes of the first ends of a matrix, a line for each.
fn classes(matrix: &Matrix, ends: usize) -> Vec<String> {
    let row = |row: &Vec<topology::PathType>| {
        let words: Vec<String> = row.iter().take(ends).map(ToString::to_string).collect();
        words.join(" ")
    };
    matrix.classes.iter().take(ends).map(row).collect()
}

#[test]
fn every_shipped_box_is_shown_with_its_paths_and_leaves_nothing() {
    // What each box's description says, pair by pair in the first row: the matrix's own rules are tested in crate topology.
    for (name, first_row) in [
        ("h200x8", "X NV18 NV18 NV18 NV18 NV18 NV18 NV18"),
        ("l40x4", "X NODE SYS SYS"),
        ("mxc500x4", "X MX MX MX"),
        ("r9700-x16", "X NODE"),
        ("r9700-x8", "X PHB"),
        ("rtxpro6000-bare", "X SYS"),
        ("rtxpro6000-mig", "X SYS"),
    ] {
        let gpus = BoxFile::builtin(name).unwrap().device.len();
        let scratch = Scratch::new();
        let temporary = scratch.join("temporary");
        fs::create_dir(&temporary).unwrap();
        let run = |arguments: &[&str]| {
            let mut command = scratch.program(arguments);
            Ran::of(command.env("TMPDIR", &temporary).output().unwrap())
        };
        let found = json(&run(&["topo", "--sim", name, "--json"]));
        assert_eq!(found["schema"], 2);
        assert_eq!(found["source"], format!("simulated machine {name}"));
        assert_eq!(found["simulated"], name);
        let is_divided = found["mig"] == serde_json::json!([0, 1]);
        assert_eq!(is_divided, name.ends_with("-mig"), "{name}");
        let matrix = matrix(&found["matrix"]);
        assert_eq!(classes(&matrix, gpus)[0], first_row, "{name}");
        let shown = run(&["topo", "--sim", name]);
        assert_eq!((shown.code, shown.stderr.as_str()), (0, ""), "{name}");
        // Only the H200 of these have NVLink, of which no file of sysfs tells, but NVML does.
        assert!(
            !shown.stdout.contains("[fabric-unknown]"),
            "{}",
            shown.stdout
        );
        assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "{name}");
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1, "{name}");
    }
}

#[test]
fn four_l40_are_the_same_matrix_in_their_captured_text_and_in_the_soft_boxes_sysfs() {
    let scratch = Scratch::new();
    fs::write(scratch.join("paste.txt"), L40).unwrap();
    let text = json(&scratch.run(&["topo", "--from", "paste.txt", "--json"]));
    let soft = json(&scratch.run(&["topo", "--sim", "l40x4", "--json"]));
    let (text, soft) = (matrix(&text["matrix"]), matrix(&soft["matrix"]));
    // Four GPUs and two NICs.
    let ends = 6;
    assert_eq!((text.ends.len(), soft.ends.len()), (ends, ends));
    assert_eq!(classes(&text, ends), classes(&soft, ends));
    for (text, soft) in text.ends.iter().zip(&soft.ends) {
        assert_eq!((&text.name, text.kind), (&soft.name, soft.kind));
        if text.cpus.is_some() {
            assert_eq!((&text.cpus, text.node), (&soft.cpus, soft.node));
        }
    }
}

#[test]
fn a_card_that_can_do_more_than_its_slot_is_named() {
    let scratch = Scratch::new();
    let mut described = BoxFile::builtin("l40x4").unwrap();
    let above = described.device[0].parent.clone();
    let port = described.port.iter_mut().find(|port| port.address == above);
    port.unwrap().maximum = Some(gen4(8));
    let file = scratch.write_box(&described);
    let ran = scratch.run(&["doctor", "--sim", &file]);
    // Lines of a screen are broken anywhere.
    let words: Vec<&str> = ran.stdout.split_whitespace().collect();
    let shown = words.join(" ");
    let named: Vec<&str> = shown.split("[slot-below-card]").collect();
    assert_eq!(named.len(), 2, "{shown}");
    let says = ["GPU0", "Gen4 x16", "Gen4 x8"];
    assert!(says.iter().all(|says| named[0].contains(says)), "{shown}");
}

#[test]
fn what_cannot_be_shown_is_one_line_that_says_why() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.join("empty")).unwrap();
    fs::write(scratch.join("cut.txt"), &L40[..150]).unwrap();
    fs::write(scratch.join("letter.txt"), "Dear colleague\n").unwrap();
    for (arguments, says) in [
        (
            &["--root", "empty"][..],
            "give a root folder that holds `sys`",
        ),
        (&["--sim", "l40x4", "--root", "empty"], "--root"),
        (&["--from", "missing.txt"], "cannot read missing.txt"),
        (&["--from", "letter.txt"], "letter.txt"),
        (&["--from", "cut.txt"], "cut.txt"),
        (&["--sim", "no-such-box"], "no-such-box"),
    ] {
        let ran = scratch.run(&[&["topo"], arguments].concat());
        ran.is_wrong_usage(says);
    }
}
