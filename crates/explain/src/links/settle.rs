//! What would settle more of a comparison, each with its command.

use super::pair::{Pair, has_curve};
use super::result::LinkFigures;
use super::verdict::LinkVerdict;

impl Pair<'_> {
    /// What would settle more, the most telling first.
    pub(super) fn next(&self, figures: &LinkFigures) -> Vec<String> {
        let inputs = &self.a.inputs;
        let (model, tp, batch) = (&inputs.model.name, inputs.tp, self.batch);
        let differences = || figures.decode.iter().chain(&figures.first_token);
        let any = |is: fn(&LinkVerdict) -> bool| differences().any(|one| is(&one.verdict));
        let chunk = self.chunk();
        let chunk = chunk.map_or(String::new(), |tokens| format!(" --prefill-chunk {tokens}"));
        let bench = format!("allreduce-bench --model {model} --tp {tp} --batches {batch}{chunk}");
        let both = "on each, then explain with --allreduce-a and --allreduce-b";
        let mut next = Vec::new();
        if any(|verdict| matches!(verdict, LinkVerdict::LessThanBytes { .. })) {
            next.push("what the links of both sides really are, under load: p2p-bw --gpus 0,1 on each, then explain with --links-a and --links-b; and what the engine sends: its log with NCCL_DEBUG=INFO".to_owned());
        }
        let lacking = self.lacking();
        let has_some = lacking.len() < 2 || self.sides().iter().any(|side| has_curve(side));
        let modes = differences().find_map(|one| one.predicted.as_ref()?.modes.as_ref());
        if !lacking.is_empty() && has_some && tp > 1 {
            next.extend(lacking.iter().map(|side| side.next(&bench)));
        } else if let Some(modes) = modes {
            next.push(format!(
                "the collectives on both links in one mode, where they were timed {modes}: {bench} {both}"
            ));
        } else if differences().any(|one| one.predicted.is_none()) && tp > 1 {
            next.push(format!("the collectives on both links: {bench} {both}"));
        } else if any(|verdict| matches!(verdict, LinkVerdict::LinkCould { .. })) {
            next.push(format!(
                "the collectives on both links at the model's sizes and in the engine's mode, over several launches: {bench} --launches 5 {both}"
            ));
        }
        let something_else = |verdict: &LinkVerdict| {
            matches!(
                verdict,
                LinkVerdict::MoreThanLink { .. }
                    | LinkVerdict::MoreThanBytes { .. }
                    | LinkVerdict::AgainstLink
            )
        };
        if any(something_else) && tp > 1 {
            next.push("the same on one GPU of each side, which sends nothing between GPUs: explain --a FILE --b FILE --tp 1; what differs there is host, NUMA node or clocks".to_owned());
        }
        if any(|verdict| matches!(verdict, LinkVerdict::LessThanLink { .. })) {
            next.push("whether the engine takes the path that was timed: NCCL_DEBUG=INFO and the engine's words on its custom all-reduce, and a trace for overlap".to_owned());
        }
        if any(|verdict| {
            matches!(
                verdict,
                LinkVerdict::NotTold { .. }
                    | LinkVerdict::CannotShow { .. }
                    | LinkVerdict::LinkCould { doubt: Some(_) }
            )
        }) {
            next.push("five starts of the server on each link, in turn (A B B A), the same load each; give every file: --a A1 --a A2 ... --b B1 --b B2 ...".to_owned());
        }
        next
    }
}
