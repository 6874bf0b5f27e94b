//! What a number is and how it is kept: units, sampling plan, statistics, caveats, exit codes, the
//! [`record::Record`] with its folder, and its rendering as text and CSV.
//!
//! This crate measures nothing itself and touches no device. It holds what every program must agree
//! on, so that one reader loads what any of them wrote.

#![forbid(unsafe_code)]

pub mod caveat;
pub mod clock;
pub mod exit;
pub mod plan;
pub mod quantity;
pub mod record;
pub mod render;
pub mod stats;
pub mod unit;
