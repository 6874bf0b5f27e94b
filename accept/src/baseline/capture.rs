//! `tplens accept baseline capture`: the figures of an accepted run, with their samples, as a file. It judges nothing again.

use std::path::Path;

use program::outputs::{check_file, print};
use program::say;
use record::exit;
use record::write_whole;
use stats::MIN_FOR_INTERVAL;

use super::{BASELINE_SCHEMA, Baseline, Figure};
use crate::figures::{figures, is_good};
use crate::plural::plural;
use crate::report::{self, BoxVerdict, Check, ReasonCode, Report, RunStatus};

/// A baseline that was made, and what was left out of it.
pub(super) struct Captured {
    /// The baseline.
    pub(super) baseline: Baseline,
    /// Figures of checks that did not pass, or with too few samples for an interval.
    pub(super) left_out: usize,
    /// Devices that others used beside it, by their labels.
    pub(super) busy: Vec<String>,
}

/// Makes a baseline of a run and gives the exit code.
pub(crate) fn capture(run: &Path, out: &Path) -> u8 {
    // A link to nowhere counts as there.
    if out.symlink_metadata().is_ok() {
        say!(
            "error: --out {}: there is such a file already; remove it first, or name another one",
            out.display()
        );
        return exit::USAGE;
    }
    if let Err(error) = check_file("--out", out) {
        say!("error: {error}");
        return exit::USAGE;
    }
    let report = match report::read(run) {
        Ok(report) => report,
        Err(error) => {
            say!("error: {error}");
            return exit::USAGE;
        }
    };
    let captured = match captured(&report) {
        Ok(captured) => captured,
        Err(why) => {
            say!("no baseline was made: {why}");
            return exit::INCONCLUSIVE;
        }
    };
    let written = serde_json::to_vec_pretty(&captured.baseline)
        .map_err(|error| error.to_string())
        .and_then(|mut bytes| {
            bytes.push(b'\n');
            write_whole(out, &bytes).map_err(|error| error.to_string())
        });
    match written {
        Err(error) => {
            say!("error: {error}");
            exit::INTERNAL
        }
        Ok(()) => print(&words(&captured, out)),
    }
}

/// What was kept and what was left out.
fn words(captured: &Captured, out: &Path) -> String {
    let Captured {
        baseline,
        left_out,
        busy,
    } = captured;
    let simulated = baseline.soft_box.as_ref();
    let simulated = simulated.map_or_else(String::new, |name| format!(", SIMULATED on {name}"));
    let busy = match busy.is_empty() {
        true => String::new(),
        false => format!("; {} in use by others", busy.join(", ")),
    };
    let figures = plural(baseline.figures.len(), "figure");
    let line = format!(
        "{}: {figures} of profile {}{simulated}; {left_out} left out{busy}",
        out.display(),
        baseline.profile.0
    );
    record::control::replaced(&line) + "\n"
}

/// The baseline of a report, or why there is none.
pub(super) fn captured(report: &Report) -> Result<Captured, String> {
    if let RunStatus::Failed { reason } = &report.status {
        let reason = record::control::replaced(reason);
        return Err(format!("the run measured nothing: {reason}"));
    }
    if report.status != RunStatus::Complete {
        return Err(
            "the run did not end by itself; resume it with `tplens accept run --resume`".to_owned(),
        );
    }
    if !matches!(
        report.verdict,
        BoxVerdict::Accepted | BoxVerdict::AcceptedWithWarnings
    ) {
        let verdict = report.verdict.words();
        return Err(format!(
            "the machine is {verdict}, and only an accepted one is a measure for others"
        ));
    }
    let (mut kept, mut left_out) = (Vec::new(), 0);
    for figure in figures(report) {
        // Each sample is divided by later.
        let is_sound = figure
            .samples
            .iter()
            .all(|sample| sample.is_finite() && *sample > 0.0);
        let is_long = figure.samples.len() >= MIN_FOR_INTERVAL;
        if !is_good(figure.check.verdict) || !is_long || !is_sound {
            left_out += 1;
        } else {
            kept.push(Figure {
                check: figure.check.id.clone(),
                what: figure.what.to_owned(),
                unit: figure.unit.to_owned(),
                samples: figure.samples.to_vec(),
            });
        }
    }
    if kept.is_empty() {
        return Err(format!(
            "no figure of it passed with {MIN_FOR_INTERVAL} samples or more"
        ));
    }
    let is_busy =
        |check: &&Check| check.kind == "idle" && check.reason.code == ReasonCode::DeviceBusy;
    let busy = report.checks.iter().filter(is_busy);
    let busy = busy.flat_map(|check| check.about.iter().cloned());
    Ok(Captured {
        baseline: Baseline {
            schema: BASELINE_SCHEMA,
            soft_box: report.simulated.as_ref().map(|soft| soft.box_name.clone()),
            started: report.started.clone(),
            profile: (report.profile.name.clone(), report.profile.sha256.clone()),
            fingerprint: report.node.fingerprint.clone(),
            figures: kept,
        },
        left_out,
        busy: busy.collect(),
    })
}
