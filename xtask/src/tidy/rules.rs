//! Rules for the text of a file.
//!
//! What clippy and rustc can check is left to the lints in the root manifest; `xtask/tests/docs.rs` checks the commands and links of
//! pages.

/// First parts of paths that exist on one person's machine only.
const PRIVATE: &[&str] = &["home", "root", "Users", "work", "tmp"];

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
        "spell the fields out: unknown keys are found",
    ),
    (
        "serde(untagged",
        "use a tagged enum: errors name the variant",
    ),
];

/// Checks one file; `path` is relative to the repository root. What is found are lines, from 1, with words.
pub(super) fn check(path: &str, text: &str) -> impl Iterator<Item = (usize, String)> {
    let is_rust = path.ends_with(".rs");
    let lines = text.lines().enumerate();
    let found = lines.flat_map(move |(index, line)| {
        let mut found = Vec::new();
        if let Some(part) = PRIVATE.iter().find(|part| has_private_path(line, part)) {
            found.push(format!("a path below /{part} exists on one machine only"));
        }
        if is_rust {
            check_rust(path, line.trim(), &mut found);
        }
        found.into_iter().map(move |what| (index + 1, what))
    });
    let head = is_rust.then(|| check_head(text)).flatten();
    head.map(|what| (1, what)).into_iter().chain(found)
}

/// Checks how a source file begins and how long it is.
fn check_head(text: &str) -> Option<String> {
    let mut head = text.lines().take_while(|line| line.starts_with("//!"));
    let lines = text.lines().count();
    if !text.starts_with("//!") {
        let what = "begin with a //! head that says what the file is for and what it does not do";
        return Some(what.to_owned());
    }
    let is_long = lines > TOO_LONG && !head.any(|line| line.starts_with(REASON));
    is_long.then(|| format!("{lines} lines: split it, or give the reason with `{REASON} ...`"))
}

/// Checks a line of a source file.
fn check_rust(path: &str, line: &str, found: &mut Vec<String>) {
    let mut allowed = UNSAFE_ALLOWED.iter();
    let is_allowed = allowed.any(|(start, end)| path.starts_with(start) && path.ends_with(end));
    // The lint is denied everywhere, so that whoever writes `unsafe` expects it first.
    let names = line.contains("unsafe_code") && !line.contains("forbid(unsafe_code)");
    let unlocks = names && (line.starts_with('#') || line.starts_with("unsafe_code"));
    if unlocks && !is_allowed {
        found.push("unsafe has no place in this file".to_owned());
    }
    if path.contains("src/") && !OF_SIMULATOR.iter().any(|at| path.starts_with(at)) {
        for word in SIMULATOR.iter().filter(|word| line.contains(**word)) {
            found.push(format!(
                "`{word}` is the simulator's: product code takes a `program::Effort`"
            ));
        }
    }
    for (word, instead) in FORBIDDEN {
        if line.starts_with('#') && line.contains(word) {
            found.push(format!("`{word}` is not used here: {instead}"));
        }
    }
}

/// Tells whether a path that starts with this part stands in the line, and not inside a longer path.
fn has_private_path(line: &str, part: &str) -> bool {
    line.match_indices(&format!("/{part}/")).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        !before.is_some_and(|before| before.is_alphanumeric() || "_-./}*>)".contains(before))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "crates/topology/src/lib.rs";

    /// The lines in which something is found.
    fn found(path: &str, text: &str) -> Vec<usize> {
        check(path, text).map(|(line, _)| line).collect()
    }

    #[test]
    fn what_breaks_a_rule_is_found_and_nothing_else() {
        let good = "//! Head.\n#![forbid(unsafe_code)]\n\n// unsafe and #[ignore in words\n";
        assert_eq!(found(PATH, good), [0; 0]);
        assert_eq!(found(PATH, "use std::fs;\n"), [1]);
        for line in [
            "#![allow(dead_code)]",
            "#[ignore = \"slow\"]",
            "#[should_panic]",
            "#[serde(flatten)]",
            "#[serde(untagged)]",
            "#![expect(unsafe_code)]",
            "const VIRTUAL_POOL: u64 = 4;",
        ] {
            assert_eq!(found(PATH, &format!("//! Head.\n{line}\n")), [2], "{line}");
        }
        let text = "//! Head.\n\nconst VIRTUAL_POOL: u64 = 4;\n";
        assert_eq!(found("soft/core/src/lib.rs", text), [0; 0]);
        let text = "//! Head.\n\n#![expect(unsafe_code)]\n";
        assert_eq!(found("crates/device/src/ffi_like.rs", text), [3]);
        assert_eq!(
            found("crates/device/src/runtime/queue/ffi.rs", text),
            [0; 0]
        );
        // A head of one line and 599 more are 600 lines; one more is too many.
        let at_limit = format!("//! Head.\n{}", "\n".repeat(599));
        assert_eq!(found(PATH, &at_limit), [0; 0]);
        let beyond = format!("{at_limit}\n");
        assert_eq!(found(PATH, &beyond), [1]);
        let reasoned = beyond.replace("Head.\n", "Head.\n//! Long because it is one table.\n");
        assert_eq!(found(PATH, &reasoned), [0; 0]);
    }
}
