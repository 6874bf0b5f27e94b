//! The table as it was before, from git, so that a raise is seen.
//!
//! Without git, or in a clone that holds one commit only, there is no table before this one.

use std::path::Path;
use std::process::Command;

use super::table::{FILE, Table};

/// Returns the table of the last commit, or the version of it before where the last one is the text that is checked.
pub(crate) fn committed(root: &Path, now: &str) -> Option<Table> {
    let last = show(root, "HEAD")?;
    let before = if last == now {
        let versions = git(root, &["log", "-n", "2", "--format=%H", "--", FILE])?;
        show(root, versions.lines().nth(1)?)?
    } else {
        last
    };
    Table::parse(&before).ok()
}

fn show(root: &Path, commit: &str) -> Option<String> {
    git(root, &["show", &format!("{commit}:./{FILE}")])
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(root)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then_some(text)
}
