//! `tplens numa exec`: this process bound to the NUMA nodes of GPUs, which then becomes the program. Nothing is measured.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use inventory::BackendArg;
use program::command_line::quoted;
use program::{Stop, outputs, say, sim};
use record::{NumaBinding, exit, redacted_arguments};
use runner::Interrupt;
use topology::{Machine, Sysfs};

use super::follow;
use super::nodes::{binding, check, joined, listed};
use crate::begun::{Begun, DeviceArgs};

/// How long a driver may take to list its devices.
const LISTING: Duration = Duration::from_secs(20);

/// As shells have it.
const CANNOT_START: u8 = 126;
const NOT_FOUND: u8 = 127;

/// What to start and where.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExecArgs {
    /// The GPUs that the program uses, whose nodes it is bound to. Which GPUs the program sees stays its own matter. A simulated
    /// machine goes together with --dry-run.
    #[command(flatten)]
    on: DeviceArgs,

    /// NUMA nodes to bind to, separated by commas, instead of those of GPUs; no driver is asked.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = |text: &str| text.trim().parse::<u32>(), conflicts_with_all = ["gpus", "backend", "sim"])]
    node: Vec<u32>,

    /// Move each process that opens a GPU to the nodes of the GPUs it opened, with the memory that it has by then.
    #[arg(long)]
    per_rank: bool,

    /// Print the numactl command that binds the same way, and start nothing.
    #[arg(long)]
    dry_run: bool,

    /// Move workers of a program that has started.
    #[arg(long, value_name = "PID", hide = true)]
    follow: Option<u32>,

    /// The program and its arguments, after `--`.
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Binds this process and becomes the program; the exit code is of a program that was not started.
pub(crate) fn run(args: &ExecArgs, interrupt: &Interrupt) -> Result<u8, Stop> {
    if let Some(program) = args.follow {
        return follow::run(program, &args.node);
    }
    let usage = |text: &str| Err(Stop::Usage(text.to_owned()));
    if args.program.is_empty() && !args.dry_run {
        return usage(
            "no program was named; write it after `--`, such as `numa exec --gpus 0,1 -- vllm serve MODEL`, or use --dry-run",
        );
    }
    if args.on.sim.is_some() && !args.dry_run {
        return usage(
            "--sim: a simulated machine has no nodes to run a program on; add --dry-run, which prints the binding",
        );
    }
    let target = target(args, interrupt);
    sim::forget();
    match target.and_then(|(machine, nodes)| bound(args, &machine, &nodes)) {
        Err(Stop::Refused(reason)) => {
            say!("numa exec: not started: {reason}");
            Ok(exit::INCONCLUSIVE)
        }
        outcome => outcome,
    }
}

/// The binding for the GPUs or nodes that were named.
fn target(args: &ExecArgs, interrupt: &Interrupt) -> Result<(Machine, NumaBinding), Stop> {
    let refused = |text: String| Err(Stop::Refused(text.into()));
    if !args.node.is_empty() {
        let machine = Machine::read(&Sysfs::real()).context("reading sysfs")?;
        check("--node", &args.node, &machine)?;
        let nodes: Vec<Option<u32>> = args.node.iter().copied().map(Some).collect();
        let basis = format!("--node names {}", joined(&args.node, ", "));
        let found = binding(&nodes, &machine);
        let found = found.map(|found| NumaBinding { basis, ..found });
        return match found {
            Some(found) => Ok((machine, found)),
            None => refused("this machine shows no NUMA nodes".to_owned()),
        };
    }
    let begun = Begun::look(&args.on, "numa", LISTING, interrupt)?;
    begun.tell();
    if args.on.backend == BackendArg::Auto && begun.is_host() {
        let absent = begun.chosen.absent.join("; ");
        return refused(format!(
            "no GPU was found ({absent}); install the GPU's driver, or name nodes with --node"
        ));
    }
    let mut nodes: Vec<Option<u32>> = begun.devices.iter().map(|device| device.node).collect();
    let machine = begun.machine;
    // The one node of a machine holds everything, whether or not the device says so.
    if let [only] = &machine.nodes[..]
        && nodes.contains(&None)
    {
        nodes.fill(Some(only.id));
        say!("node {} is the only one of this machine", only.id);
    }
    match binding(&nodes, &machine) {
        Some(found) => Ok((machine, found)),
        None => refused(format!(
            "the kernel gives no NUMA node for these GPUs (numa_node is -1 or missing); this machine has {}: name nodes with --node",
            listed(&machine)
        )),
    }
}

fn bound(args: &ExecArgs, machine: &Machine, nodes: &NumaBinding) -> Result<u8, Stop> {
    let words = args.program.iter().map(|word| word.to_string_lossy());
    let words: Vec<String> = words.map(|word| word.into_owned()).collect();
    let shown = redacted_arguments(words.iter().cloned());
    let numactl = &nodes.numactl;
    if args.dry_run {
        if let Some(name) = &args.on.sim {
            let name = record::control::replaced(name);
            say!("SIMULATED: the nodes are those of simulated machine {name}, not of this one");
        }
        say!("{}; the environment is not changed", nodes.basis);
        if args.per_rank {
            say!(
                "numactl binds the whole program; --per-rank also moves each process to the nodes of its GPUs"
            );
        }
        if shown != words {
            say!("not whole: what may be a secret is printed as <redacted>");
        }
        let words = shown.iter().map(|word| quoted(word.as_ref()));
        let command: Vec<String> = std::iter::once(numactl.clone()).chain(words).collect();
        return Ok(outputs::print(&(command.join(" ") + "\n")));
    }
    let own = machine.nodes.iter();
    let own = own.filter(|node| nodes.cpu_nodes.contains(&node.id));
    let cpus: Vec<usize> = own.flat_map(|node| node.cpus.iter()).collect();
    let refused = ::numa::bind_thread(&cpus, &nodes.memory_nodes);
    say!("numa exec: as {numactl}: {}", nodes.basis);
    for refusal in refused {
        say!("numa exec: NOT BOUND: {refusal}");
    }
    if args.per_rank {
        start_follower(&nodes.memory_nodes)?;
    }
    let Some((name, arguments)) = args.program.split_first() else {
        return Ok(exit::USAGE);
    };
    let error = Command::new(name).args(arguments).exec();
    let name = record::control::replaced(&shown[0]);
    say!("error: cannot start `{name}`: {error}; see the path and that it may be executed");
    Ok(match error.kind() {
        std::io::ErrorKind::NotFound => NOT_FOUND,
        _ => CANNOT_START,
    })
}

/// Starts the process that moves the program's workers; it ends with this process.
fn start_follower(nodes: &[u32]) -> Result<(), Stop> {
    let own = std::env::current_exe().context("finding this program")?;
    let (program, nodes) = (std::process::id().to_string(), joined(nodes, ","));
    Command::new(own)
        .args(["numa", "exec", "--follow", &program, "--node", &nodes])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .context("starting the process that moves workers")?;
    Ok(())
}
