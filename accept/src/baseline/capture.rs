//! `accept baseline capture`: the figures of an accepted run, with their samples, as a file. It judges nothing again.

use std::path::Path;

use measure::exit;
use measure::record::write_whole;
use measure::stats::MIN_FOR_INTERVAL;
use program::outputs::{check_file, print};
use program::say;

use super::{BASELINE_SCHEMA, Baseline, Figure};
use crate::figures::{figures, is_good};
use crate::plural::plural;
use crate::report::{BoxVerdict, Check, ReasonCode, Report, RunStatus};
use crate::run::{Written, of_alone, written};

/// A baseline that was made, and what was left out of it.
pub(super) struct Captured {
    /// The baseline.
    pub(super) baseline: Baseline,
    /// How many figures were left out because their check did not pass.
    pub(super) not_good: usize,
    /// How many because they have too few samples for an interval.
    pub(super) too_few: usize,
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
    let report = match written(run) {
        Ok(Written {
            report, is_alone, ..
        }) => {
            if is_alone {
                say!("note: {}", of_alone(&report));
            }
            report
        }
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

/// What was made, in a line or two.
fn words(captured: &Captured, out: &Path) -> String {
    let Captured {
        baseline,
        not_good,
        too_few,
        busy,
    } = captured;
    let simulated = match &baseline.soft_box {
        Some(name) => {
            format!("SIMULATED on soft box {name}: a baseline of it holds no real box to account\n")
        }
        None => String::new(),
    };
    let (figures, shown) = (baseline.figures.len(), out.display());
    let left = match (not_good, too_few) {
        (0, 0) => String::new(),
        _ => format!(
            "; figures left out: {not_good} of checks that did not pass, {too_few} with fewer than {MIN_FOR_INTERVAL} samples"
        ),
    };
    measure::control::replaced(&format!(
        "{shown}: {} of profile {}{left}",
        plural(figures, "figure"),
        baseline.profile.0
    )) + "\n"
        + &shared(busy)
        + &simulated
}

/// What is said of figures of devices that others used.
pub(super) fn shared(busy: &[String]) -> String {
    let (is, of) = match busy.len() {
        0 => return String::new(),
        1 => ("was", "its figures are those of a shared device"),
        _ => ("were", "their figures are those of shared devices"),
    };
    let labels = measure::control::replaced(&busy.join(", "));
    format!("{labels} {is} in use by others: {of}\n")
}

/// The baseline of a report, or why there is none.
pub(super) fn captured(report: &Report) -> Result<Captured, String> {
    if let RunStatus::Failed { reason } = &report.status {
        let reason = measure::control::replaced(reason);
        return Err(format!("the run measured nothing: {reason}"));
    }
    if report.status != RunStatus::Complete {
        return Err(
            "the run did not end by itself; run it again, or go on with `accept run --resume`"
                .to_owned(),
        );
    }
    if !matches!(
        report.verdict,
        BoxVerdict::Accepted | BoxVerdict::AcceptedWithWarnings
    ) {
        let verdict = report.verdict.words();
        return Err(format!(
            "the box is {verdict}, and only an accepted one is a measure for others"
        ));
    }
    let (mut kept, mut not_good, mut too_few) = (Vec::new(), 0, 0);
    for figure in figures(report) {
        // Each sample is divided by later.
        let is_sound = figure
            .samples
            .iter()
            .all(|sample| sample.is_finite() && *sample > 0.0);
        if !is_good(figure.check.verdict) {
            not_good += 1;
        } else if figure.samples.len() < MIN_FOR_INTERVAL || !is_sound {
            too_few += 1;
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
        |check: &&Check| check.kind == "idle" && check.reason.code == ReasonCode::BusyDevice;
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
        not_good,
        too_few,
        busy: busy.collect(),
    })
}
