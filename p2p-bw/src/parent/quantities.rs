//! The numbers of a point from the samples that the worker took.

use record::NamedQuantity;
use record::plan::StopReason;
use record::quantity::{Quantity, Timing};

use crate::messages::Series;

/// The quantities of a job, in the order of their series; or why there are none.
pub(super) fn quantities(
    series: Vec<Series>,
    timing: Timing,
    stopped: StopReason,
) -> Result<Vec<NamedQuantity>, String> {
    let quantity = |series: Series| {
        let timing = Timing {
            source: series.source,
            ..timing
        };
        let quantity = Quantity::from_samples(series.samples, series.unit, timing, stopped)?;
        Some(NamedQuantity {
            name: series.name,
            quantity,
        })
    };
    let all: Option<Vec<_>> = series.into_iter().map(quantity).collect();
    all.ok_or_else(|| "a time was zero or not a number; use larger --sizes".to_owned())
}
