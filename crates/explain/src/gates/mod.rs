//! What must hold before a serving result says anything about links.

mod checks;
mod compared;
mod conditions;
mod engine_asked;
mod evidence;
mod files;
mod gate;
mod grows;
mod names;
mod of_run;
mod open;
mod pair;
mod plain;
mod shape;
mod sizes;
mod witness;

pub use gate::{Gate, Verdict, counted, gates};

pub(crate) use engine_asked::{ENGINE_ASKED, without_rules};
pub(crate) use evidence::{LEAST_SHARE, half_not_proven};
pub(crate) use files::{BOTH_RUNS, MODEL_ASKED};
pub(crate) use gate::{all_simulated, belong_together, failed, reservations, warned};
pub(crate) use grows::CURVE_GROWS;
pub(crate) use of_run::{FAILURES, ONE_TOKEN, PURE_DECODE, SEVERAL};
pub(crate) use pair::{is_of_decode, pair_gates};
pub(crate) use plain::in_plain_words;
pub(crate) use shape::{MAY_BE_MIXED, MixedIn, RunShape};
