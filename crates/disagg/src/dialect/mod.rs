//! Protocols between a router and the engines, and their table.

mod asks;
mod shape;
mod table;

pub use shape::{Ask, Bootstrap, Handover, Leg, Order, Release, Unsupported};
pub use table::{DIALECTS, Dialect, by_name};
