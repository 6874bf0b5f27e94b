//! What a step would take with something else in place of its collectives: another curve, another link, peer access.

mod asked;
mod rate;
#[cfg(test)]
mod tests;
mod work;

pub use asked::{By, Substitution};
pub use rate::{LinkRate, WhatIfError};
pub use work::{Substituted, WhatIf, what_if};
