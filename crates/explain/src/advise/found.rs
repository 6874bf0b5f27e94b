//! What rules look at, and the effects that arithmetic gives them.

use super::advice::Effect;
use crate::attribute::{Attribution, Claim, CommunicationFrom};
use crate::commands::{Command, Commands};
use crate::inputs::Inputs;
use crate::what_if::{By, Substitution, what_if};

/// What rules look at.
pub(super) struct Found<'a> {
    pub(super) inputs: &'a Inputs,
    pub(super) attribution: &'a Attribution,
}

impl Found<'_> {
    /// Whether anything is claimed of communication, so that links may be at fault.
    pub(super) fn is_claimed(&self) -> bool {
        !matches!(self.attribution.claim, Claim::None)
    }

    /// What free links would bring; nothing where nothing is claimed of communication.
    pub(super) fn bound(&self) -> Option<Effect> {
        self.is_claimed()
            .then(|| Effect::bound(self.attribution.free_links))
    }

    /// What a substitute would bring; `None` where no curve tells it.
    pub(super) fn by(&self, by: By) -> Option<Effect> {
        let asked = [Substitution {
            asked: String::new(),
            by,
        }];
        let answers = what_if(self.inputs, self.attribution, &asked);
        let predicted = answers.first()?.answer.as_ref().ok()?;
        if predicted.taken_out == CommunicationFrom::Remainder {
            return Some(Effect::bound(predicted.speed_up));
        }
        Some(Effect {
            times: predicted.speed_up,
            at_most: false,
        })
    }

    /// Commands of this case.
    pub(super) fn commands(&self) -> Commands<'_> {
        Commands::new(self.inputs)
    }

    /// The command that times this step's collectives.
    pub(super) fn time_collectives(&self) -> Command {
        self.commands().collectives(self.attribution.batch)
    }
}
