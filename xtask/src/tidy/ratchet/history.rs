//! The table as it was before, from git, so that a raise is seen.
//!
//! Without git, or in a clone that holds one commit only, there is no table before this one.

use std::path::Path;
use std::process::Command;

use super::table::{FILE, Table};

/// Returns the table of the last commit, or of the one before where the last one's is the text that is checked.
pub(crate) fn committed(root: &Path, now: &str) -> Option<Table> {
    let last = show(root, "HEAD")?;
    let before = if last == now {
        show(root, "HEAD^")?
    } else {
        last
    };
    Table::parse(&before).ok()
}

fn show(root: &Path, commit: &str) -> Option<String> {
    let output = Command::new("git")
        .args(["show", &format!("{commit}:./{FILE}")])
        .current_dir(root)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then_some(text)
}
