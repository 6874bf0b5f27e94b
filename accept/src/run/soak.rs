//! A soak: the loads of links, with memory and arithmetic beside them, and of collectives, round after round until its time is over.
//!
//! No memory is marched over, tensor cores idle, and no power virus runs: what that would find is not looked for, and the report says so.

use std::time::{Duration, Instant};

use program::Stop;

use super::journal::Done;
use super::session::Session;
use crate::checks::Group;
use crate::findings::Missing;
use crate::report::ReasonCode;

/// A soak has so many rounds at least: one has no other to be compared with.
pub(super) const LEAST_ROUNDS: usize = 2;

impl Session<'_> {
    /// Loads the box for so long, what earlier processes of the run loaded it for included. `rebooted` says that the machine
    /// started anew meanwhile, which no soak passes.
    ///
    /// # Errors
    /// A signal, or a disk that refuses.
    pub(crate) fn soak(&mut self, duration: Duration, rebooted: bool) -> Result<(), Stop> {
        let before: f64 = self
            .done
            .iter()
            .filter(|done| done.group == Group::Soak)
            .map(|done| done.took_s)
            .sum();
        if rebooted && before > 0.0 {
            let text = "the machine was restarted during the soak".to_owned();
            let code = ReasonCode::DeviceLost;
            self.findings
                .missing
                .insert(Group::Soak, Missing::of(code, text));
            return self.judge();
        }
        let before = Duration::from_secs_f64(before);
        let begun = Instant::now();
        for round in 1.. {
            let steps = self.bench.round(round);
            for (number, step) in steps.iter().enumerate() {
                // Copies have their own engines; collectives are kernels, and one that waits for a processor tells nothing of the box.
                let load = (number == 0).then(|| self.bench.load(round, step.seconds));
                // A load that failed is reported, and what follows it is no soak.
                let did = self.step_beside(step, load.as_ref())?;
                if !did || self.has_failed() {
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

    /// Whether a step of the soak left nothing, or not all.
    fn has_failed(&self) -> bool {
        let is_lacking = |done: &Done| done.group == Group::Soak && done.missing.is_some();
        self.done.iter().any(is_lacking)
    }
}
