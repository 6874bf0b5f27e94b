//! The figures of a report that can be compared with those of another run: a rate or a time with its unit. Ratios are left out: they are judged within their own run, and a ratio of two small differences says nothing.

use record::quantity::Unit;

use crate::report::{Check, Evidence, Report};

/// Kinds of checks whose figures are those of other checks, or of parts of the run: one slow device would count several times.
const REPEATING: &[&str] = &["symmetry", "spread", "drift"];

/// A figure of a report.
#[derive(Debug, Clone)]
pub(crate) struct Figure<'a> {
    /// The check that it belongs to.
    pub(crate) check: &'a Check,
    /// What it is.
    pub(crate) what: &'a str,
    /// Its unit: of a rate or of a time.
    pub(crate) unit: Unit,
    /// Its median.
    pub(crate) value: f64,
    /// The samples; empty for what was worked out of others.
    pub(crate) samples: Vec<f64>,
}

/// The unit of a figure that is compared with another run's, and how many of it are one of the report's.
fn compared(unit: &str) -> Option<(Unit, f64)> {
    match unit {
        "GB/s" => Some((Unit::GbPerS, 1.0)),
        "us" => Some((Unit::Microseconds, 1.0)),
        "ms" => Some((Unit::Microseconds, 1e3)),
        _ => None,
    }
}

/// The figures of a report above zero, in its order: of each check the first of each unit, which is what it measured; what it was
/// compared with stands behind it.
pub(crate) fn figures(report: &Report) -> impl Iterator<Item = Figure<'_>> {
    let own = |check: &&Check| !REPEATING.contains(&check.kind.as_str());
    report.checks.iter().filter(own).flat_map(|check| {
        let mut seen: Vec<Unit> = Vec::new();
        check.evidence.iter().filter_map(move |evidence| {
            let Evidence::Measured {
                what,
                value,
                unit,
                samples,
                ..
            } = evidence
            else {
                return None;
            };
            let (unit, times) = compared(unit).filter(|(unit, _)| !seen.contains(unit))?;
            seen.push(unit);
            (value.is_finite() && *value > 0.0).then(|| Figure {
                check,
                what,
                unit,
                value: value * times,
                samples: samples.iter().map(|sample| sample * times).collect(),
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Verdict;
    use crate::tests::made::{bandwidth, measured, report, samples};

    #[test]
    fn each_thing_that_was_measured_counts_once() {
        let mut both = bandwidth("bidirectional", "GPU0", 40.0);
        let single = bandwidth("h2d_pinned", "GPU0", 25.0);
        both.evidence.extend(single.evidence.clone());
        let time = measured("allreduce", "small", Verdict::Pass, "us", samples(30.0));
        let mut zero = bandwidth("p2p", "GPU0->GPU1", 20.0);
        if let Evidence::Measured { value, .. } = &mut zero.evidence[0] {
            *value = 0.0;
        }
        let run = report(
            "n1",
            vec![
                both,
                single,
                time,
                zero,
                bandwidth("symmetry", "GPU0->GPU1", 20.0),
                measured("numa_penalty", "GPU0", Verdict::Pass, "1", samples(0.7)),
            ],
        );
        let found: Vec<(&str, f64)> = figures(&run)
            .map(|figure| (figure.check.kind.as_str(), figure.value))
            .collect();
        assert_eq!(
            found,
            [
                ("bidirectional", 40.0),
                ("h2d_pinned", 25.0),
                ("allreduce", 30.0)
            ]
        );
    }
}
