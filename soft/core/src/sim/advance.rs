//! How the clock runs: to the next end of a latency, of a flow or of a gate's patience, or to an instant.

use super::{Active, Holds, NOTHING, Simulation, Step};
use crate::{Demand, fair_rates};

impl Simulation {
    /// Lets the clock run to the next change.
    pub fn step(&mut self) -> Step {
        let rates = self.rates();
        let next = self.next_end(&rates);
        if next.is_infinite() {
            return Step::Stuck;
        }
        self.pass(next, &rates);
        Step::Advanced
    }

    /// The next end at these rates; infinite where there is none.
    fn next_end(&self, rates: &[f64]) -> f64 {
        let end = |active: &Active, rate: f64| {
            if active.flow.hung {
                f64::INFINITY
            } else if active.moves_at > self.now {
                active.moves_at
            } else if active.left <= NOTHING {
                self.now
            } else {
                self.now + active.left / rate
            }
        };
        self.active
            .iter()
            .zip(rates)
            .map(|(active, rate)| end(active, *rate))
            .fold(f64::INFINITY, f64::min)
    }

    /// Lets the time up to `next` pass at these rates, and ends what is over then.
    fn pass(&mut self, next: f64, rates: &[f64]) {
        let passed = next - self.now;
        for (active, rate) in self.active.iter_mut().zip(rates) {
            active.left -= rate * passed;
            // The clock's own rounding, late in a long run, must not leave a crumb that takes no time.
            if active.left <= rate * next * 1e-15 {
                active.left = 0.0;
            }
        }
        self.now = next;
        let over = |active: &Active| {
            !active.flow.hung && active.moves_at <= next && active.left <= NOTHING
        };
        let ended = self.active.extract_if(.., |active| over(active)).collect();
        self.end(ended);
    }

    /// The gates that are under way and closed, by operation.
    pub fn closed_gates(&self) -> impl Iterator<Item = u64> {
        self.active
            .iter()
            .filter(|active| active.holds == Holds::Gate)
            .map(|active| active.operation)
    }

    /// Opens these gates, all at the present instant; what is no closed gate is left alone.
    pub fn open_gates(&mut self, operations: &[u64]) {
        let opened =
            |active: &Active| active.holds == Holds::Gate && operations.contains(&active.operation);
        let ended = self
            .active
            .extract_if(.., |active| opened(active))
            .collect();
        self.end(ended);
    }

    /// Ends these.
    fn end(&mut self, mut ended: Vec<Active>) {
        // Where there are none, a latency has passed, or only time.
        if ended.is_empty() {
            return;
        }
        ended.sort_by_key(|active| active.operation);
        for active in ended {
            self.ended.push(active.operation);
            if let Some(stream) = self.streams.get_mut(&active.stream) {
                stream.queue.pop_front();
                stream.busy = false;
                self.pools[stream.pool].free += u32::from(active.holds == Holds::Engine);
            }
        }
        self.settle();
    }

    /// The present rate of all that is under way; 0 while it spends its latency.
    fn rates(&self) -> Vec<f64> {
        let moving = |active: &Active| {
            !active.flow.hung && active.moves_at <= self.now && active.left > NOTHING
        };
        let demands: Vec<Demand<'_>> = self
            .active
            .iter()
            .filter(|active| moving(active))
            .map(|active| Demand {
                cap: active.flow.cap,
                segments: &active.flow.segments,
            })
            .collect();
        let mut rates = fair_rates(&demands, &self.capacities).into_iter();
        let each = self.active.iter().map(|active| match moving(active) {
            true => rates.next().unwrap_or(0.0),
            false => 0.0,
        });
        each.collect()
    }
}
