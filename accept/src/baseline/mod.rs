//! A baseline: the figures of a machine that was once accepted, with their samples, to compare later runs with. It can only tighten a
//! limit; nothing is judged again here.

#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use program::outputs::{check_file, print};
use program::say;
use record::{Links, exit, write_whole};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use stats::MIN_FOR_INTERVAL;

use crate::figures::{figures, is_good};
use crate::plural::plural;
use crate::report::{self, Fingerprint, Report, RunStatus};

/// Version of a baseline's schema.
pub(crate) const BASELINE_SCHEMA: u32 = 1;

/// The figures of a run that was accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Baseline {
    /// [`BASELINE_SCHEMA`].
    pub(crate) schema: u32,
    /// Name of the simulated machine, where it is of one.
    pub(crate) soft_box: Option<String>,
    /// When the run began, RFC 3339.
    pub(crate) started: String,
    /// Name and sha256 of the profile.
    pub(crate) profile: (String, String),
    /// What must be equal for figures to be compared.
    pub(crate) fingerprint: Fingerprint,
    /// One row for each measured check.
    pub(crate) figures: Vec<Figure>,
}

/// A figure of a baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Figure {
    /// Id of the check, such as `h2d_pinned GPU0`.
    pub(crate) check: String,
    /// What it is, as the evidence has it.
    pub(crate) what: String,
    /// Its unit.
    pub(crate) unit: String,
    /// The samples.
    pub(crate) samples: Vec<f64>,
}

/// A baseline with the sha256 of its file, which a report names.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Loaded {
    pub(crate) baseline: Baseline,
    /// Hex.
    pub(crate) sha256: String,
}

/// Reads a baseline, which may be anybody's file.
///
/// # Errors
/// It cannot be read, or is none; a figure of it is no number above zero.
pub(crate) fn load(path: &Path) -> anyhow::Result<Loaded> {
    let shown = path.display();
    let bytes =
        bounded::regular(path, bounded::RESULT).with_context(|| format!("cannot read {shown}"))?;
    let baseline: Baseline = serde_json::from_slice(&bytes).with_context(|| {
        format!(
            "{shown} is no baseline; make one with `tplens accept baseline capture RUN --out FILE`"
        )
    })?;
    ensure!(
        baseline.schema <= BASELINE_SCHEMA,
        "{shown} has schema {}, and this program reads {BASELINE_SCHEMA}",
        baseline.schema
    );
    let is_sound = |figure: &Figure| !figure.samples.is_empty() && are_above_zero(&figure.samples);
    ensure!(
        !baseline.figures.is_empty() && baseline.figures.iter().all(is_sound),
        "{shown} is no baseline: its figures must have samples above zero"
    );
    let sha256 = report::hex(&Sha256::digest(&bytes));
    Ok(Loaded { baseline, sha256 })
}

/// Whether each sample can be divided by.
fn are_above_zero(samples: &[f64]) -> bool {
    samples
        .iter()
        .all(|sample| sample.is_finite() && *sample > 0.0)
}

const OTHER: &str = "--baseline is of another machine; run without it, or capture one here";

impl Baseline {
    /// Refuses a baseline of a simulated machine for a real one, the other way about, and that of another simulated one.
    pub(crate) fn same_kind(&self, simulated: Option<&str>) -> Result<(), String> {
        match self.soft_box.as_deref() == simulated {
            true => Ok(()),
            false => Err(OTHER.to_owned()),
        }
    }

    /// Refuses one without any device like those here; a missing or exchanged one is for the inventory to judge.
    pub(crate) fn same_devices(&self, links: &Links) -> Result<(), String> {
        let known = &self.fingerprint;
        let backend = links.backend.as_ref().map(|backend| backend.name.as_str());
        let mut devices = links.devices.iter();
        let is_shared = devices.any(|device| known.devices.contains(&device.name));
        match backend == Some(known.backend.as_str()) && (is_shared || links.devices.is_empty()) {
            true => Ok(()),
            false => Err(OTHER.to_owned()),
        }
    }
}

/// `tplens accept baseline capture`: makes a baseline of a run and gives the exit code.
pub(crate) fn capture(run: &Path, out: &Path) -> u8 {
    // A link to nowhere counts as there.
    let checked = match out.symlink_metadata() {
        Ok(_) => Err(format!(
            "--out {}: there is such a file already",
            out.display()
        )),
        Err(_) => check_file("--out", out),
    };
    let report = checked.and_then(|()| report::read(run).map_err(|error| error.to_string()));
    let report = match report {
        Ok(report) => report,
        Err(error) => {
            say!("error: {error}");
            return exit::USAGE;
        }
    };
    let (baseline, left_out) = match captured(&report) {
        Ok(captured) => captured,
        Err(why) => {
            say!("no baseline was made: {why}");
            return exit::INCONCLUSIVE;
        }
    };
    let written = serde_json::to_vec_pretty(&baseline)
        .map_err(anyhow::Error::from)
        .and_then(|bytes| Ok(write_whole(out, &[&bytes[..], b"\n"].concat())?));
    if let Err(error) = written {
        say!("error: {error:#}");
        return exit::INTERNAL;
    }
    let simulated = baseline.soft_box.as_ref();
    let simulated = simulated.map_or_else(String::new, |name| format!(", SIMULATED on {name}"));
    let line = format!(
        "{}: {} of profile {}{simulated}; {left_out} left out",
        out.display(),
        plural(baseline.figures.len(), "figure"),
        baseline.profile.0
    );
    print(&(record::control::replaced(&line) + "\n"))
}

/// The baseline of a report and how many figures were left out of it: those that are not good, or have too few samples for an interval.
///
/// # Errors
/// Only an accepted run that ended by itself is a measure for others.
pub(crate) fn captured(report: &Report) -> anyhow::Result<(Baseline, usize)> {
    if report.status != RunStatus::Complete {
        bail!("the run did not end by itself; resume it with `tplens accept run --resume`");
    }
    if report.verdict.exit_code() != exit::DONE {
        let verdict = report.verdict.words();
        bail!("the machine is {verdict}, and only an accepted one is a measure for others");
    }
    let (kept, left_out): (Vec<_>, Vec<_>) = figures(report).partition(|figure| {
        is_good(figure.check.verdict)
            && figure.samples.len() >= MIN_FOR_INTERVAL
            && are_above_zero(figure.samples)
    });
    ensure!(
        !kept.is_empty(),
        "no figure of it passed with {MIN_FOR_INTERVAL} samples or more"
    );
    let figures = kept.into_iter().map(|figure| Figure {
        check: figure.check.id.clone(),
        what: figure.what.to_owned(),
        unit: figure.unit.to_owned(),
        samples: figure.samples.to_vec(),
    });
    let baseline = Baseline {
        schema: BASELINE_SCHEMA,
        soft_box: report.simulated.as_ref().map(|soft| soft.box_name.clone()),
        started: report.started.clone(),
        profile: (report.profile.name.clone(), report.profile.sha256.clone()),
        fingerprint: report.node.fingerprint.clone(),
        figures: figures.collect(),
    };
    Ok((baseline, left_out.len()))
}
