//! The layer law: a crate uses crates of lower layers only, and programs do not use each other.
//!
//! Dependencies of every kind count, those of tests and build scripts too. What stands inside a crate is not judged.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::process::Command;

use serde_json::Value;

/// Where a crate stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In this layer, and uses crates of lower layers only.
    Layer(u8),
    /// Outside of the product, which does not use it; it uses these.
    Outside(&'static [&'static str]),
}

use Place::{Layer, Outside};

/// Every crate and its place.
const CRATES: &[(&str, Place)] = &[
    ("bounded", Layer(0)),
    ("stats", Layer(1)),
    ("topology", Layer(1)),
    ("numa", Layer(1)),
    ("boxfile", Layer(2)),
    ("record", Layer(2)),
    ("openai", Layer(2)),
    ("runner", Layer(3)),
    ("device", Layer(3)),
    ("doctor", Layer(3)),
    ("tp-plan", Layer(3)),
    ("import", Layer(3)),
    ("engine", Layer(4)),
    ("disagg", Layer(4)),
    ("explain", Layer(5)),
    ("kernels", Layer(4)),
    ("view", Layer(4)),
    ("program", Layer(5)),
    ("inventory", Layer(6)),
    ("accept", Layer(7)),
    ("p2p-bw", Layer(7)),
    ("allreduce-bench", Layer(7)),
    ("serve-bench", Layer(7)),
    ("tplens", Layer(8)),
    ("built", Layer(0)),
    ("softbox", Outside(&["boxfile"])),
    ("soft-nvml", Outside(&["boxfile", "softbox"])),
    ("soft-runtime", Outside(&["boxfile", "softbox"])),
    // In its tests also the libraries that it is exported by, and the drivers that they work with.
    (
        "softccl",
        Outside(&[
            "boxfile",
            "softbox",
            "soft-runtime",
            "soft-nccl",
            "soft-rccl",
            "soft-mccl",
        ]),
    ),
    ("soft-nccl", Outside(&["softccl"])),
    ("soft-rccl", Outside(&["softccl"])),
    ("soft-mccl", Outside(&["softccl"])),
    ("shimcore", Outside(&[])),
    ("shim-nccl", Outside(&["shimcore"])),
    ("shim-rccl", Outside(&["shimcore"])),
    ("xtask", Outside(&[])),
];

fn place(name: &str) -> Result<Place, String> {
    let row = CRATES.iter().find(|(known, _)| *known == name);
    row.map(|(_, place)| *place)
        .ok_or_else(|| format!("{name} has no layer; add it to CRATES in xtask/tests/layers.rs"))
}

/// Says whether a crate may use another of ours.
fn judge(user: &str, used: &str) -> Result<(), String> {
    let allowed = match (place(user)?, place(used)?) {
        (Layer(upper), Layer(lower)) => lower < upper,
        (Layer(_), Outside(_)) => false,
        (Outside(may_use), _) => may_use.contains(&used),
    };
    if allowed {
        Ok(())
    } else {
        Err(format!(
            "{user} ({:?}) must not use {used} ({:?})",
            place(user)?,
            place(used)?
        ))
    }
}

/// Returns each crate of the workspace with those it uses by path.
fn edges() -> Vec<(String, Vec<String>)> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .map(|package| {
            let used = package["dependencies"].as_array().unwrap().iter();
            (
                name(package),
                used.filter(|used| used["path"].is_string())
                    .map(name)
                    .collect(),
            )
        })
        .collect()
}

#[test]
fn every_crate_uses_lower_layers_only() {
    let edges = edges();
    assert!(!edges.is_empty());
    let mut broken = Vec::new();
    for (user, used) in &edges {
        broken.extend(place(user).err());
        broken.extend(used.iter().filter_map(|used| judge(user, used).err()));
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_crate_of_the_table_exists() {
    let edges = edges();
    for (name, _) in CRATES {
        assert!(
            edges.iter().any(|(known, _)| known == name),
            "{name} is gone; take it out of CRATES"
        );
    }
}
