//! What every program of this house does around its measurement: the command line's words, a simulated machine, the result folder, progress,
//! the files that were asked for, and the exit code.
//!
//! It measures nothing, knows no device and loads no vendor library. Only [`outputs`] and the programs' `main` print.
#![forbid(unsafe_code)]

mod ask;
mod budget;
pub mod command_line;
pub mod compare;
mod effort;
pub mod forms;
mod judge;
pub mod kernel_log;
pub mod outputs;
mod places;
mod progress;
pub mod provenance;
mod recorder;
mod seed;
pub mod show;
pub mod sim;
mod steps;
mod stop;

pub use ask::ask;
pub use budget::Budget;
pub use effort::Effort;
pub use judge::reservations;
pub use progress::Progress;
pub use recorder::{Ended, Recorder, header, passing_folder, result_folder};
pub use seed::seed_of_now;
pub use steps::{minutes, open_run, say_progress};
pub use stop::{Break, Stop, signal_name};
