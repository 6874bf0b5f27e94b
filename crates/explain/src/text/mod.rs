//! An explanation for the terminal, a file for each part of it.

mod advice;
mod answer;
mod behind;
mod figures;
mod gates;
mod lists;
mod plain;
mod sure;
mod tested;
mod topic;
mod waterfall;
mod whole;

pub(crate) use gates::gates;
pub(crate) use lists::{lines, list};
pub(crate) use plain::not_faster_than;

pub use answer::answer;
pub use behind::{free_links, half_width, implied, too_much};
pub use figures::in_figures;
pub use gates::{gates_of_runs, heading, passed, warning};
pub use lists::prior_shares;
pub use topic::Topic;
pub use waterfall::{grades, step_decimals};
pub use whole::text;
