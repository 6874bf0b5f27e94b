//! Rules for every text file of the repository.
//!
//! It does not check spelling; `xtask/tests/docs.rs` checks the commands and links of pages.

use super::Finding;

/// First parts of paths that exist on one person's machine only.
const PRIVATE: &[&str] = &["home", "root", "Users", "work", "tmp"];

/// Checks one text file.
pub(crate) fn check(text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(found) = PRIVATE.iter().find(|part| has_private_path(line, part)) {
            let what = format!("a path below /{found} exists on one machine only");
            findings.push((index + 1, what));
        }
    }
    findings
}

/// Tells whether a path that starts with this part stands in the line, and not inside a longer path.
fn has_private_path(line: &str, part: &str) -> bool {
    line.match_indices(&format!("/{part}/")).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        !before.is_some_and(|before| before.is_alphanumeric() || "_-./}*>)".contains(before))
    })
}
