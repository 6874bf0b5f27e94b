//! How far the program's numbers are from the solver's.

use std::cmp::Ordering;

/// A number of the program beside the solver's.
#[derive(Debug, Clone)]
pub(crate) struct Comparison {
    pub(crate) what: String,
    pub(crate) found: f64,
    /// By the solver without noise.
    pub(crate) expected: f64,
}

/// Asserts that every number is within a fraction of the solver's without noise, and names the worst ones.
pub(crate) fn assert_within(all: &[Comparison], tolerance: f64) {
    assert_near(all.iter().map(|one| (one, one.expected, tolerance)));
}

/// Asserts that every number is within that fraction of the one beside it.
pub(crate) fn assert_near<'a>(all: impl Iterator<Item = (&'a Comparison, f64, f64)>) {
    let (mut count, mut bad) = (0, Vec::new());
    for (one, expected, tolerance) in all {
        count += 1;
        let error = one.found / expected - 1.0;
        // Not a number is bad, too.
        if !matches!(
            error.abs().partial_cmp(&tolerance),
            Some(Ordering::Less | Ordering::Equal)
        ) {
            let (found, what) = (one.found, &one.what);
            bad.push((
                error,
                format!(
                    "{:+.3}%: {found} found, {expected} expected: {what}",
                    error * 100.0
                ),
            ));
        }
    }
    bad.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    let lines: Vec<&str> = bad.iter().take(20).map(|(_, line)| line.as_str()).collect();
    assert!(
        bad.is_empty(),
        "{} of {count} numbers are off:\n{}",
        bad.len(),
        lines.join("\n")
    );
}
