//! Caveats about a point that was measured: interval, outliers, gate, ceiling.

use record::caveat::Caveat;
use record::quantity::{Gate, Unit};
use record::{LinkUse, NamedQuantity, judged};

/// Caveats about a measured point.
pub(crate) fn judge(quantities: &[NamedQuantity], link: &LinkUse, gate: Gate) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    // What comes before the one launch of a chase is little against its steps.
    let needs_gate = |named: &NamedQuantity| named.quantity.unit != Unit::Nanoseconds;
    if gate == Gate::None && quantities.iter().any(needs_gate) {
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

    fn named(unit: Unit, source: TimeSource, samples: Vec<f64>) -> NamedQuantity {
        let timing = Timing {
            source,
            gate: Gate::None,
            copies_per_sample: 1,
            warmup_copies: 1,
        };
        let quantity = Quantity::from_samples(samples, unit, timing, StopReason::MaxSamples);
        NamedQuantity {
            name: "issue".to_owned(),
            quantity: quantity.unwrap(),
        }
    }

    /// Median 10, interval 5 to 30: the wider side is 200%.
    fn wide() -> Vec<f64> {
        vec![10.0, 5.0, 30.0, 10.0, 10.0, 10.0]
    }

    #[test]
    fn this_machines_time_beside_a_virtual_clock_is_not_judged() {
        let of_host = named(Unit::Microseconds, TimeSource::HostMonotonic, wide());
        let of_box = named(Unit::Microseconds, TimeSource::Simulated, vec![1.0; 6]);
        let link = LinkUse::default();
        let gate = Gate::SpinKernel;
        assert_ne!(judge(std::slice::from_ref(&of_host), &link, gate), []);
        assert_eq!(judge(&[of_host, of_box], &link, gate), []);
    }

    #[test]
    fn a_chase_needs_no_gate_and_a_copy_does() {
        let link = LinkUse::default();
        let of = |unit| {
            let number = named(unit, TimeSource::DeviceEvent, vec![700.0; 6]);
            judge(&[number], &link, Gate::None)
        };
        assert_eq!(of(Unit::Nanoseconds), []);
        assert_eq!(of(Unit::GbPerS), [Caveat::NoGate]);
    }
}
