//! What belongs together among the points of collectives: series, launches of one size, arms beside each other.

mod arm_rows;
mod chosen;
mod rows;
mod series;

pub use arm_rows::{ArmRow, arm_rows};
pub use chosen::chosen;
pub use rows::{Over, Row, RowTime, faster_though_larger, is_above_zero, rows};
pub use series::Series;
