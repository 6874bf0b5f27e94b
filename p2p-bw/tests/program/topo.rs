//! `p2p-bw topo`: soft boxes, copied trees, captured texts, and what is refused.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use boxfile::BoxFile;
use serde_json::Value;
use topology::Matrix;

use super::common::{Ran, Scratch};

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

/// A function of a tree with its link, as the kernel shows it.
fn function(root: &Path, path: &str, class: &str, node: i32) {
    let (_, name) = path.rsplit_once('/').unwrap();
    let folder = root.join("sys/devices").join(path);
    fs::create_dir_all(&folder).unwrap();
    for (file, text) in [
        ("vendor", "0x1af4"),
        ("device", "0x1005"),
        ("class", class),
        ("numa_node", &node.to_string()),
        ("current_link_speed", "2.5 GT/s PCIe"),
        ("current_link_width", "1"),
        ("max_link_speed", "2.5 GT/s PCIe"),
        ("max_link_width", "1"),
    ] {
        fs::write(folder.join(file), format!("{text}\n")).unwrap();
    }
    let links = root.join("sys/bus/pci/devices");
    fs::create_dir_all(&links).unwrap();
    symlink(Path::new("../../../devices").join(path), links.join(name)).unwrap();
}

/// A machine with a memory-only node, a switch and a second one below it, with two devices and a network card.
fn cascaded(root: &Path) {
    let port = "pci0000:40/0000:40:00.0";
    let first = format!("{port}/0000:41:00.0");
    let second = format!("{first}/0000:42:01.0/0000:44:00.0");
    for (path, class) in [
        (port.to_owned(), "0x060400"),
        (first.clone(), "0x060400"),
        (format!("{first}/0000:42:00.0"), "0x060400"),
        (format!("{first}/0000:42:01.0"), "0x060400"),
        (second.clone(), "0x060400"),
        (format!("{second}/0000:45:00.0"), "0x060400"),
        (format!("{second}/0000:45:01.0"), "0x060400"),
        (format!("{first}/0000:42:00.0/0000:43:00.0"), "0x00ff00"),
        (format!("{second}/0000:45:00.0/0000:46:00.0"), "0x00ff00"),
        (format!("{second}/0000:45:01.0/0000:47:00.0"), "0x020000"),
    ] {
        function(root, &path, class, 1);
    }
    for (node, cpus, distance, kib) in [(0, "0-1", "10 17", 256_348), (1, "", "17 10", 225_296)] {
        let folder = root.join(format!("sys/devices/system/node/node{node}"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("cpulist"), format!("{cpus}\n")).unwrap();
        fs::write(folder.join("distance"), format!("{distance}\n")).unwrap();
        let meminfo = format!("Node {node} MemTotal:  {kib} kB\n");
        fs::write(folder.join("meminfo"), meminfo).unwrap();
    }
}

#[test]
fn every_shipped_box_is_shown_with_its_paths_and_leaves_nothing() {
    // What each box's description says, pair by pair in the first row: the matrix's own rules are tested in crate topology.
    for (name, first_row) in [
        ("h200x8", "X PIX NODE NODE SYS SYS SYS SYS"),
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
        assert_eq!(found["schema"], 1);
        assert_eq!(found["source"], format!("soft box {name}"));
        assert_eq!(found["simulated"], name);
        let matrix = matrix(&found["matrix"]);
        assert_eq!(classes(&matrix, gpus)[0], first_row, "{name}");
        let shown = run(&["topo", "--sim", name]);
        assert_eq!((shown.code, shown.stderr.as_str()), (0, ""), "{name}");
        let mark = format!("SIMULATED: soft box {name} ");
        assert!(shown.stdout.starts_with(&mark), "{}", shown.stdout);
        // Only the H200 of these have NVLink, which no file of sysfs shows.
        let says_nvlink = shown.stdout.contains("NVLink is in no file");
        assert_eq!(says_nvlink, name == "h200x8", "{}", shown.stdout);
        for end in &matrix.ends {
            let address = end.address.unwrap().to_string();
            assert!(shown.stdout.contains(&address), "{name}: {}", shown.stdout);
        }
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
fn a_picture_is_written_beside_the_text() {
    let scratch = Scratch::new();
    let drawn = scratch.run(&["topo", "--sim", "mxc500x4", "--svg", "box.svg"]);
    assert_eq!(
        (drawn.code, drawn.stderr.as_str()),
        (0, ""),
        "{}",
        drawn.stdout
    );
    assert!(drawn.stdout.contains("NUMA nodes"), "{}", drawn.stdout);
    let svg = fs::read_to_string(scratch.join("box.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    for says in ["GPU3", "node 7", "MX"] {
        assert!(svg.contains(says), "no `{says}` in the picture");
    }
    let nowhere = scratch.run(&["topo", "--sim", "mxc500x4", "--svg", "no/box.svg"]);
    nowhere.is_wrong_usage("there is no folder no");
}

#[test]
fn nccl_counts_host_bridges_of_one_node_as_one_and_that_is_marked() {
    let scratch = Scratch::new();
    let arguments = ["topo", "--sim", "l40x4", "--gpus", "0,0000:61:00.0"];
    let shown = scratch.run(&arguments);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(
        shown.stdout.contains("GPU0   X    PHB*"),
        "{}",
        shown.stdout
    );
    let found = json(&scratch.run(&[&arguments[..], &["--json"]].concat()));
    assert_eq!(classes(&matrix(&found["matrix"]), 2), ["X NODE", "NODE X"]);
    assert_eq!(classes(&matrix(&found["nccl"]), 2), ["X PHB", "PHB X"]);
}

#[test]
fn a_card_in_a_slot_of_half_its_width_is_told() {
    let scratch = Scratch::new();
    let shown = scratch.run(&["topo", "--sim", "r9700-x8"]);
    // Gen5 x8 now, both ends can do x16.
    assert!(
        shown.stdout.contains("Gen5 x8    Gen5 x16  x8 of x16"),
        "{}",
        shown.stdout
    );
    let wide = scratch.run(&["topo", "--sim", "r9700-x16"]);
    assert!(!wide.stdout.contains(" of x16"), "{}", wide.stdout);
}

#[test]
fn a_copied_tree_is_read_with_functions_that_are_no_gpu() {
    let scratch = Scratch::new();
    let root = scratch.join("copy");
    cascaded(&root);
    let found = json(&scratch.run(&["topo", "--root", "copy", "--also", "all", "--json"]));
    let found_matrix = matrix(&found["matrix"]);
    let names: Vec<&str> = found_matrix
        .ends
        .iter()
        .map(|end| end.name.as_str())
        .collect();
    assert_eq!(names, ["NIC0", "DEV0", "DEV1"]);
    // 47 and 46 are below the second switch, 43 below the first one only.
    assert_eq!(
        classes(&found_matrix, 3),
        ["X PXB PIX", "PXB X PXB", "PIX PXB X"]
    );
    assert_eq!(
        classes(&matrix(&found["nccl"]), 3),
        classes(&found_matrix, 3)
    );
    assert_eq!(found["machine"]["nodes"][1]["distances"]["0"], 17);
    assert_eq!(found["tree"]["functions"].as_array().unwrap().len(), 10);
    let shown = scratch.run(&["topo", "--root", "copy", "--also", "0000:46:00.0"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    for says in [
        "no GPU found on PCI Express",
        "DEV0",
        "none, memory only",
        "whether this is a virtual machine is not known",
    ] {
        assert!(
            shown.stdout.contains(says),
            "no `{says}` in {}",
            shown.stdout
        );
    }
    assert!(!shown.stdout.contains("DEV1"), "{}", shown.stdout);
}

#[test]
fn a_pipe_in_a_copied_tree_is_as_if_it_were_not_there() {
    let scratch = Scratch::new();
    let root = scratch.join("copy");
    cascaded(&root);
    let card = root.join("sys/bus/pci/devices/0000:47:00.0");
    for file in ["numa_node", "max_link_width", "config"] {
        // The file may not be there yet.
        let _ = fs::remove_file(card.join(file));
        let made = Command::new("mkfifo").arg(card.join(file)).status();
        assert!(made.unwrap().success());
    }
    let found = json(&scratch.run(&["topo", "--root", "copy", "--json"]));
    assert_eq!(found["devices"][0]["pci"]["node"], Value::Null);
    assert_eq!(found["devices"][0]["card_maximum"], Value::Null);
}

#[test]
fn a_crowd_of_ends_is_listed_whole_and_its_first_512_have_a_matrix() {
    let scratch = Scratch::new();
    let root = scratch.join("copy");
    let port = "pci0000:40/0000:40:00.0";
    function(&root, port, "0x060400", 0);
    // Two buses of 32 devices with 8 functions each, and eight more.
    let ends = 2 * 32 * 8 + 8;
    for end in 0..ends {
        let (bus, device, number) = (0x41 + end / 256, end / 8 % 32, end % 8);
        let path = format!("{port}/0000:{bus:02x}:{device:02x}.{number}");
        function(&root, &path, "0x020000", 0);
    }
    let found = json(&scratch.run(&["topo", "--root", "copy", "--json"]));
    let (smi, nccl) = (matrix(&found["matrix"]), matrix(&found["nccl"]));
    for matrix in [smi, nccl] {
        assert_eq!(matrix.ends.len(), 512);
        assert_eq!(
            matrix.classes.iter().map(Vec::len).sum::<usize>(),
            512 * 512
        );
    }
    assert_eq!(found["devices"].as_array().unwrap().len(), ends);
    assert_eq!(found["devices"][ends - 1]["end"]["name"], "NIC519");
    let shown = scratch.run(&["topo", "--root", "copy"]);
    let says = "the matrices hold the first 512 of 520 ends";
    assert!(shown.stdout.contains(says), "{}", shown.stdout);
    // Two matrices of 512 rows, and a row for each of the 520 in the lists of NICs and of their ports at most.
    let rows = shown
        .stdout
        .lines()
        .filter(|line| line.starts_with("  NIC"));
    assert!(rows.count() <= 2 * 512 + 2 * ends);
}

#[test]
fn no_name_of_a_tree_draws_on_the_screen() {
    let scratch = Scratch::new();
    let root = scratch.join("copy");
    cascaded(&root);
    let card = root.join("sys/bus/pci/devices/0000:47:00.0");
    fs::create_dir_all(card.join("net/\u{1b}[2Jeth0\nGPU0")).unwrap();
    symlink("../\u{9b}31mdriver", card.join("driver")).unwrap();
    let shown = scratch.run(&["topo", "--root", "copy"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(
        !shown
            .stdout
            .contains(|letter: char| letter.is_control() && letter != '\n')
    );
    assert!(
        !shown
            .stdout
            .lines()
            .any(|line| line.trim_start().starts_with("GPU0")),
        "{}",
        shown.stdout
    );
}

#[test]
fn links_that_the_matrix_cannot_tell_are_named_below_it_and_in_the_picture() {
    let scratch = Scratch::new();
    let shown = scratch.run(&["topo", "--sim", "h200x8", "--svg", "box.svg"]);
    let lines: Vec<&str> = shown.stdout.lines().collect();
    let last = lines.iter().position(|line| line.starts_with("  GPU7"));
    let below = lines[last.unwrap() + 1];
    assert!(below.starts_with("  NVLink is in no file"), "{below}");
    let svg = fs::read_to_string(scratch.join("box.svg")).unwrap();
    assert!(svg.contains("NVLink is in no file"));
    assert!(svg.contains("max-width:100%"));
}

#[test]
fn what_a_text_lacks_or_contradicts_stands_above_its_matrix() {
    let scratch = Scratch::new();
    let (first, second) = ("GPU-11111111-aaaa", "GPU-22222222-bbbb");
    let list = format!("GPU 0: NVIDIA L40 (UUID: {first})\nGPU 1: NVIDIA L40 (UUID: {second})\n");
    fs::write(scratch.join("two.txt"), format!("{list}\n{L40}")).unwrap();
    let shown = scratch.run(&["topo", "--from", "two.txt"]);
    // The list has two GPUs and the matrix four.
    let line = shown.stdout.lines().nth(1).unwrap();
    assert!(
        line.starts_with("these may be of different machines")
            && line.contains("nvidia-smi topo -m 4, nvidia-smi -L 2"),
        "{}",
        shown.stdout
    );
    let rows: String = L40.split_inclusive('\n').take(2).collect();
    fs::write(scratch.join("row.txt"), rows).unwrap();
    let shown = scratch.run(&["topo", "--from", "row.txt"]);
    let at = |text: &str| shown.stdout.find(text).expect(text);
    assert!(at("lacks rows GPU1") < at("Paths as"), "{}", shown.stdout);
    // GPU1 to GPU2 stands in no row that is left.
    assert!(at("UNKNOWN not told by the text") > at("Paths as"));
}

#[test]
fn a_text_is_also_taken_from_standard_input() {
    let scratch = Scratch::new();
    let mut command = scratch.program(["topo", "--from", "-"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(L40.as_bytes())
        .unwrap();
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("mlx5_1") && ran.stdout.contains("NODE"),
        "{}",
        ran.stdout
    );
}

#[test]
fn standard_input_is_named_where_it_is_refused() {
    let scratch = Scratch::new();
    let mut command = scratch.program(["topo", "--from", "-"]);
    let ran = Ran::of(command.stdin(Stdio::null()).output().unwrap());
    ran.is_wrong_usage("standard input: no output of a tool");
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
        (
            &["--sim", "l40x4", "--gpus", "4"],
            "--gpus 4: no such GPU; this box shows 4",
        ),
        (&["--sim", "l40x4", "--gpus", "0,0"], "twice"),
        (
            &["--gpus", "x"],
            "`x` is neither a number nor a PCI address",
        ),
        (&["--also", "first"], "`first` is not a PCI address"),
        (
            &["--sim", "l40x4", "--also", "0000:99:00.0"],
            "there is no such PCI function",
        ),
        (
            &["--sim", "l40x4", "--also", "0000:21:00.0"],
            "shown anyway",
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

#[test]
fn this_machine_is_shown() {
    let scratch = Scratch::new();
    let found = json(&scratch.run(&["topo", "--json"]));
    assert_eq!(found["source"], "sysfs");
    let shown = scratch.run(&["topo"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(shown.stdout.contains("NUMA nodes"), "{}", shown.stdout);
}
