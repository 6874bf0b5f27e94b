//! The tables of an `allreduce-bench` record.

mod arms;
mod notes;
mod record;
mod regimes;
mod rows;
mod steps;
mod surroundings;
mod totals;
mod transport;

pub(super) use record::tables;
