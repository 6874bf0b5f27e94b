//! The figures of a report that can be compared with those of another run, and `tplens accept compare A B`, by the one comparison of this
//! house.
//!
//! A figure is a rate or a time with its unit. Ratios are left out: they are judged within their own run, and a ratio of two small
//! differences says nothing. A check that was good in A and fails in B counts as lost; in what the machines differ stands beside the numbers.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use program::compare::{CompareFlags, Comparison, Fact, Gone, Rules, Side, Value, compare};
use program::outputs;
use program::show::Show;
use record::quantity::Unit;

use crate::report::{Check, Evidence, ReasonCode, Report, Verdict};

/// Kinds of checks whose figures are those of other checks, or of parts of the run: one slow device would count several times.
const REPEATING: &[&str] = &["symmetry", "spread", "drift"];

/// What is compared.
#[derive(Debug, Clone, Args)]
pub(crate) struct CompareArgs {
    /// The earlier or better known run: a result folder or report.json.
    pub(crate) a: PathBuf,
    /// The run that is compared with it.
    pub(crate) b: PathBuf,
    #[command(flatten)]
    pub(crate) flags: CompareFlags,
}

/// Id of a check, and what of it was measured.
pub(crate) type Number = (String, String);

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
fn compared_in(unit: &str) -> Option<(Unit, f64)> {
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
        let measured = check.evidence.iter().filter_map(Evidence::measured);
        measured.filter_map(move |figure| {
            let (unit, times) =
                compared_in(&figure.unit).filter(|(unit, _)| !seen.contains(unit))?;
            seen.push(unit);
            let is_some = figure.value.is_finite() && figure.value > 0.0;
            is_some.then(|| Figure {
                check,
                what: &figure.what,
                unit,
                value: figure.value * times,
                samples: figure.samples.iter().map(|sample| sample * times).collect(),
            })
        })
    })
}

/// Compares, prints, and gives the exit code.
pub(crate) fn run(args: &CompareArgs, show: Show) -> anyhow::Result<u8> {
    args.flags.check().map_err(|why| anyhow!(why))?;
    let comparison = compared(&args.a, &args.b, args.flags.threshold)?;
    let document = comparison.document();
    let code = comparison.exit_code();
    outputs::comparison(&args.flags, &comparison, (&document, show), code)
}

fn compared(a: &Path, b: &Path, threshold: stats::Threshold) -> anyhow::Result<Comparison<Number>> {
    let (report_a, report_b) = (Report::read(a)?, Report::read(b)?);
    let (a, b) = (a.display().to_string(), b.display().to_string());
    let of_b = |id: &str| report_b.checks.iter().find(|check| check.id == id);
    let gone = |value: &Value<Number>| match of_b(&value.number.0) {
        Some(check) => match (check.verdict, check.reason.code) {
            (Verdict::Fail, code) => Gone::Lost(code.code().to_owned()),
            (_, ReasonCode::LeftOut) => Gone::NotAsked,
            (_, code) => Gone::Untried(code.code().to_owned()),
        },
        None => Gone::Untried("not there".to_owned()),
    };
    let rules = Rules {
        threshold,
        is_same: |a, b| a == b,
        gone: &gone,
        worse_peers: 0,
    };
    let mut comparison = compare(side(&report_a, &a), side(&report_b, &b), &rules)?;
    let worse = report_a.checks.iter().filter_map(|was| {
        let now = of_b(&was.id)?;
        let was_good = matches!(was.verdict, Verdict::Pass | Verdict::Warn);
        let (id, code) = (&was.id, now.reason.code.code());
        let is_worse = was_good && now.verdict == Verdict::Fail;
        is_worse.then(|| format!("{id}: {} in A, {code}", was.verdict))
    });
    comparison.worse = worse.collect();
    Ok(comparison)
}

/// The figures of a report.
pub(crate) fn side(report: &Report, file: &str) -> Side<Number> {
    let values = figures(report).map(|one| Value {
        number: (one.check.id.clone(), one.what.to_owned()),
        of: one.check.id.clone(),
        bytes: None,
        value: one.value,
        unit: one.unit,
        n: Some(one.samples.len() as u64).filter(|n| *n > 0),
        samples: one.samples,
        is_judged: true,
    });
    let fact = |(what, value): (&'static str, Option<String>)| {
        let of = String::new();
        value.map(|value| Fact { what, of, value })
    };
    let parts = report.node.fingerprint.parts().into_iter();
    Side {
        file: file.to_owned(),
        started: Some(report.started.clone()),
        simulated: report.simulated().map(str::to_owned),
        facts: parts.filter_map(fact).collect(),
        troubles: Vec::new(),
        values: values.collect(),
    }
}

#[cfg(test)]
mod tests {
    use stats::Threshold;

    use super::*;
    use crate::report::Came;
    use crate::tests::made::{bandwidth, folder, measured, report, samples, soft, write};

    fn of(name: &str, a: Vec<Check>, b: Vec<Check>) -> Comparison<Number> {
        let folder = folder(&format!("compare-{name}"));
        let a = write(&folder, "a", &report("n1", a));
        let b = write(&folder, "b", &report("n1", b));
        let compared = compared(&a, &b, Threshold(0.05)).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        compared
    }

    #[test]
    fn a_slower_rate_and_a_longer_time_are_worse_and_a_faster_one_is_not() {
        // 22.5 of 25 is 0.90; samples lie within 0.7%.
        let rate = |median| vec![bandwidth("h2d_pinned", "GPU0", median)];
        assert_eq!(of("slower", rate(25.0), rate(22.5)).exit_code(), 1);
        assert_eq!(of("faster", rate(22.5), rate(25.0)).exit_code(), 0);
        let time = |us| {
            vec![measured(
                "allreduce",
                "small",
                Verdict::Pass,
                "us",
                samples(us),
            )]
        };
        assert_eq!(of("longer", time(20.0), time(25.0)).exit_code(), 1);
    }

    #[test]
    fn a_verdict_that_got_worse_is_worse_and_one_that_is_gone_is_open() {
        let good = || bandwidth("p2p", "GPU0->GPU1", 20.0);
        let both = |other: Check| vec![bandwidth("h2d_pinned", "GPU0", 25.0), other];
        // The figure held, and the verdict fell.
        let fails = measured("p2p", "GPU0->GPU1", Verdict::Fail, "GB/s", samples(20.0));
        let fell = of("fell", both(good()), both(fails));
        assert_eq!((fell.exit_code(), fell.worse.len()), (1, 1));
        let not_told = |code| Came::without(code).check("p2p", &["GPU0->GPU1"], false);
        let gone = of(
            "gone",
            both(good()),
            both(not_told(ReasonCode::NotMeasured)),
        );
        assert_eq!((gone.exit_code(), gone.untried.len()), (3, 1));
        let left_out = not_told(ReasonCode::LeftOut);
        assert_eq!(of("left", both(good()), both(left_out)).exit_code(), 0);
    }

    #[test]
    fn a_simulated_run_is_not_compared_with_a_real_one_and_drivers_differ_in_words() {
        let folder = folder("compare-kinds");
        let run = report("n1", vec![bandwidth("p2p", "GPU0->GPU1", 20.0)]);
        let a = write(&folder, "a", &run);
        let b = write(&folder, "b", &soft(run.clone(), "l40x4"));
        assert!(compared(&a, &b, Threshold(0.05)).is_err());
        let mut other = run;
        other.node.fingerprint.driver = Some("580.1".to_owned());
        let b = write(&folder, "b", &other);
        let same = compared(&a, &b, Threshold(0.05)).unwrap();
        assert_eq!((same.exit_code(), same.differences.len()), (0, 1));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn each_thing_that_was_measured_counts_once() {
        let mut both = bandwidth("bidirectional", "GPU0", 40.0);
        let single = bandwidth("h2d_pinned", "GPU0", 25.0);
        both.evidence.extend(single.evidence.clone());
        let time = measured("allreduce", "small", Verdict::Pass, "us", samples(30.0));
        let mut zero = bandwidth("p2p", "GPU0->GPU1", 20.0);
        if let Evidence::Measured(figure) = &mut zero.evidence[0] {
            figure.value = 0.0;
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
