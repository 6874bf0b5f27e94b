//! What the curves of two links lack of what is sent, side by side.

use measure::record::CollectiveKind;
use measure::unit::ByteCount;

use super::pair::{Pair, has_curve, of_prompt};
use super::side::LinkSide;
use crate::attribute::by_hand;
use crate::curve::reaches_in_a_mode;
use crate::first_token::{alone, prompt_tokens};

/// What a side's curve lacks.
pub(super) struct Lacking<'a> {
    side: &'a LinkSide,
    /// Sizes of all-reduces, ascending; `None` where there is no curve at all.
    sizes: Option<Vec<u64>>,
}

impl Lacking<'_> {
    /// The flag that takes what is lacking.
    fn flag(&self) -> String {
        format!("--allreduce-{}", self.side.name.to_ascii_lowercase())
    }

    /// What is lacking, in words.
    pub(super) fn words(&self) -> String {
        match &self.sizes {
            None => format!(
                "there is no curve of {}'s link ({})",
                self.side.name,
                self.flag()
            ),
            Some(sizes) => format!(
                "{}'s curve lacks the all-reduces of {}",
                self.side.name,
                in_words(sizes)
            ),
        }
    }

    /// What to measure, with the command; `bench` is that of a whole curve.
    pub(super) fn next(&self, bench: &str) -> String {
        let (name, flag) = (&self.side.name, self.flag());
        match &self.sizes {
            None => {
                format!("the collectives on {name}'s link: {bench} there, then explain with {flag}")
            }
            Some(sizes) => format!(
                "the all-reduces of {} that {name}'s curve lacks, on its link: {}, beside the file that is there ({flag} may be given several times)",
                in_words(sizes),
                by_hand(self.side.inputs.tp, sizes)
            ),
        }
    }
}

fn in_words(sizes: &[u64]) -> String {
    let words: Vec<String> = sizes
        .iter()
        .map(|size| ByteCount(*size).to_string())
        .collect();
    words.join(" and ")
}

impl<'p> Pair<'p> {
    /// What each side's curve lacks of what it sends; nothing of a side whose curve tells all.
    pub(super) fn lacking(&self) -> Vec<Lacking<'p>> {
        let first = self.run().and_then(prompt_tokens);
        let first = first.filter(|_| self.run().is_some_and(|run| alone(run).is_ok()));
        let of_side = |side: &'p LinkSide| {
            let LinkSide { inputs, .. } = side;
            if !has_curve(inputs) {
                return Some(Lacking { side, sizes: None });
            }
            let points = inputs.usable_curve();
            let sent = [
                self.of_step(inputs),
                self.in_step(inputs).map_or_else(Vec::new, |of| of.all),
                first.map_or_else(Vec::new, |tokens| of_prompt(inputs, tokens)),
            ];
            let reduces = sent
                .iter()
                .flatten()
                .filter(|one| one.kind == CollectiveKind::AllReduce);
            let mut sizes: Vec<u64> = reduces
                .map(|one| one.bytes_per_rank)
                .filter(|bytes| !reaches_in_a_mode(&points, inputs.tp, *bytes))
                .collect();
            sizes.sort_unstable();
            sizes.dedup();
            let sizes = Some(sizes).filter(|sizes| !sizes.is_empty())?;
            Some(Lacking {
                side,
                sizes: Some(sizes),
            })
        };
        [self.a, self.b].into_iter().filter_map(of_side).collect()
    }
}
