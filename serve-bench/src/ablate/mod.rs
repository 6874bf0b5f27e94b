//! `tplens ablate`: launches of a server that differ in one thing each, with the collectives timed in the environment of
//! each, so that the step can be laid against the link.
//!
//! Nothing is measured in this process and no slope is fitted: it starts programs, keeps what they found, and writes
//! `ablation.json`, from which `explain` tells whether the step follows the link.

mod arm;
mod collect;
mod plan;
mod run;

#[cfg(test)]
mod tests;

pub(crate) use self::plan::AblateArgs;
pub(crate) use self::run::run;
