//! Running a simulated machine with faults, and whether they are told by the checks that they are for.

use std::time::Instant;

use boxfile::BoxFile;

use crate::run::common::{Came, Scratch, checks};

/// The check that must tell a fault: its kind, a part of what it is about, and the codes that are right.
pub(crate) type Wanted = (&'static str, &'static str, &'static [&'static str]);

/// Whether a check of this kind, about this, came to a verdict that is no good for one of these reasons.
pub(crate) fn is_told(found: &[(String, Came)], (kind, about, codes): &Wanted) -> bool {
    found.iter().any(|(id, (verdict, code))| {
        id.split(' ').next() == Some(kind)
            && id.contains(about)
            && ["fail", "inconclusive"].contains(&verdict.as_str())
            && codes.contains(&code.as_str())
    })
}

/// Runs a box with all its faults and gives exit code, checks and seconds.
pub(crate) fn run(
    scratch: &Scratch,
    described: &BoxFile,
    profile: &str,
    out: &str,
    more: &[&str],
) -> (i32, Vec<(String, Came)>, f64) {
    let file = scratch.describe(described, &format!("{out}.toml"));
    let begun = Instant::now();
    let ran = scratch.on((profile, &file), out, more);
    let seconds = begun.elapsed().as_secs_f64();
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    let report = scratch.json(&format!("{out}/report.json"));
    (ran.code, checks(&report).into_iter().collect(), seconds)
}

/// The checks that are no good, in short.
pub(crate) fn odd(found: &[(String, Came)]) -> String {
    let odd: Vec<String> = found
        .iter()
        .filter(|(_, (verdict, _))| ["fail", "inconclusive"].contains(&verdict.as_str()))
        .map(|(id, (verdict, code))| format!("{id}: {verdict} {code}"))
        .collect();
    odd.join("; ")
}
