//! Worker processes: start them, exchange messages with them, notice when they stop making progress, and end them.
//!
//! Everything that may hang or crash, which is every call into a vendor library, runs in a worker. The parent
//! loads no vendor library. It starts workers (as a rule hidden subcommands of its own program), talks to them in
//! JSON lines, gives each a deadline by progress and ends a stuck one by the [`Ladder`].
//!
//! ```no_run
//! use std::time::Duration;
//! use supervisor::{Event, Interrupt, Ladder, Worker, WorkerSpec};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let interrupt = Interrupt::install()?;
//! let mut worker = Worker::spawn(WorkerSpec::this_program("rank 0", ["worker", "--device", "0"])?)?;
//! worker.send(&"start")?;
//! match worker.next::<f64>(Duration::from_secs(30), &interrupt) {
//!     Event::Message(seconds) => drop(seconds),
//!     _ => drop(worker.end(Ladder::default())),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! What it does not do: it knows no device, no record and no exit code of a program, and it never restarts a worker.
#![forbid(unsafe_code)]

pub mod child;
mod interrupt;
mod ladder;
mod patience;
mod poll;
mod pump;
mod tail;
mod wire;
mod worker;

pub use interrupt::{Interrupt, Signal};
pub use ladder::{Ending, Ladder};
pub use patience::{Patience, Silence, WENT_ON};
pub use tail::TAIL_BYTES;
pub use worker::{Event, LineSink, SupervisorError, Worker, WorkerSpec};
