//! Rates over spans of time: so many samples of a load that has far more passes.

use std::time::{Duration, Instant};

/// What was done and how long that took, summed over spans.
pub(super) struct Rates {
    span: Duration,
    begun: Instant,
    amount: f64,
    ns: f64,
    samples: Vec<f64>,
}

impl Rates {
    pub(super) fn new(span: Duration) -> Self {
        Self {
            span,
            begun: Instant::now(),
            amount: 0.0,
            ns: 0.0,
            samples: Vec::new(),
        }
    }

    /// Adds what was done in so many nanoseconds.
    pub(super) fn add(&mut self, amount: f64, ns: f64) {
        self.amount += amount;
        self.ns += ns;
        if self.begun.elapsed() >= self.span {
            self.close();
        }
    }

    /// The rates of all spans, an amount a nanosecond. What the last span began is one of them.
    pub(super) fn end(mut self) -> Vec<f64> {
        self.close();
        self.samples
    }

    fn close(&mut self) {
        if self.ns > 0.0 {
            self.samples.push(self.amount / self.ns);
        }
        (self.amount, self.ns) = (0.0, 0.0);
        self.begun = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_the_sum_of_its_passes_and_spans_without_time_are_none() {
        let mut long = Rates::new(Duration::from_secs(3600));
        long.add(30.0, 10.0);
        long.add(10.0, 10.0);
        // 40 in 20 ns.
        assert_eq!(long.end(), [2.0]);
        let mut short = Rates::new(Duration::ZERO);
        short.add(30.0, 10.0);
        short.add(10.0, 10.0);
        assert_eq!(short.end(), [3.0, 1.0]);
        assert!(Rates::new(Duration::ZERO).end().is_empty());
    }
}
