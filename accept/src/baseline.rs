//! A baseline: an earlier run of a machine that was accepted. A run with one is compared with it figure by figure, by the one comparison
//! of this house; it can only make a verdict worse.

use std::path::Path;

use program::compare::{Gone, Row, Rules, compare};
use sha2::{Digest, Sha256};
use stats::{Threshold, Verdict};

use crate::compare::{Number, side};
use crate::report::{self, Report, RunStatus, hex};

/// What copies may be slower by than the baseline's (our choice).
const COPIES: Threshold = Threshold(0.05);

/// What all else may be worse by (our choice): times and all-reduces vary more.
const OTHERS: Threshold = Threshold(0.25);

/// An accepted run with the sha256 of its report.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Baseline {
    report: Report,
    pub(crate) sha256: String,
}

/// A figure that is worse, with the ratio that it may have at worst.
pub(crate) type Worse = (Row<Number>, f64);

/// What came of comparing a run with a baseline.
#[derive(Debug, Clone, Default)]
pub(crate) struct Compared {
    /// In what the machines differ; then nothing is compared.
    pub(crate) differences: Vec<&'static str>,
    /// Figures that both have.
    pub(crate) count: usize,
    /// Those that are worse.
    pub(crate) worse: Vec<Worse>,
}

impl Baseline {
    /// The run of a folder or of its report, for a run on this simulated machine or on real hardware.
    ///
    /// # Errors
    /// It cannot be read, was not accepted, or is of another kind of machine.
    pub(crate) fn of(path: &Path, simulated: Option<&str>) -> Result<Self, String> {
        let refused = |why: &str| format!("--baseline {}: {why}", path.display());
        let report = report::read(path).map_err(|error| refused(&error.to_string()))?;
        let is_accepted = report.verdict.exit_code() == record::exit::DONE;
        if report.status != RunStatus::Complete || !is_accepted {
            return Err(refused("it was not accepted, and is no measure for others"));
        }
        let soft = report.simulated.as_ref().map(|soft| &*soft.box_name);
        if soft != simulated {
            return Err(refused("it is of another machine; run without it"));
        }
        let json = serde_json::to_vec(&report).map_err(|error| error.to_string())?;
        let sha256 = hex(&Sha256::digest(json));
        Ok(Self { report, sha256 })
    }

    #[cfg(test)]
    pub(crate) fn made(report: Report) -> Self {
        Self {
            report,
            sha256: String::new(),
        }
    }

    /// Compares the figures of a run with these.
    pub(crate) fn compared(&self, run: &Report) -> Compared {
        let own = &self.report.node.fingerprint;
        let mut compared = Compared {
            differences: own.differences(&run.node.fingerprint),
            ..Compared::default()
        };
        if !compared.differences.is_empty() {
            return compared;
        }
        let rules = Rules {
            threshold: COPIES,
            is_same: |a, b| a == b,
            gone: &|_| Gone::NotAsked,
            worse_peers: 0,
        };
        // The one reason for which two sides are not compared.
        let Ok(comparison) = compare(side(&self.report, ""), side(run, ""), &rules) else {
            compared.differences = vec!["machine: one of the runs is simulated"];
            return compared;
        };
        compared.count = comparison.rows.len();
        let rows = comparison.rows.into_iter();
        let worse = rows.filter(|row| row.verdict == Verdict::Regression);
        compared.worse.extend(worse.filter_map(|row| {
            let is_copy = row.unit.more_is_better() && !row.number.0.starts_with("allreduce");
            let Threshold(allowed) = if is_copy { COPIES } else { OTHERS };
            let more_is_better = row.unit.more_is_better();
            let worst = if more_is_better {
                1.0 - allowed
            } else {
                1.0 + allowed
            };
            let ends = row.interval.as_ref();
            let is_beyond = ends.is_some_and(|ends| match more_is_better {
                true => ends.high < worst,
                false => ends.low > worst,
            });
            (is_copy || is_beyond).then_some((row, worst))
        }));
        compared
    }
}
