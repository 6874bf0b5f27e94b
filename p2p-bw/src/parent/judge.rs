//! Caveats about a point that was measured: interval, outliers, gate, ceiling.

use record::caveat::Caveat;
use record::quantity::{Gate, Unit};
use record::{LinkUse, NamedQuantity, judged};

/// Caveats about a measured point.
pub(crate) fn judge(quantities: &[NamedQuantity], link: &LinkUse) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    // What comes before the one launch of a chase is little against its steps.
    let lacks_gate = |named: &NamedQuantity| {
        let quantity = &named.quantity;
        quantity.unit != Unit::Nanoseconds && quantity.timing.gate == Gate::None
    };
    if quantities.iter().any(lacks_gate) {
        caveats.push(Caveat::NoGate);
    }
    for named in judged(quantities) {
        caveats.extend(program::reservations(&named.quantity));
    }
    let above = link.fraction.values().copied().fold(0.0, f64::max);
    if above > 1.0 {
        caveats.push(Caveat::AboveCeiling { fraction: above });
    }
    caveats.dedup();
    caveats
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::plan::StopReason;
    use record::quantity::{Quantity, TimeSource, Timing};

    fn named(unit: Unit, (source, gate): (TimeSource, Gate), samples: Vec<f64>) -> NamedQuantity {
        let timing = Timing {
            source,
            gate,
            copies_per_sample: 1,
            warmup_copies: 1,
        };
        let quantity = Quantity::from_samples(samples, unit, timing, StopReason::MaxSamples);
        NamedQuantity {
            name: "issue".to_owned(),
            quantity: quantity.unwrap(),
        }
    }

    #[test]
    fn this_machines_time_beside_a_virtual_clock_is_not_judged() {
        // Median 10, interval 5 to 30: the wider side is 200%.
        let wide = vec![10.0, 5.0, 30.0, 10.0, 10.0, 10.0];
        let held = |source| (source, Gate::SpinKernel);
        let host = held(TimeSource::HostMonotonic);
        let of_host = named(Unit::Microseconds, host, wide);
        let of_box = named(
            Unit::Microseconds,
            held(TimeSource::Simulated),
            vec![1.0; 6],
        );
        let link = LinkUse::default();
        assert_ne!(judge(std::slice::from_ref(&of_host), &link), []);
        assert_eq!(judge(&[of_host, of_box], &link), []);
    }

    #[test]
    fn a_chase_needs_no_gate_and_a_copy_does() {
        let of = |unit| {
            let timed = (TimeSource::DeviceEvent, Gate::None);
            judge(&[named(unit, timed, vec![700.0; 6])], &LinkUse::default())
        };
        assert_eq!(of(Unit::Nanoseconds), []);
        assert_eq!(of(Unit::GbPerS), [Caveat::NoGate]);
    }
}
