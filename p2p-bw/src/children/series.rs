//! The samples of one quantity as a worker takes them, and the numbers that come of them.

use record::plan::StopReason;
use record::quantity::{Quantity, TimeSource, Timing, Unit};
use record::{LinkUse, NamedQuantity, Outcome, Placement, Verification};

/// The samples of one quantity.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Series {
    /// Its name in the record.
    pub(super) name: String,
    pub(super) unit: Unit,
    /// The clock behind it.
    pub(super) source: TimeSource,
    pub(super) samples: Vec<f64>,
}

/// The quantities of series, in their order, that were timed alike but for the clock of each.
pub(super) fn measured(
    series: Vec<Series>,
    (timing, stopped): (Timing, StopReason),
    verification: Verification,
    placement: Option<Placement>,
) -> Outcome {
    let quantity = |series: Series| {
        let source = series.source;
        let timing = Timing { source, ..timing };
        Some(NamedQuantity {
            quantity: Quantity::from_samples(series.samples, series.unit, timing, stopped)?,
            name: series.name,
        })
    };
    match series.into_iter().map(quantity).collect() {
        Some(quantities) => Outcome::Measured {
            quantities,
            verification,
            link: LinkUse::default(),
            placement,
        },
        None => Outcome::Failed {
            reason: "a time was zero or not a number; use larger --sizes".into(),
        },
    }
}
