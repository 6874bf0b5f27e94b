//! `tplens numa`: bandwidth and latency of every GPU, node, kind of memory and direction.

mod args;
mod plan;
mod run;
mod session;

use program::show::Show;
use program::{Stop, say};
use runner::Interrupt;

pub(crate) use args::MeasureArgs;

use view::csv;

/// Measures and prints; gives the exit code.
pub(crate) fn run(args: &MeasureArgs, interrupt: &Interrupt, show: Show) -> Result<u8, Stop> {
    args.outputs.check().map_err(Stop::Usage)?;
    let ended = run::run(args, interrupt, &|line| say!("{line}"))?;
    Ok(args.outputs.finish(&ended, csv::links, show))
}
