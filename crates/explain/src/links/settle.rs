//! What would settle more of a comparison, each with its command.

use measure::unit::ByteCount;

use super::pair::Pair;
use super::result::LinkFigures;
use super::verdict::LinkVerdict;
use crate::attribute::by_hand;

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
        let lacking = self.lacking_sizes();
        if !lacking.is_empty() {
            let words: Vec<String> = lacking
                .iter()
                .map(|size| ByteCount(*size).to_string())
                .collect();
            next.push(format!(
                "the all-reduces of {} that the curves lack, on both links: {}, each beside the file that is there (--allreduce-a and --allreduce-b may be given several times)",
                words.join(" and "),
                by_hand(tp, &lacking)
            ));
        } else if differences().any(|one| one.predicted.is_none()) && tp > 1 {
            next.push(format!("the collectives on both links: {bench} {both}"));
        } else if any(|verdict| matches!(verdict, LinkVerdict::LinkCould { .. })) {
            next.push(format!(
                "the collectives on both links at the model's sizes and in the engine's mode: {bench} {both}"
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
