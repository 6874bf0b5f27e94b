//! What a step would take with something else in place of its collectives: another curve, another link, peer access.

mod asked;
#[cfg(test)]
mod tests;
mod work;

pub use asked::{By, LinkRate, Substitution, WhatIfError};
pub use work::{Substituted, WhatIf, what_if};
