//! Secrets of the environment are in nothing that is printed or written: each output is searched for a value that must not be there.

use std::path::Path;

use super::common::{Ran, Scratch};
use super::logged::two_l40;

/// The value of every secret, which begins as nothing else does.
const CANARY: &str = "canary-7f3a91c2";

/// Variables whose names say secrets, some of which begin as those that the libraries read.
const SECRETS: [&str; 6] = [
    "HF_TOKEN",
    "NCCL_SECRET_X",
    "MCCL_API_TOKEN",
    "MY_API_KEY",
    "TPLENS_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
];

#[test]
fn a_secret_of_the_environment_is_in_no_output() {
    let scratch = Scratch::new();
    let many = [
        "--sizes",
        "4K,64K",
        "--samples",
        "6",
        "--json",
        "r.json",
        "--csv",
        "r.csv",
    ];
    let with_secrets = |arguments: Vec<String>| {
        let mut command = scratch.program(arguments);
        command.envs(SECRETS.map(|name| (name, CANARY)));
        // A library that goes another way says why, and names its variables.
        command.env("NCCL_P2P_DISABLE", "1");
        Ran::of(command.output().unwrap())
    };
    let own = |arguments: &[&str]| arguments.iter().map(|part| (*part).to_owned()).collect();
    let kept = scratch.left(with_secrets(scratch.on(&two_l40(), &many)));
    assert_eq!(kept.ran.code, 0, "{}", kept.ran.stderr);
    let mut texts = vec![kept.ran];
    for arguments in [
        &["show", "out"][..],
        &["show", "--csv", "out"],
        &["compare", "r.json", "r.json", "--json", "compared.json"],
        // What goes wrong is reported, too.
        &["--sim", "no-such-box", "--out", "none"],
        &["library", "--backend", "cuda", "--ccl", "nowhere"],
    ] {
        texts.push(with_secrets(own(arguments)));
    }
    for ran in &texts {
        for text in [&ran.stdout, &ran.stderr] {
            assert!(!text.contains(CANARY), "{text}");
        }
    }
    let mut read = 0;
    search(&scratch.join("."), &mut read);
    // Record, journal, the JSON and CSV of the run, the comparison, and the box itself.
    assert!(read >= 6, "{read} files");
    assert!(scratch.join("compared.json").is_file());
}

/// Searches every file below a folder, and counts them.
fn search(folder: &Path, read: &mut usize) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            search(&entry.path(), read);
        }
        // A link names what is found without it.
        if !kind.is_file() {
            continue;
        }
        let bytes = std::fs::read(entry.path()).unwrap();
        let found = bytes
            .windows(CANARY.len())
            .any(|part| part == CANARY.as_bytes());
        assert!(!found, "{}", entry.path().display());
        *read += 1;
    }
}
