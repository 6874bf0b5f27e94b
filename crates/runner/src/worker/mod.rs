//! Worker processes as their parent sees them: one request-reply protocol, and a ladder that ends what does not answer.

mod answer;
mod ladder;
mod poll;
mod process;
mod pump;
mod tail;
mod wire;

pub use self::answer::Unanswered;
pub use self::ladder::{Ending, Ladder};
pub(crate) use self::poll::readable;
pub(crate) use self::process::own_file;
pub use self::process::{Event, PARENT_VARIABLE, Worker, WorkerError, WorkerSpec};
pub use self::pump::LineSink;
pub use self::tail::{TAIL_BYTES, last_line};
pub(crate) use self::wire::encode;
