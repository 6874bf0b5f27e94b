//! How far the program's numbers are from the solver's, one by one and as distributions.

use std::cmp::Ordering;

use boxfile::Vendor;

use super::solver::Noisy;

/// A number of the program beside the solver's.
#[derive(Debug, Clone)]
pub(crate) struct Comparison {
    pub(crate) what: String,
    pub(crate) vendor: Vendor,
    pub(crate) case: String,
    pub(crate) found: f64,
    /// By the solver without noise.
    pub(crate) expected: f64,
    /// By the solver with noise of its own.
    pub(crate) noisy: Noisy,
    /// What the file says of one load, where the number is a chase's.
    pub(crate) load_ns: Option<f64>,
    /// Whether the number's own interval holds the expected value; `None` where it has no interval.
    pub(crate) covered: Option<bool>,
}

impl Comparison {
    pub(crate) fn relative_error(&self) -> f64 {
        self.found / self.expected - 1.0
    }

    /// Whether noise alone moves the answer by more than 0.3%, which is more than the samples' scatter in `noisy`.
    pub(crate) fn is_shifted(&self) -> bool {
        (self.noisy.median / self.expected - 1.0).abs() > 0.003
    }

    /// Whether chance decides between numbers that lie apart, in the solver's own samples. So it is where streams wait for
    /// fewer engines: which of them is let in first is a tie without noise, and with it one order or another.
    pub(crate) fn is_chance(&self) -> bool {
        let (low, high) = self.noisy.tenths;
        high / low > 1.04
    }

    /// Whether it lies within what the solver's samples span, and 1% around.
    pub(crate) fn is_possible(&self) -> bool {
        let (least, most) = self.noisy.range;
        (least * 0.99..=most * 1.01).contains(&self.found)
    }

    /// How far it may be off: 1%, the latency of a chase 2%.
    pub(crate) fn tolerance(&self) -> f64 {
        if self.load_ns.is_some() { 0.02 } else { 0.01 }
    }
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

/// The distribution of relative errors of some numbers, as one line.
pub(crate) fn distribution(name: &str, some: &[&Comparison]) -> String {
    let mut errors: Vec<f64> = some
        .iter()
        .map(|one| one.relative_error().abs() * 100.0)
        .collect();
    if errors.is_empty() {
        return format!("{name:32} n=    0");
    }
    errors.sort_by(f64::total_cmp);
    let at = |part: f64| errors[((errors.len() - 1) as f64 * part).round() as usize];
    let mean = some.iter().map(|one| one.relative_error()).sum::<f64>() / some.len() as f64 * 100.0;
    let (p50, p99, max) = (at(0.5), at(0.99), at(1.0));
    format!(
        "{name:32} n={:5} mean {mean:+.3}% |error| p50 {p50:.3}% p99 {p99:.3}% max {max:.3}%",
        some.len()
    )
}
