//! Rules for manifests and for the crates they describe.
//!
//! Which crate may use which is not judged here: that is the layer test.

use super::finding::Finding;

/// Folders whose crates may hold `unsafe`.
const UNSAFE_CRATES: &[&str] = &[
    "crates/device/",
    "crates/numa/",
    "kernels/",
    "serve-bench/",
    "soft/",
    "shim/",
];

/// Checks one manifest.
pub(crate) fn check(text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (mut section, mut lints) = ("", false);
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with('[') {
            section = line;
            if !line.starts_with("[workspace.") && line.contains("dependencies.") {
                findings.push(Finding::at(
                    index,
                    "write the dependency on one line of its table",
                ));
            }
        }
        lints |= section == "[lints]" && line.replace(' ', "") == "workspace=true";
        let inside = section.ends_with("dependencies]") && !section.starts_with("[workspace.");
        if inside && !line.is_empty() && !line.starts_with(['#', '[']) && !from_workspace(line) {
            findings.push(Finding::at(
                index,
                "take the dependency from the root table with `workspace = true`",
            ));
        }
    }
    if text.contains("[package]") && !lints {
        findings.push(Finding::whole(
            "take the lints from the root manifest: [lints] workspace = true",
        ));
    }
    findings
}

fn from_workspace(line: &str) -> bool {
    let line = line.replace(' ', "");
    line.contains(".workspace=true")
        || line.contains("workspace=true,")
        || line.contains("workspace=true}")
}

/// Checks the root source file of the crate in a folder, which ends in a slash.
pub(crate) fn check_crate(folder: &str, source: &str) -> Option<Finding> {
    let allowed = UNSAFE_CRATES
        .iter()
        .any(|allowed| folder.starts_with(allowed));
    let forbidden = source.lines().any(|line| line == "#![forbid(unsafe_code)]");
    (!allowed && !forbidden)
        .then(|| Finding::whole("its lib.rs and main.rs must carry #![forbid(unsafe_code)]"))
}
