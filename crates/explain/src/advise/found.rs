//! What rules look at, and the effects that arithmetic gives them.

use super::advice::{Advice, Effect, Rule};
use crate::attribute::{Attribution, Claim, CommunicationFrom};
use crate::commands::{Command, Commands, printed};
use crate::inputs::{Inputs, PeerState};
use crate::range::Range;
use crate::what_if::{By, Substitution, what_if};

/// What rules look at.
pub(super) struct Found<'a> {
    pub(super) inputs: &'a Inputs,
    pub(super) attribution: &'a Attribution,
    pub(super) commands: Commands<'a>,
}

impl Found<'_> {
    /// Whether anything is claimed of communication, so that links may be at fault.
    pub(super) fn is_claimed(&self) -> bool {
        !matches!(self.attribution.claim, Claim::None)
    }

    /// Whether everything goes through host memory.
    pub(super) fn is_through_host(&self) -> bool {
        let state = self.inputs.peer_state();
        matches!(state, PeerState::Denied | PeerState::Staged)
    }

    /// What free links would bring; nothing where nothing is claimed of communication.
    pub(super) fn bound(&self) -> Option<Effect> {
        self.is_claimed()
            .then(|| Effect::bound(self.attribution.free_links))
    }

    /// What a substitute would bring, else what free links would.
    pub(super) fn by(&self, by: By) -> Option<Effect> {
        let asked = [Substitution {
            asked: String::new(),
            by,
        }];
        let answers = what_if(self.inputs, self.attribution, &asked);
        let answer = answers.first().and_then(|of| of.answer.as_ref().ok());
        let effect = answer.map(|predicted| Effect {
            times: predicted.speed_up,
            at_most: predicted.taken_out == CommunicationFrom::Remainder,
        });
        effect.or_else(|| self.bound())
    }

    /// Speed-up over one GPU of a step without so many ms, the least of them first.
    pub(super) fn without(&self, ms: [f64; 3]) -> Option<Effect> {
        let (one, several) = (
            self.attribution.step_of_one.mid,
            self.attribution.step_of_several.mid,
        );
        let times = |ms: f64| (several > ms).then(|| one / (several - ms));
        Some(Effect::bound(Range {
            low: times(ms[0])?,
            mid: times(ms[1])?,
            high: times(ms[2])?,
        }))
    }

    /// The command that times this step's collectives.
    pub(super) fn time_collectives(&self) -> Command {
        self.commands.collectives(self.attribution.batch)
    }
}

/// Advice with the commands that show it.
pub(super) fn advice(
    rule: Rule,
    effect: Option<Effect>,
    commands: impl IntoIterator<Item = Command>,
) -> Option<Advice> {
    Some(Advice {
        rule,
        effect,
        commands: printed(commands),
    })
}
