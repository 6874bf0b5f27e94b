//! What comes out: each result as one document of the crate `view`, and a report as JUnit, OCP's lines and JSON, without identities
//! unless they were asked for. Nothing is judged here.

mod fleet;
mod forms;
mod ocp;
mod profile;
mod shared;
mod tables;
#[cfg(test)]
mod tests;
mod verdict;
mod words;

pub(crate) use fleet::document as fleet;
pub(crate) use forms::{check, json, write};
pub(crate) use profile::{asks_for, profiles};
pub(crate) use shared::{NODE_WITHHELD, redacted};
pub(crate) use verdict::document as verdict;
