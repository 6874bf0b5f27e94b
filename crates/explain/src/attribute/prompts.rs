//! What the prompts' own all-reduces take in a latency: by the curve of this box, else by a published one.
//!
//! It does not say what prompts compute; that is drawn with the step.

use record::PlannedCollective;
use tp_plan::plan;

use super::cost::{Curves, Term};
use super::deck::Deck;
use crate::finding::Finding;
use crate::inputs::Inputs;

/// Collectives of `tokens` prompt tokens, none of which a cache holds; none where no curve tells them. `curves` are those of the step.
pub(super) fn prompts(
    inputs: &Inputs,
    curves: Option<&Curves>,
    tokens: f64,
    deck: &mut Deck,
    caveats: &mut Vec<Finding>,
) -> Option<Vec<Term>> {
    let (model, tp) = (&inputs.model, inputs.tp);
    let engine = inputs.engine(tp)?;
    let row = u64::from(model.hidden) * u64::from(model.activation_bytes);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "tokens of a wave, held below a billion"
    )]
    let largest = (tokens.clamp(0.0, 1e9) as u64)
        .min(u64::from(engine.max_batched_tokens))
        .saturating_mul(row);
    if let Some(curves) = curves.filter(|curves| curves.show_bandwidth(largest)) {
        return Some(prefill(inputs, curves, tokens));
    }
    caveats.push(Finding::PromptCollectivesAssumed {
        largest_bytes: largest,
    });
    let published = Curves::of_prefill(inputs, deck);
    let curves = published.as_ref().or(curves)?;
    Some(prefill(inputs, curves, tokens))
}

/// Collectives of one wave's prefill with their times.
pub(crate) fn prefill(inputs: &Inputs, curves: &Curves, tokens: f64) -> Vec<Term> {
    let all = planned(inputs, tokens).into_iter();
    all.map(|collective| curves.term(&collective).0).collect()
}

/// Whole chunks as the engine cuts them, and the rest.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "tokens of a wave, held below a billion"
)]
fn planned(inputs: &Inputs, tokens: f64) -> Vec<PlannedCollective> {
    let tokens = tokens.round().clamp(0.0, 1e9) as u32;
    let Some(engine) = inputs.engine(inputs.tp) else {
        return Vec::new();
    };
    let chunk = engine.max_batched_tokens.max(1);
    let chunks = [(chunk, tokens / chunk), (tokens % chunk, 1)];
    let chunks = chunks
        .into_iter()
        .filter(|(tokens, times)| *tokens > 0 && *times > 0);
    let all = chunks.flat_map(|(tokens, times)| {
        let planned = plan(&inputs.model, engine, 0, Some(tokens)).collectives;
        planned.into_iter().map(move |of| PlannedCollective {
            count: of.count.saturating_mul(times),
            ..of
        })
    });
    all.collect()
}
