//! `tplens numa`: how far host memory is from each GPU and node (`measure`), where memory really is (`prove`), and programs bound to the
//! nodes of their GPUs (`exec`).

mod exec;
mod follow;
mod measure;
mod nodes;
mod plan;
mod prove;

use clap::{Args, Subcommand};
use program::Stop;
use program::show::Show;
use runner::Interrupt;

/// What to measure, or what to do instead.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct NumaArgs {
    #[command(subcommand)]
    pub(crate) command: Option<NumaCommand>,
    #[command(flatten)]
    pub(crate) measure: measure::MeasureArgs,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum NumaCommand {
    /// Starts a program bound to the NUMA nodes of its GPUs, and proves where it ended up.
    Exec(exec::ExecArgs),
    /// Puts memory on each NUMA node and asks the kernel where it is; measures nothing.
    Prove(prove::ProveArgs),
}

/// Runs it; gives the exit code.
pub(crate) fn run(args: &NumaArgs, interrupt: &Interrupt, show: Show) -> Result<u8, Stop> {
    match &args.command {
        Some(NumaCommand::Exec(args)) => exec::run(args, interrupt),
        Some(NumaCommand::Prove(args)) => prove::run(args, show),
        None => measure::run(&args.measure, interrupt, show),
    }
}
