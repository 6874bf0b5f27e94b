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

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[package]\nname = \"x\"\n\n[lints]\nworkspace = true\n\n[dependencies]\n# why\nserde.workspace = true\n";

    #[test]
    fn a_good_manifest_has_no_findings() {
        assert_eq!(check(GOOD), []);
        assert_eq!(
            check(&format!(
                "{GOOD}toml = {{ workspace = true, features = [\"a\"] }}\n"
            )),
            []
        );
        assert_eq!(check("[workspace.dependencies]\nserde = \"1\"\n"), []);
    }

    #[test]
    fn a_dependency_with_its_own_version_is_found() {
        // GOOD has 9 lines, so what is added stands from line 10 on.
        for (added, line) in [
            ("toml = \"1\"\n", 10),
            ("[dev-dependencies]\ntoml = { version = \"1\" }\n", 11),
            ("[target.'cfg(unix)'.dependencies]\ntoml = \"1\"\n", 11),
            ("[dependencies.toml]\nworkspace = true\n", 10),
        ] {
            let findings = check(&format!("{GOOD}{added}"));
            assert_eq!(
                findings.first().and_then(|finding| finding.line),
                Some(line),
                "{added}"
            );
        }
    }

    #[test]
    fn a_crate_without_the_lints_is_found() {
        let findings = check("[package]\nname = \"x\"\n");
        assert!(findings[0].what.contains("[lints]"), "{findings:?}");
    }

    #[test]
    fn only_some_crates_may_leave_unsafe_open() {
        assert_eq!(
            check_crate("crates/record/", "//! Head.\n#![forbid(unsafe_code)]\n"),
            None
        );
        assert_eq!(check_crate("crates/device/", "//! Head.\n"), None);
        assert!(check_crate("crates/record/", "//! Head.\n// #![forbid(unsafe_code)]\n").is_some());
    }
}
