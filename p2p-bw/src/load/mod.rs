//! `tplens p2p load`: writes and checks memory and multiplies on several devices at once for a while, and counts what came out wrong.
//!
//! It loads devices and not their links; what it does not load, tensor cores and all of the memory, it says.

mod args;
mod run;

use program::show::Show;
use program::{Stop, say};
use runner::Interrupt;
use view::csv;

pub(crate) use args::LoadArgs;

/// Loads the devices and prints what came of it; gives the exit code.
pub(crate) fn run(args: &LoadArgs, interrupt: &Interrupt, show: Show) -> Result<u8, Stop> {
    args.outputs.check().map_err(Stop::Usage)?;
    let ended = run::run(args, interrupt, &|line| say!("{line}"))?;
    Ok(args.outputs.finish(&ended, csv::links, show))
}
