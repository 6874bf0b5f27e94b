//! The ceilings of `cargo xtask tidy` on a small made-up workspace, with counts by hand.
//!
//! The workspace is written to a folder of its own; no part of it is built.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const MANIFEST: &str = "[package]\nname = \"x\"\n\n[lints]\nworkspace = true\n";

/// Every file. `a` and `list/c` import each other, through a re-export; `d`, `e` and `deep/h` do in a circle, through a
/// glob and two paths in expressions. `b` imports `a` in its tests only.
const FILES: &[(&str, &str)] = &[
    ("Cargo.toml", "[workspace]\n"),
    (
        "CHANGELOG.md",
        "# Changelog\n\n## [Unreleased]\n\n### Added\n\n### Changed\n\n### Fixed\n",
    ),
    ("CONTRIBUTING.md", "# Contributing\n\nBy hand.\n"),
    ("README.md", "# Made up\n\nFive words stand right here.\n"),
    ("docs/deep/page.md", "# Page\n"),
    ("one/Cargo.toml", MANIFEST),
    (
        "one/src/lib.rs",
        "//! Head.\n#![forbid(unsafe_code)]\n\nmod a;\nmod b;\nmod d;\nmod deep;\nmod e;\nmod list;\n",
    ),
    (
        "one/src/a.rs",
        r#"//! Head.

use crate::b::less;
use crate::list::Named;

/// Text.
pub fn start(named: Named) -> String {
    // Why.
    format!("{:?}", less(named.0)) // format!
}
"#,
    ),
    (
        "one/src/b.rs",
        r#"//! Head.

pub fn less(count: usize) -> Option<String> {
    Some("x".repeat(count))
}

#[cfg(test)]
mod tests {
    use crate::a::start;

    fn two() {}
}
"#,
    ),
    (
        "one/src/d.rs",
        r#"//! Head.
#[cfg(test)]
use std::fmt;

pub fn f(text: &str) -> StringLike {
    if text.contains("two words") {
        super::e::g()
    }
}
"#,
    ),
    (
        "one/src/e.rs",
        r#"//! Head.

use crate::deep::Wide;

pub fn g() -> Vec<String> {
    writeln!(out, "{}", Wide)
}
"#,
    ),
    (
        "one/src/list/mod.rs",
        "//! Head.\n\nmod c;\n\npub use self::c::Named;\npub use crate::a::start;\n",
    ),
    (
        "one/src/list/c.rs",
        "//! Head.\n\nuse super::super::a::start;\n\npub struct Named(pub usize);\n",
    ),
    (
        "one/src/deep/mod.rs",
        "//! Head.\n\nmod h;\n\npub(crate) use h::*;\n",
    ),
    (
        "one/src/deep/h.rs",
        "//! Head.\n\npub struct Wide;\n\nfn back() {\n    crate::d::f(\"\")\n}\n",
    ),
    ("one/src/deep/tests.rs", "//! Head.\nuse crate::e::g;\n"),
    ("one/tests/all.rs", "//! Head.\n\nfn t() {}\n"),
    ("two/Cargo.toml", MANIFEST),
    (
        "two/src/main.rs",
        "//! Head.\n#![forbid(unsafe_code)]\n\nfn main() {}\n",
    ),
];

/// The made-up workspace in a folder of its own.
struct Workspace(PathBuf);

impl Workspace {
    fn new(name: &str) -> Workspace {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        if root.exists() {
            fs::remove_dir_all(&root).unwrap();
        }
        let workspace = Workspace(root);
        workspace.write("xtask/.keep", "");
        for (path, text) in FILES {
            workspace.write(path, text);
        }
        workspace
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.0.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    /// Runs tidy; returns its exit code, how many lines name the table, and how many a circle.
    fn tidy(&self, arguments: &[&str]) -> (Option<i32>, usize, usize) {
        let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
            .current_dir(&self.0)
            .arg("tidy")
            .args(arguments)
            .env("CARGO_MANIFEST_DIR", self.0.join("xtask"))
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let [table, circles] = ["xtask/ratchets.toml", "imports itself"]
            .map(|word| text.lines().filter(|line| line.contains(word)).count());
        (output.status.code(), table, circles)
    }

    fn table(&self) -> toml::Table {
        let text = fs::read_to_string(self.0.join("xtask/ratchets.toml")).unwrap();
        text.parse().unwrap()
    }

    /// Replaces a text in the table.
    fn edit(&self, old: &str, new: &str) {
        let text = fs::read_to_string(self.0.join("xtask/ratchets.toml")).unwrap();
        assert!(text.contains(old), "{old} in {text}");
        self.write("xtask/ratchets.toml", &text.replacen(old, new, 1));
    }
}

#[test]
fn the_counts_are_those_by_hand_and_circles_are_found() {
    let workspace = Workspace::new("ratchets-counts");
    // Two circles, of two files and of three.
    assert_eq!(workspace.tidy(&["--tighten"]), (Some(1), 0, 2 + 3));
    let table = workspace.table();
    let code = 7 + 5 + 3 + 5 + 4 + 3 + 2 + 2 + 4; // lib, a, b, d, e, list/mod, list/c, deep/mod, deep/h
    let tests = 6 + 2 + 2 + 3; // in b (one of them blank) and d; deep/tests, tests/all (one blank)
    for (name, what, count) in [
        ("one", "code", code),
        ("one", "tests", tests),
        ("two", "code", 2),
        ("two", "tests", 0),
        ("README.md", "words", 3 + 5),
        ("CHANGELOG.md", "lines", 9),
        ("CONTRIBUTING.md", "lines", 3),
        ("docs/deep/page.md", "lines", 1),
    ] {
        assert_eq!(table[name][what].as_integer(), Some(count), "{name} {what}");
    }
    assert_eq!(table.len(), 2 + 4);
}

#[test]
fn a_count_may_fall_and_rises_by_hand_only() {
    let workspace = Workspace::new("ratchets-rise");
    for (path, text) in FILES
        .iter()
        .filter(|(path, _)| path.starts_with("one/src/"))
    {
        let uses = text
            .lines()
            .filter(|line| !line.contains("crate::") && !line.contains("super::"));
        workspace.write(path, &uses.collect::<Vec<_>>().join("\n"));
    }
    // Without a table each count lacks its ceiling: 2 of each of two crates, 1 of each of four pages.
    assert_eq!(workspace.tidy(&[]), (Some(1), 2 * 2 + 4, 0));
    assert_eq!(workspace.tidy(&["--tighten"]), (Some(0), 0, 0));

    // One line more fails, and tightening does not help.
    let main = "two/src/main.rs";
    workspace.write(
        main,
        "//! Head.\n#![forbid(unsafe_code)]\nfn main() {}\nfn f() {}\n",
    );
    assert_eq!(workspace.tidy(&[]), (Some(1), 1, 0));
    assert_eq!(workspace.tidy(&["--tighten"]), (Some(1), 1, 0));
    workspace.edit("code = 2,", "code = 3,");
    assert_eq!(workspace.tidy(&[]), (Some(0), 0, 0));

    // Back at 2: the ceiling falls. What is gone has none.
    workspace.write(main, "//! Head.\n#![forbid(unsafe_code)]\nfn main() {}\n");
    assert_eq!(workspace.tidy(&["--tighten"]), (Some(0), 0, 0));
    assert_eq!(workspace.table()["two"]["code"].as_integer(), Some(2));
    workspace.edit("code = 2,", "code = 2, gone = 1,");
    assert_eq!(workspace.tidy(&[]), (Some(1), 1, 0));
}
