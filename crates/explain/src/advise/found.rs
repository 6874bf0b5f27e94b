//! What rules look at, and the effects that arithmetic gives them.

use super::advice::Effect;
use crate::attribute::{Attribution, Claim};
use crate::inputs::Inputs;
use crate::what_if::{By, CommunicationFrom, Substitution, what_if};

/// What rules look at.
pub(super) struct Found<'a> {
    pub(super) inputs: &'a Inputs,
    pub(super) attribution: &'a Attribution,
}

impl Found<'_> {
    /// Whether anything is claimed of communication, so that links may be at fault.
    pub(super) fn is_claimed(&self) -> bool {
        !matches!(self.attribution.claim, Claim::None { .. })
    }

    /// What free links would bring at most; nothing where nothing is claimed of communication.
    pub(super) fn bound(&self) -> Option<Effect> {
        self.is_claimed().then(|| Effect {
            of: "the step rate of TP1".to_owned(),
            times: self.attribution.free_links,
            at_most: true,
        })
    }

    /// What a substitute would bring; `None` where no curve tells it.
    pub(super) fn by(&self, by: By) -> Option<Effect> {
        let asked = [Substitution {
            asked: String::new(),
            by,
        }];
        let answers = what_if(self.inputs, self.attribution, &asked);
        let predicted = answers.first()?.predicted()?;
        Some(Effect {
            of: "the step rate of TP1".to_owned(),
            times: predicted.speed_up,
            at_most: predicted.taken_out == CommunicationFrom::Remainder,
        })
    }

    /// The ordinals of the GPUs that ran, as a command line lists them; the first ones where nobody measured links.
    pub(super) fn gpus(&self) -> String {
        let tp = self.attribution.tp;
        let used = self.inputs.seen.used(tp);
        let ordinals: Vec<String> = match used.is_empty() {
            true => (0..tp).map(|gpu| gpu.to_string()).collect(),
            false => used.iter().map(|gpu| gpu.ordinal.to_string()).collect(),
        };
        ordinals.join(",")
    }

    /// The command that times this step's collectives.
    pub(super) fn time_collectives(&self) -> String {
        let Attribution { tp, batch, .. } = self.attribution;
        let model = &self.inputs.model.name;
        format!("allreduce-bench --model {model} --tp {tp} --batches {batch}")
    }
}
