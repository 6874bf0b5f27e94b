//! `numa exec` from its command line to the program that takes this process's place.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use anyhow::Context;
use program::command_line::quoted;
use program::{Stop, outputs, say};
use record::{exit, redacted_arguments};
use runner::Interrupt;

use super::args::ExecArgs;
use super::follow;
use super::target::Target;

/// As shells have it.
const CANNOT_START: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Binds this process and becomes the program; the exit code is of a program that was not started.
pub(crate) fn run(args: &ExecArgs, interrupt: &Interrupt) -> Result<u8, Stop> {
    if let Some(program) = args.follow {
        return follow::run(program, &args.node);
    }
    if args.program.is_empty() && !args.dry_run {
        return Err(Stop::Usage(
            "no program was named; write it after `--`, such as `numa exec --gpus 0,1 -- vllm serve MODEL`, or use --dry-run"
                .to_owned(),
        ));
    }
    if args.on.sim.is_some() && !args.dry_run {
        return Err(Stop::Usage(
            "--sim: a simulated machine has no nodes to run a program on; add --dry-run, which prints the binding"
                .to_owned(),
        ));
    }
    match bound(args, interrupt) {
        Err(Stop::Refused(reason)) => {
            say!("numa exec: not started: {reason}");
            Ok(exit::INCONCLUSIVE)
        }
        outcome => outcome,
    }
}

fn bound(args: &ExecArgs, interrupt: &Interrupt) -> Result<u8, Stop> {
    let target = Target::find(args, interrupt)?;
    target.said.iter().for_each(|line| say!("{line}"));
    let texts = args.program.iter();
    let texts: Vec<String> = texts
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let shown = redacted_arguments(texts.iter().cloned());
    if args.dry_run {
        if let Some(name) = &args.on.sim {
            let name = record::control::replaced(name);
            say!("SIMULATED: the nodes are those of simulated machine {name}, not of this one");
        }
        say!("{}; the environment is not changed", target.nodes.basis);
        if args.per_rank {
            say!(
                "numactl binds the whole program; --per-rank also moves each process to the nodes of its GPUs"
            );
        }
        if shown != texts {
            say!("not whole: what may be a secret is printed as <redacted>");
        }
        let words = shown.iter().map(|word| quoted(word.as_ref()));
        let command = std::iter::once(target.nodes.numactl.clone()).chain(words);
        let command = command.collect::<Vec<_>>().join(" ");
        return Ok(outputs::print(&format!("{command}\n")));
    }
    let refused = ::numa::bind_thread(target.cpus.as_slice(), &target.nodes.memory_nodes);
    if args.strict && !refused.is_empty() {
        let refused: Vec<String> = refused.iter().map(ToString::to_string).collect();
        let reason = format!(
            "--strict was given, and this was refused: {}",
            refused.join("; ")
        );
        return Err(Stop::Refused(reason.into()));
    }
    say!(
        "numa exec: as {}: {}",
        target.nodes.numactl,
        target.nodes.basis
    );
    refused
        .iter()
        .for_each(|refusal| say!("numa exec: NOT BOUND: {refusal}"));
    if args.per_rank {
        start_follower(&target.nodes.memory_nodes)?;
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
    let nodes: Vec<String> = nodes.iter().map(u32::to_string).collect();
    let program = std::process::id().to_string();
    Command::new(own)
        .args([
            "numa",
            "exec",
            "--follow",
            &program,
            "--node",
            &nodes.join(","),
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .context("starting the process that moves workers")?;
    Ok(())
}
