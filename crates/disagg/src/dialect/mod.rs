//! Protocols between a router and the engines, one file each, and their table.

mod mooncake;
mod nixl;
mod sglang;
mod shape;
mod table;

pub use shape::{Ask, Bootstrap, Dialect, Handover, Lease, Leg, Order, Release, Unsupported};
pub use table::{DIALECTS, by_name};
