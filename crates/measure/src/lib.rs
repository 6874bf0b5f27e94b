//! What a number is and how it is kept: units, sampling plan, statistics, metrics, caveats, exit
//! codes, the [`record::Record`] with its folder, its rendering as text and CSV, and the formats of other tools.
//!
//! This crate measures nothing itself and touches no device. It holds what every program must agree
//! on, so that one reader loads what any of them wrote.

#![forbid(unsafe_code)]

pub mod calls;
pub mod caveat;
pub mod clock;
pub mod control;
pub mod exit;
pub mod export;
pub mod import;
pub mod metric;
pub mod near;
pub mod plan;
pub mod private;
pub mod quantity;
pub mod record;
pub mod render;
pub mod stats;
pub mod unit;
