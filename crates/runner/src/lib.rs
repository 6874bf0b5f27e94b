//! Processes that this project starts: workers, its own other programs, engine servers, and resumable runs of them.
//!
//! - [`Worker`]: everything that may hang or crash, which is every call into a vendor library, runs in a worker. The parent loads no
//!   vendor library. It starts workers (as a rule hidden subcommands of its own program), talks to them in JSON lines, gives each a
//!   [`ProgressDeadline`] and ends a stuck one by the [`Ladder`].
//! - [`child`]: a worker's own side, and other programs that are started and watched over ([`child::run`]).
//! - [`server`]: an engine server that is started, waited for and ended with its descendants.
//! - [`run`]: the one executor of resumable runs. A planner describes steps, [`run::Run`] does those that are not done.
//!
//! A program that uses `child::run`, `server` or `run` calls [`child::hidden`] first in its main function.
//!
//! ```no_run
//! use std::time::Duration;
//! use runner::{Event, Interrupt, Ladder, Worker, WorkerSpec};
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
//! A run of two loads on one server, which is started once:
//!
//! ```no_run
//! use std::path::Path;
//! use std::time::Duration;
//! use runner::Interrupt;
//! use runner::run::{Leaves, Needs, Run, Step, URL};
//! use runner::server::ServerSpec;
//!
//! # fn main() -> Result<(), runner::run::RunError> {
//! let interrupt = Interrupt::none();
//! let folder = Path::new("results/two-loads");
//! let server = ServerSpec {
//!     name: "server".to_owned(),
//!     words: ["vllm", "serve", "m", "--port", "{port}"].map(str::to_owned).to_vec(),
//!     environment: Vec::new(),
//!     port: None,
//!     log: folder.join("server.log"),
//!     ready: Duration::from_secs(1800),
//! };
//! let step = |concurrency: u32| Step {
//!     name: format!("load-{concurrency}"),
//!     about: format!("{concurrency} in flight"),
//!     command: "serve run",
//!     arguments: ["--base-url", URL, "--concurrency", &concurrency.to_string()].map(str::to_owned).to_vec(),
//!     environment: Vec::new(),
//!     needs: Some(Needs::Started(server.clone())),
//!     leaves: Leaves::Record,
//!     seconds: 60.0,
//!     deadline: Duration::from_secs(3600),
//! };
//! let settings = serde_json::json!({"model": "m"});
//! let mut run = Run::open(folder, ("two loads", "settings.json"), &settings, &interrupt, |_| {})?;
//! let steps = [step(1), step(16)];
//! run.expect(&steps);
//! let ends = run.all(&steps)?;
//! # drop(ends);
//! # Ok(())
//! # }
//! ```
//!
//! What it does not do: it knows no device, prints nothing, and never restarts a worker.
#![forbid(unsafe_code)]

pub mod child;
mod deadline;
mod interrupt;
pub mod processes;
pub mod run;
pub mod server;
mod worker;

pub use deadline::{ProgressDeadline, RESUMED, Silence};
pub use interrupt::{Interrupt, Signal};
pub use worker::{
    Ending, Event, Ladder, LineSink, TAIL_BYTES, Unanswered, Worker, WorkerError, WorkerSpec,
};
