//! Rules for Rust source files.
//!
//! What clippy and rustc can check is left to the lints in the root manifest.

use super::Finding;

/// Beyond this many lines a file must say why.
const TOO_LONG: usize = 600;
/// How a file says so in its head.
const REASON: &str = "//! Long because";

/// Where `unsafe` may stand: how a path begins and how it ends.
const UNSAFE_ALLOWED: &[(&str, &str)] = &[
    ("crates/device/", "/ffi.rs"),
    ("crates/device/src/library.rs", ""),
    ("crates/numa/src/ffi.rs", ""),
    ("kernels/src/launch.rs", ""),
    ("serve-bench/src/kv/ffi.rs", ""),
    ("soft/", ".rs"),
    ("shim/", ".rs"),
];

/// Where what a simulated machine needs may be named: the simulator, what stands before libraries, and what describes a machine.
const OF_SIMULATOR: &[&str] = &[
    "soft/",
    "shim/",
    "xtask/",
    "crates/boxfile/",
    "crates/engine/",
];

/// Words of the simulator that product code does without: it knows `--sim`, the mark in the record, and how much to copy there
/// (`program::Effort`).
const SIMULATOR: &[&str] = &[
    "VirtualClock",
    "virtual clock",
    "SoftNodes",
    "VIRTUAL_POOL",
    "VIRTUAL_CALLS",
    "MOST_VIRTUAL",
    "SOFT_BYTES",
    "soft_thread",
];

/// Attributes that no source file may hold, with what to do instead.
const FORBIDDEN: &[(&str, &str)] = &[
    ("[allow(", "use #[expect(lint, reason = \"...\")]"),
    ("[ignore", "a test that cannot run here reports a skip"),
    ("should_panic", "match on the error"),
    (
        "serde(flatten",
        "spell the fields out, so that unknown keys are found",
    ),
    (
        "serde(untagged",
        "use a tagged enum, so that errors name the variant",
    ),
];

/// Checks one source file; `path` is relative to the repository root.
pub(crate) fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !text.starts_with("//!") {
        let what = "begin with a //! head that says what the file is for and what it does not do";
        findings.push((1, what.to_owned()));
    }
    let head = text.lines().take_while(|line| line.starts_with("//!"));
    let lines = text.lines().count();
    if lines > TOO_LONG && !head.into_iter().any(|line| line.starts_with(REASON)) {
        let what = format!("{lines} lines: split it, or give the reason with `{REASON} ...`");
        findings.push((1, what));
    }
    let allowed = UNSAFE_ALLOWED
        .iter()
        .any(|(start, end)| path.starts_with(start) && path.ends_with(end));
    for (index, line) in text.lines().map(str::trim).enumerate() {
        // The lint is denied everywhere, so that whoever writes `unsafe` expects it first.
        let names = line.contains("unsafe_code") && !line.contains("forbid(unsafe_code)");
        let unlocks = names && (line.starts_with('#') || line.starts_with("unsafe_code"));
        if unlocks && !allowed {
            findings.push((index + 1, "unsafe has no place in this file".to_owned()));
        }
        let is_product =
            path.contains("src/") && !OF_SIMULATOR.iter().any(|at| path.starts_with(at));
        for word in SIMULATOR
            .iter()
            .filter(|word| is_product && line.contains(**word))
        {
            let what =
                format!("`{word}` is the simulator's: product code takes a `program::Effort`");
            findings.push((index + 1, what));
        }
        for (found, instead) in FORBIDDEN {
            if line.starts_with('#') && line.contains(found) {
                findings.push((index + 1, format!("`{found}` is not used here: {instead}")));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "crates/topology/src/lib.rs";

    fn first(path: &str, text: &str) -> Option<Finding> {
        check(path, text).into_iter().next()
    }

    #[test]
    fn a_good_file_has_no_findings() {
        let text = "//! Head.\n#![forbid(unsafe_code)]\n\n// unsafe and #[ignore in words\nconst A: &str = \"#[allow(\";\n";
        assert_eq!(check(PATH, text), []);
    }

    #[test]
    fn a_file_without_a_head_is_found() {
        assert!(
            first(PATH, "use std::fs;\n")
                .unwrap()
                .1
                .starts_with("begin with a //! head")
        );
    }

    #[test]
    fn the_simulator_is_named_where_it_is() {
        let text = "//! Head.\n\nconst VIRTUAL_POOL: u64 = 4;\n";
        assert_eq!(first(PATH, text).unwrap().0, 3);
        assert_eq!(check("soft/core/src/lib.rs", text), []);
    }

    #[test]
    fn unsafe_is_found_outside_its_files_only() {
        let text = "//! Head.\n\n#![expect(unsafe_code)]\n";
        assert_eq!(
            first(PATH, text),
            Some((3, "unsafe has no place in this file".to_owned()))
        );
        assert_eq!(first("crates/device/src/ffi_like.rs", text).unwrap().0, 3);
        for path in [
            "crates/device/src/runtime/queue/ffi.rs",
            "crates/device/src/library.rs",
            "crates/numa/src/ffi.rs",
            "soft/runtime/src/abi.rs",
        ] {
            assert_eq!(first(path, text), None, "{path}");
        }
    }

    #[test]
    fn each_forbidden_thing_is_found() {
        for line in [
            "#[allow(dead_code)]",
            "#![allow(dead_code)]",
            "#[ignore]",
            "#[ignore = \"slow\"]",
            "#[should_panic]",
            "#[serde(flatten)]",
            "#[serde(untagged)]",
        ] {
            assert_eq!(
                first(PATH, &format!("//! Head.\n{line}\n")).map(|found| found.0),
                Some(2),
                "{line}"
            );
        }
    }

    #[test]
    fn a_file_beyond_600_lines_needs_a_reason() {
        // A head of one line and 599 more are 600 lines; one more is too many.
        let at_limit = format!("//! Head.\n{}", "\n".repeat(599));
        assert_eq!(check(PATH, &at_limit), []);
        let beyond = format!("{at_limit}\n");
        assert!(first(PATH, &beyond).unwrap().1.starts_with("601 lines: "));
        let reasoned = beyond.replace(
            "//! Head.\n",
            "//! Head.\n//! Long because it is one table.\n",
        );
        assert_eq!(check(PATH, &reasoned), []);
    }
}
