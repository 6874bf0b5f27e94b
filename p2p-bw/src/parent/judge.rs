//! Reservations about a point that was measured: interval, outliers, gate, ceiling.

use measure::caveat::Caveat;
use measure::plan::StopReason;
use measure::quantity::Gate;
use measure::record::{LinkUse, NamedQuantity};

/// Reservations about a measured point.
pub(super) fn judge(quantities: &[NamedQuantity], link: &LinkUse, gate: Gate) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    if gate == Gate::None {
        caveats.push(Caveat::NoGate);
    }
    for named in quantities {
        let quantity = &named.quantity;
        let relative_half_width = quantity.relative_half_width();
        let too_wide = match quantity.stopped {
            StopReason::IntervalNarrow => false,
            StopReason::MaxSamples | StopReason::Budget => {
                relative_half_width.is_none_or(|width| width > 0.05)
            }
        };
        if too_wide {
            caveats.push(Caveat::WideInterval {
                relative_half_width,
            });
        }
        if !quantity.outliers.is_empty() {
            caveats.push(Caveat::Outliers {
                count: quantity.outliers.len(),
                n: quantity.n,
            });
        }
    }
    let above = link.fraction.values().copied().fold(0.0, f64::max);
    if above > 1.0 {
        caveats.push(Caveat::AboveCeiling { fraction: above });
    }
    caveats.dedup();
    caveats
}
