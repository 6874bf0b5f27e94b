//! What would settle more of a comparison.

use super::pair::{Pair, has_curve};
use super::result::{LinkFigures, LinkNext, LinkVerdict, NotTold};
use crate::commands::Commands;

impl Pair<'_> {
    pub(super) fn next(&self, figures: &LinkFigures) -> Vec<LinkNext> {
        let tp = self.a.inputs.tp;
        let differences = || figures.decode.iter().chain(&figures.first_token);
        let any = |is: fn(&LinkVerdict) -> bool| differences().any(|one| is(&one.verdict));
        let time = Commands::new(&self.a.inputs).collectives(self.batch);
        let time = match self.chunk() {
            Some(tokens) => time.with("--prefill-chunk", tokens),
            None => time,
        };
        let command = time.to_string();
        let lacks = self.sides().iter().any(|side| !has_curve(side))
            || differences().any(|one| one.predicted.is_none());
        let in_two_modes =
            differences().any(|one| one.predicted.as_ref().is_some_and(|by| by.modes.is_some()));
        let mut next = Vec::new();
        if tp > 1 {
            if lacks {
                next.push(LinkNext::Curves { command });
            } else if in_two_modes {
                next.push(LinkNext::SameMode { command });
            } else if any(|verdict| matches!(verdict, LinkVerdict::LinkCould)) {
                next.push(LinkNext::MoreLaunches { command });
            }
            if any(|of| {
                matches!(
                    of,
                    LinkVerdict::MoreThanLink { .. } | LinkVerdict::AgainstLink
                )
            }) {
                next.push(LinkNext::OneGpu);
            }
        }
        if any(|verdict| matches!(verdict, LinkVerdict::LessThanLink { .. })) {
            next.push(LinkNext::Path);
        }
        let is_rough = |verdict: &LinkVerdict| {
            matches!(
                verdict,
                LinkVerdict::NotTold {
                    why: NotTold::RunsTooRough | NotTold::CurvesTooRough
                } | LinkVerdict::CannotShow { .. }
                    | LinkVerdict::LinkCould
            )
        };
        if any(is_rough) {
            next.push(LinkNext::Repeats);
        }
        next
    }
}
