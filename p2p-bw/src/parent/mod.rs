//! The parent: chooses backend and devices, runs the children, keeps what they find. It loads no vendor library.

mod budget;
mod choose;
mod facts;
mod health;
mod intent;
mod jobs;
mod judge;
mod link;
mod measurer;
mod memory;
mod monitor;
mod outputs;
mod plan;
mod probes;
mod progress;
mod provenance;
mod recorder;
mod run;
mod select;
mod session;
mod sim;

pub(crate) use run::{Ended, Outcome, run};

/// Why a run ended before it measured anything.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The command line is wrong: exit 2.
    Usage(String),
    /// Nothing can be measured: exit 3.
    Refused(String),
    /// The program or the disk failed: exit 4.
    Internal(anyhow::Error),
    /// A signal came.
    Interrupted(supervisor::Signal),
}

impl From<anyhow::Error> for Stop {
    fn from(error: anyhow::Error) -> Self {
        Self::Internal(error)
    }
}
