//! Resumable runs: a plan of steps, done one after the other in a folder that is held, with the settings that it was begun with.

mod error;
mod executor;
mod hold;
mod lock;
mod progress;
mod settings;
mod step;

pub use self::error::RunError;
pub use self::executor::Run;
pub use self::hold::{Held, hold};
pub use self::lock::hold_folder;
pub use self::progress::{Progress, Tell};
pub use self::step::{Leaves, Needs, Step, StepEnd, URL, check_servers, complete, set_aside};
