//! `p2p-bw load`: writes and checks memory and multiplies on several devices at once for a while, and counts what came out wrong.
//!
//! It loads devices and not their links; what it does not load, tensor cores and all of the memory, it says.

mod args;
pub(crate) mod child;
mod messages;
mod points;
mod run;
mod workers;

use measure::render::{csv, text};
use program::outputs::{Outputs, Rendering};
use program::{Stop, say};
use supervisor::Interrupt;

pub(crate) use args::LoadArgs;

/// Loads the devices and prints what came of it; gives the exit code.
pub(crate) fn run(args: &LoadArgs, interrupt: &Interrupt) -> Result<u8, Stop> {
    args.outputs.check().map_err(Stop::Usage)?;
    let ended = run::run(args, interrupt, &|line| say!("{line}"))?;
    let rendering = Rendering {
        text: text::links,
        csv: csv::links,
    };
    Ok(Outputs::finish(&args.outputs, &ended, rendering))
}
