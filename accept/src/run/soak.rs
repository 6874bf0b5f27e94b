//! A soak: the loads of links, with memory and arithmetic beside them, and of collectives, round after round until its time is over.
//!
//! No memory is marched over, tensor cores idle, and no power virus runs: what that would find is not looked for, and the report says so.

use std::time::{Duration, Instant};

use program::Stop;

use super::journal::Done;
use super::session::Session;
use crate::checks::Group;

/// A soak has so many rounds at least: one has no other to be compared with.
pub(super) const LEAST_ROUNDS: usize = 2;

impl Session<'_> {
    /// Loads the machine for so long, what earlier processes of the run loaded it for included.
    ///
    /// # Errors
    /// A signal, or a disk that refuses.
    pub(crate) fn soak(&mut self, duration: Duration) -> Result<(), Stop> {
        let is_soak = |done: &&Done| done.group == Group::Soak;
        let before: f64 = self
            .done
            .iter()
            .filter(is_soak)
            .map(|done| done.took_s)
            .sum();
        let before = Duration::from_secs_f64(before);
        let begun = Instant::now();
        for round in 1.. {
            let steps = self.bench.round(round);
            for (number, step) in steps.iter().enumerate() {
                // Copies have their own engines; collectives are kernels, and one that waits for a processor tells nothing of the box.
                let load = (number == 0).then(|| self.bench.load(round, step.seconds));
                let did = self.step(step, load.as_ref())?;
                // A load that failed is reported, and what follows it is no soak.
                let mut own = self.done.iter().filter(is_soak);
                if !did || own.any(|done| done.missing.is_some()) {
                    return self.judge();
                }
            }
            if before + begun.elapsed() >= duration && round >= LEAST_ROUNDS {
                break;
            }
        }
        self.findings.missing.remove(&Group::Soak);
        self.judge()
    }
}
