//! Explanations of boxes whose answer is known: benchmarked by hand, or made by arithmetic.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod ablated;
mod advised;
mod belonging;
mod beside;
pub(crate) mod boxes;
mod conditions;
mod contradicted;
mod curves;
mod dips;
mod evidence;
mod field_case;
mod launches;
mod limits;
mod planted;
mod predicted;
mod prompts;
mod refusals;
mod said;
mod text;
mod traces;
mod unstreamed;
