//! What belongs together among the points of collectives: series, launches of one size, arms beside each other, regimes.

mod arm_rows;
mod chosen;
mod regimes;
mod rows;
mod series;

pub use arm_rows::{ArmRow, arm_rows};
pub use chosen::chosen;
pub use regimes::{LARGE_MESSAGE, Regime, SMALL_MESSAGE, SizeTime, regimes};
pub use rows::{Over, Row, RowTime, faster_though_larger, is_above_zero, not_judged, rows};
pub use series::Series;
