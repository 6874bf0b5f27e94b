//! One side of a comparison: a run's report, or a baseline.

use std::path::Path;

use crate::baseline::{self, BaselineError};
use crate::figures::figures;
use crate::report::{self, Fingerprint, ReasonCode, Report, Verdict};

/// What is compared.
#[derive(Debug, Clone)]
pub(crate) struct Side {
    /// The file or folder.
    pub(crate) path: String,
    /// The simulated machine behind it.
    pub(crate) soft_box: Option<String>,
    /// When the run began.
    pub(crate) started: String,
    /// Name and sha256 of its profile.
    pub(crate) profile: (String, String),
    /// What must be equal.
    pub(crate) fingerprint: Fingerprint,
    /// Its figures.
    pub(crate) figures: Vec<Kept>,
    /// Its verdicts; `None` for a baseline, which has none.
    pub(crate) checks: Option<Vec<Judged>>,
}

/// A figure with its samples.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    /// Id of the check.
    pub(crate) check: String,
    /// What it is.
    pub(crate) what: String,
    /// Its unit.
    pub(crate) unit: String,
    /// Where a good one lies.
    pub(crate) good: crate::report::Side,
    /// The samples; empty for what was worked out of others.
    pub(crate) samples: Vec<f64>,
}

/// A check's verdict.
#[derive(Debug, Clone)]
pub(crate) struct Judged {
    /// Its id.
    pub(crate) check: String,
    /// What it came to.
    pub(crate) verdict: Verdict,
    /// Why.
    pub(crate) code: ReasonCode,
}

/// Loads a side: a baseline where the file is one, else a report.
pub(crate) fn load(path: &Path) -> Result<Side, String> {
    let not_a_baseline = match baseline::load(path) {
        Ok(loaded) => return Ok(of_baseline(path, loaded.baseline)),
        Err(error) => error,
    };
    match (report::read(path), not_a_baseline) {
        (Ok(report), _) => Ok(of_report(path, &report)),
        // What begins as a baseline is not called a broken report.
        (Err(_), error @ BaselineError::Newer { .. }) => Err(error.to_string()),
        (Err(error), _) => Err(format!("{error}; nor is it a baseline")),
    }
}

/// A side of a report.
pub(crate) fn of_report(path: &Path, report: &Report) -> Side {
    let kept = figures(report).map(|figure| Kept {
        check: figure.check.id.clone(),
        what: figure.what.to_owned(),
        unit: figure.unit.to_owned(),
        good: figure.good,
        samples: figure.samples.to_vec(),
    });
    let judged = report.checks.iter().map(|check| Judged {
        check: check.id.clone(),
        verdict: check.verdict,
        code: check.reason.code,
    });
    Side {
        path: path.display().to_string(),
        soft_box: report.simulated.as_ref().map(|soft| soft.box_name.clone()),
        started: report.started.clone(),
        profile: (report.profile.name.clone(), report.profile.sha256.clone()),
        fingerprint: report.node.fingerprint.clone(),
        figures: kept.collect(),
        checks: Some(judged.collect()),
    }
}

/// A side of a baseline. A unit that is not known has no good side and is left out.
pub(crate) fn of_baseline(path: &Path, baseline: baseline::Baseline) -> Side {
    let kept = baseline.figures.into_iter().filter_map(|figure| {
        Some(Kept {
            good: crate::figures::good_side(&figure.unit)?,
            check: figure.check,
            what: figure.what,
            unit: figure.unit,
            samples: figure.samples,
        })
    });
    Side {
        path: path.display().to_string(),
        soft_box: baseline.soft_box,
        started: baseline.started,
        profile: baseline.profile,
        figures: kept.collect(),
        fingerprint: baseline.fingerprint,
        checks: None,
    }
}
