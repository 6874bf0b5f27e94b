//! `tplens topo` and `doctor` on the sysfs of emulated machines, against what lspci, numactl, hwloc and the kernel said there.
//!
//! The machines ran once, under QEMU; each file below `emulated/` holds one: what the tools said, then the files that ours read.
//! Where memory is placed is tested by the crate `numa`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::Value;
use topology::{Machine, Matrix, PciTree, Placed, Sysfs};

use super::common::Scratch;

const MACHINES: [(&str, &str); 3] = [
    ("a", include_str!("emulated/a.txt")),
    ("b", include_str!("emulated/b.txt")),
    ("c", include_str!("emulated/c.txt")),
];

/// Writes the machine's files: `f` a text, `x` bytes in hex and how many there are with the zeros behind them, `l` a link.
fn unpack(root: &Path, machine: &str) {
    for line in machine.lines() {
        let mut words = line.splitn(3, ' ');
        let (kind, path) = (words.next().unwrap(), words.next().unwrap_or_default());
        let content = words.next().unwrap_or_default();
        let file = root.join(path);
        if matches!(kind, "f" | "x" | "l") {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
        }
        match kind {
            "f" => fs::write(file, content.replace("\\n", "\n") + "\n").unwrap(),
            "x" => {
                let (digits, length) = content.split_once(' ').unwrap();
                let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
                let mut bytes: Vec<u8> = (0..digits.len()).step_by(2).map(byte).collect();
                bytes.resize(length.parse().unwrap(), 0);
                fs::write(file, bytes).unwrap();
            }
            "l" => symlink(content, file).unwrap(),
            _ => {}
        }
    }
}

/// The lines of one kind, as words.
fn rows<'a>(machine: &'a str, kind: &'a str) -> impl Iterator<Item = Vec<&'a str>> {
    machine.lines().filter_map(move |line| {
        let words: Vec<&str> = line.split(' ').collect();
        (words[0] == kind).then(|| words[1..].to_vec())
    })
}

/// `0-1,4` and `0,1,4` are the same CPUs.
fn cpus(list: &str) -> Vec<u32> {
    let ranges = list.split(',').filter(|range| !matches!(*range, "" | "-"));
    let ends = ranges.map(|range| range.split_once('-').unwrap_or((range, range)));
    ends.flat_map(|(first, last)| first.parse().unwrap()..=last.parse().unwrap())
        .collect()
}

/// The classes of a matrix by its ends' addresses.
fn classes(matrix: &Matrix) -> BTreeMap<(String, String), String> {
    let address = |at: usize| matrix.ends[at].address.unwrap().to_string();
    let all = 0..matrix.ends.len();
    let pairs = all.clone().flat_map(|a| all.clone().map(move |b| (a, b)));
    let class = |(a, b)| Some(((address(a), address(b)), matrix.class(a, b)?.to_string()));
    pairs.filter_map(class).collect()
}

#[test]
fn emulated_machines_are_as_other_tools_say() {
    for (name, machine) in MACHINES {
        let scratch = Scratch::new();
        let root = scratch.join(name);
        unpack(&root, machine);
        let root = root.to_str().unwrap();
        let ran = scratch.run(&["topo", "--root", root, "--json"]);
        assert_eq!(ran.code, 0, "{name}: {}", ran.stderr);
        let topo: Value = serde_json::from_str(&ran.stdout).unwrap();

        let ours = topo["machine"]["nodes"].as_array().unwrap();
        let nodes: Vec<_> = rows(machine, "node").collect();
        assert_eq!(ours.len(), nodes.len(), "{name}");
        let mut node_cpus = BTreeMap::new();
        for (ours, theirs) in ours.iter().zip(&nodes) {
            assert_eq!(ours["id"].to_string(), theirs[0], "{name}");
            let own = cpus(ours["cpus"].as_str().unwrap());
            assert_eq!(own, cpus(theirs[1]), "{name}: node {}", theirs[0]);
            // numactl prints whole MiB.
            let mib = ours["memory_bytes"].as_u64().unwrap() >> 20;
            assert_eq!(mib.to_string(), theirs[2], "{name}: node {}", theirs[0]);
            let distances =
                (0..nodes.len()).map(|to| ours["distances"][to.to_string()].to_string());
            assert_eq!(
                distances.collect::<Vec<_>>().join(","),
                theirs[3],
                "{name}: node {}",
                theirs[0]
            );
            node_cpus.insert(theirs[0], own);
        }

        let functions = topo["tree"]["functions"].as_array().unwrap();
        let theirs: Vec<_> = rows(machine, "function").collect();
        assert_eq!(functions.len(), theirs.len(), "{name}");
        for row in theirs {
            let [address, node, chain, beside] = row[..] else {
                panic!("{name}: {row:?}");
            };
            let function = functions
                .iter()
                .find(|function| function["pci"]["address"] == address);
            let pci = &function.unwrap_or_else(|| panic!("{name}: {address}"))["pci"];
            let above = pci["chain"]
                .as_array()
                .unwrap()
                .iter()
                .map(|port| port.as_str().unwrap());
            let above = above.collect::<Vec<_>>().join("/");
            assert_eq!(above, chain.replace('-', ""), "{name}: {address}");
            assert_eq!(
                pci["node"].as_i64().unwrap_or(-1).to_string(),
                node,
                "{name}: {address}"
            );
            // hwloc puts a function beside all CPUs where its node has none or is not known.
            let own = node_cpus.get(node).filter(|cpus| !cpus.is_empty());
            let all: Vec<u32> = node_cpus.values().flatten().copied().collect();
            assert_eq!(own.unwrap_or(&all), &cpus(beside), "{name}: {address}");
        }

        // None of these functions is a GPU; any can be an end.
        let sysfs = Sysfs::at(root);
        let (read, tree) = (Machine::read(&sysfs).unwrap(), PciTree::read(&sysfs, false));
        let ends = tree.functions.iter();
        let ends: Vec<_> = ends.map(|one| Placed::gpu(&one.pci, None)).collect();
        let found = classes(&Matrix::of(&sysfs, &read, &ends, &|_, _| None));
        for row in rows(machine, "pair") {
            for (a, b) in [(row[0], row[1]), (row[1], row[0])] {
                let ends = (a.to_owned(), b.to_owned());
                assert_eq!(found[&ends], row[2], "{name}: {ends:?}");
            }
        }

        // QEMU's processor says that it is a guest's.
        let ran = scratch.run(&["doctor", "--root", root, "--json"]);
        assert_eq!(ran.code, 0, "{name}: {}", ran.stderr);
        let doctor: Value = serde_json::from_str(&ran.stdout).unwrap();
        let warned = doctor["findings"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|finding| finding["verdict"] == "warn");
        let rules: Vec<_> = warned
            .map(|finding| finding["rule"].as_str().unwrap())
            .collect();
        assert_eq!(rules, ["guest"], "{name}");
    }
}
