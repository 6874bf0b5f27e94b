//! Pages of explanations, of two links and of two sizes: one file each for what they say, and the parts that they share.

mod arms;
mod explanation;
mod links;
mod parts;
mod sizes;

pub(super) use explanation::page;
pub(super) use links::links;
pub(super) use sizes::sizes;
