//! The time to first token: collectives of the prompt's chunks by plan and curve, and its arithmetic by a prior.
//!
//! Only where one request is in flight: with more, a prompt waits for others, and how long is not in a result's summary.

mod cost;
mod plan;

pub(crate) use cost::{alone, prompt_tokens};
pub(crate) use plan::prefill_plan;
