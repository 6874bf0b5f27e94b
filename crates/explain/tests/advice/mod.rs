//! What would follow from other links, what to do, and what to measure: on boxes whose answer is known, and on boxes that were
//! changed in one thing.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod made;
mod next;
mod rules;
mod rules_of_engine;
mod what_if;

use crate::explanations::boxes;
