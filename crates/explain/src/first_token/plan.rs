//! The collectives of whole prompts, cut into chunks as the engine cuts them.

use record::PlannedCollective;
use tp_plan::{EngineFacts, ModelFacts, plan};

/// Collectives of a prefill of so many tokens: whole chunks, and the rest.
pub(crate) fn prefill_plan(
    model: &ModelFacts,
    engine: &EngineFacts,
    tokens: u32,
) -> Vec<PlannedCollective> {
    let chunk = engine.max_batched_tokens.max(1);
    let mut planned = Vec::new();
    for (tokens, times) in [(chunk, tokens / chunk), (tokens % chunk, 1)] {
        if tokens == 0 || times == 0 {
            continue;
        }
        for mut collective in plan(model, engine, 0, Some(tokens)).collectives {
            collective.count = collective.count.saturating_mul(times);
            planned.push(collective);
        }
    }
    planned
}
