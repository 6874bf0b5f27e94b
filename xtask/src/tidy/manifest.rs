//! Rules for crates.
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

/// Checks the root source file of the crate in a folder, which ends in a slash.
pub(crate) fn check_crate(folder: &str, source: &str) -> Option<Finding> {
    let allowed = UNSAFE_CRATES
        .iter()
        .any(|allowed| folder.starts_with(allowed));
    let forbidden = source.lines().any(|line| line == "#![forbid(unsafe_code)]");
    (!allowed && !forbidden)
        .then(|| Finding::whole("its lib.rs and main.rs must carry #![forbid(unsafe_code)]"))
}
