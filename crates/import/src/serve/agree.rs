//! Whether the figures of a file agree: what it says twice.

use super::finding::Finding;
use super::keys::Field as F;
use super::numbers::Numbers;
use super::result::float;
use super::run::{ServeFormat, ServeRun};

/// How far figures that must agree may lie apart, such as completed over duration and the rate that the file gives.
pub(super) const AGREE: f64 = 0.05;

/// Figures that are not what others of the file make them.
pub(super) fn figures(numbers: &Numbers, run: &ServeRun) -> Vec<Finding> {
    let off = AGREE + numbers.duration_off_s / run.duration_s;
    let each = |total: Option<u64>| total.map(|total| float(total) / float(run.completed.max(1)));
    let per_s = |total: Option<u64>| total.map(|total| float(total) / run.duration_s);
    let counted = numbers
        .get(F::Completed)
        .and(numbers.get(F::Failed))
        .and(run.failed);
    let sent = counted
        .filter(|_| run.format == ServeFormat::Summary)
        .map(|failed| float(failed) + float(run.completed));
    let pairs = [
        (
            "requests_per_s",
            F::RequestsPerS,
            Some(run.requests_per_s),
            off,
        ),
        ("requests sent", F::Sent, sent, 0.0),
        (
            "output tokens each",
            F::OutputEach,
            each(run.output_tokens),
            off,
        ),
        (
            "prompt tokens each",
            F::InputEach,
            each(run.input_tokens),
            off,
        ),
        (
            "prompt tokens/s",
            F::InputPerS,
            per_s(run.input_tokens),
            off,
        ),
    ];
    let told = pairs
        .into_iter()
        .filter_map(|(name, field, own, off)| Some((name, numbers.get(field)?, own?, off)));
    let other = told.filter(|(_, said, own, off)| (said - own).abs() > off * own + 0.005);
    let other = other.map(|(name, said, own, _)| Finding::FiguresDiffer {
        figure: name.to_owned(),
        said,
        own,
    });
    other.collect()
}
