//! Caveats about one number that come from its samples alone.

use record::caveat::Caveat;
use record::plan::StopReason;
use record::quantity::Quantity;

/// An interval wider than this to one side, relative to the value, is told where sampling ended before it was narrow (our choice).
const WIDE: f64 = 0.05;

/// What its interval and its outliers say against a quantity.
#[must_use]
pub fn reservations(quantity: &Quantity) -> Vec<Caveat> {
    let relative_half_width = quantity.relative_half_width();
    let too_wide = match quantity.stopped {
        StopReason::IntervalNarrow => false,
        StopReason::MaxSamples | StopReason::Budget => {
            relative_half_width.is_none_or(|width| width > WIDE)
        }
    };
    let wide = too_wide.then_some(Caveat::WideInterval {
        relative_half_width,
        stopped: Some(quantity.stopped),
    });
    let outliers = (!quantity.outliers.is_empty()).then_some(Caveat::Outliers {
        count: quantity.outliers.len(),
        n: quantity.n,
    });
    wide.into_iter().chain(outliers).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::quantity::{Gate, TimeSource, Timing, Unit};

    fn told(samples: Vec<f64>, stopped: StopReason) -> Vec<Caveat> {
        let timing = Timing {
            source: TimeSource::HostMonotonic,
            gate: Gate::None,
            copies_per_sample: 1,
            warmup_copies: 1,
        };
        reservations(&Quantity::from_samples(samples, Unit::Microseconds, timing, stopped).unwrap())
    }

    #[test]
    fn an_interval_of_ten_percent_is_told_unless_it_was_called_narrow() {
        // Six samples: the interval is their range, 10 +- 1.
        let samples = || vec![9.0, 10.0, 10.0, 10.0, 10.0, 11.0];
        assert!(matches!(
            told(samples(), StopReason::Budget)[0],
            Caveat::WideInterval { .. }
        ));
        let narrow = told(samples(), StopReason::IntervalNarrow);
        assert!(
            !narrow
                .iter()
                .any(|caveat| matches!(caveat, Caveat::WideInterval { .. }))
        );
        assert_eq!(told(vec![10.0; 6], StopReason::MaxSamples), []);
        // Five samples have no interval, which is reported, too.
        assert_eq!(told(vec![10.0; 5], StopReason::MaxSamples).len(), 1);
    }
}
