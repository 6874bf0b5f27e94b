//! What a step would take with something else in place of its collectives: another curve, another link, peer access.

mod answer;
mod asked;
mod error;
#[cfg(test)]
mod published;
mod rate;
mod work;

pub use answer::{Answer, Substituted, WhatIf};
pub use asked::{By, Substitution};
pub use error::WhatIfError;
pub use rate::LinkRate;
pub use work::what_if;
