//! What belongs together among the points of collectives: series, launches of one size, arms beside each other.

mod chosen;
mod rows;
mod series;

pub use chosen::chosen;
pub use rows::{Over, Row, RowTime, faster_though_larger, is_above_zero, rows};
pub use series::Series;
