//! Explanations, comparisons, slope tests and predictions as documents: the only place that has words for them.

mod advice;
mod bars;
mod explanation;
mod finding;
mod prediction;
mod slope;

pub(crate) use bars::range;
pub(crate) use explanation::explanation;
pub(crate) use prediction::prediction;
pub(crate) use slope::slope;
