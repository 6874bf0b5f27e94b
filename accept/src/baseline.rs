//! A baseline: an earlier run of a machine that was accepted. A run with one is compared with it figure by figure, by the one comparison
//! of this house; it can only make a verdict worse.

use std::path::Path;

use program::compare::{Gone, Row, Rules, compare};
use record::exit;
use sha2::{Digest, Sha256};
use stats::{Threshold, Verdict as Than};

use crate::compare::{Number, side};
use crate::report::{
    Came, Check, Limit, Measured, ReasonCode, Report, RunStatus, Seen, Side, Verdict, hex,
};

const KIND: &str = "baseline";
const SOURCE: &str = "the baseline";

/// What copies may be slower by than the baseline's (our choice).
const COPIES: Threshold = Threshold(0.05);

/// What all else may be worse by (our choice): times and all-reduces vary more.
const OTHERS: Threshold = Threshold(0.25);

/// An accepted run with the sha256 of its report.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Baseline {
    pub(crate) report: Report,
    pub(crate) sha256: String,
}

impl Baseline {
    /// The run of a folder or of its report, for a run on this simulated machine or on real hardware.
    ///
    /// # Errors
    /// It cannot be read, was not accepted, or is of another kind of machine.
    pub(crate) fn of(path: &Path, simulated: Option<&str>) -> Result<Self, String> {
        let refused = |why: &str| format!("--baseline {}: {why}", path.display());
        let report = Report::read(path).map_err(|error| refused(&format!("{error:#}")))?;
        let is_accepted = report.verdict.exit_code() == exit::DONE;
        if report.status != RunStatus::Complete || !is_accepted {
            return Err(refused("it was not accepted, and is no measure for others"));
        }
        if report.simulated() != simulated {
            return Err(refused("it is of another machine; run without it"));
        }
        let json = serde_json::to_vec(&report).map_err(|error| error.to_string())?;
        let sha256 = hex(&Sha256::digest(json));
        Ok(Self { report, sha256 })
    }

    /// What the figures of a run come to beside these: a failed check for each that is worse, else one for all.
    pub(crate) fn checks(&self, run: &Report) -> Vec<Check> {
        let open = |detail: String| {
            let open = Came::open(ReasonCode::Unreadable).saying(detail);
            vec![open.check(KIND, &["box"], true)]
        };
        let own = &self.report.node.fingerprint;
        let differences = own.differences(&run.node.fingerprint);
        if !differences.is_empty() {
            return open(format!("other {}", differences.join(", ")));
        }
        let rules = Rules {
            threshold: COPIES,
            is_same: |a, b| a == b,
            gone: &|_| Gone::NotAsked,
            worse_peers: 0,
        };
        let rows = match compare(side(&self.report, ""), side(run, ""), &rules) {
            Ok(comparison) if comparison.rows.is_empty() => {
                return open("no figure is in both runs".to_owned());
            }
            // The one reason for which two sides are not compared.
            Err(_) => return open("other machine: one of the runs is simulated".to_owned()),
            Ok(comparison) => comparison.rows,
        };
        let worse: Vec<Check> = rows.iter().filter_map(worse).collect();
        if worse.is_empty() {
            let seen = Seen::of("figures compared", "none worse", SOURCE).times(rows.len());
            return vec![Came::pass(seen).check(KIND, &["box"], false)];
        }
        worse
    }
}

/// The failed check of a figure that is worse by more than it may be.
fn worse(row: &Row<Number>) -> Option<Check> {
    let more_is_better = row.unit.more_is_better();
    let (check, what) = &row.number;
    let is_copy = more_is_better && !check.starts_with("allreduce");
    let Threshold(allowed) = if is_copy { COPIES } else { OTHERS };
    let (good, worst) = match more_is_better {
        true => (Side::AtLeast, 1.0 - allowed),
        false => (Side::AtMost, 1.0 + allowed),
    };
    let is_beyond = row.interval.is_some_and(|ends| match good {
        Side::AtLeast => ends.high < worst,
        Side::AtMost => ends.low > worst,
    });
    if row.verdict != Than::Regression || !(is_copy || is_beyond) {
        return None;
    }
    let ends = row.interval.map(|ends| (ends.low, ends.high));
    let n = row.n_b.unwrap_or(1).try_into().unwrap_or(usize::MAX);
    let ratio = Measured::out_of(row.ratio, ends, n).in_unit("1", SOURCE);
    let (known, unit) = (row.a, row.unit);
    let ratio = ratio.named(format!("{what} over the baseline's {known:.2} {unit}"));
    let limit = Limit {
        good,
        fail: Some(worst),
        unit: "1".to_owned(),
        source: "our choice".to_owned(),
        ..Limit::default()
    };
    let came = Came::new(Verdict::Fail, ReasonCode::BeyondLimit).by(Some(limit));
    Some(came.with([ratio]).check(KIND, &[check, what], true))
}
