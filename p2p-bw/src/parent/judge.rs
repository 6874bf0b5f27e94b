//! Reservations about a point that was measured: interval, outliers, gate, ceiling.

use measure::caveat::Caveat;
use measure::quantity::Gate;
use measure::record::{LinkUse, NamedQuantity};

/// Reservations about a measured point.
pub(super) fn judge(quantities: &[NamedQuantity], link: &LinkUse, gate: Gate) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    if gate == Gate::None {
        caveats.push(Caveat::NoGate);
    }
    for named in quantities {
        caveats.extend(program::reservations(&named.quantity));
    }
    let above = link.fraction.values().copied().fold(0.0, f64::max);
    if above > 1.0 {
        caveats.push(Caveat::AboveCeiling { fraction: above });
    }
    caveats.dedup();
    caveats
}
