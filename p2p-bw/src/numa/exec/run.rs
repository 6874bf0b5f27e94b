//! A program from the command line to its exit code.

use std::time::{Duration, Instant};

use anyhow::Context;
use program::command_line::quoted;
use program::{Stop, outputs, say};
use record::exit;
use record::redacted_arguments;
use runner::Interrupt;
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, kill_process_group, set_child_subreaper, wait,
};
use topology::Sysfs;
use view::Screen;

use super::args::ExecArgs;
use super::gpu_files::LOOKED_FOR;
use super::report::Report;
use super::start::{self, Started};
use super::target::Target;
use super::watch::Watch;

/// Between two looks for a signal or the program's end.
const TURN: Duration = Duration::from_millis(20);

/// Between two looks at who opened a GPU.
const LOOK: Duration = Duration::from_secs(1);

/// The first look at memory, and the longest time between two: each takes twice as long as the one before, as the kernel walks
/// page tables for them.
const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(10);

/// Runs it; gives the program's exit code, or 128 and the number of the signal that ended it.
pub(crate) fn run(args: &ExecArgs, interrupt: &Interrupt) -> Result<u8, Stop> {
    if let Some(parent) = args.r#become {
        return Ok(start::r#become(parent, &args.program));
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
    if let Some(report) = &args.report {
        outputs::check_file("--report", report).map_err(Stop::Usage)?;
    }
    match run_or_refuse(args, interrupt) {
        // The shared words for this are those of a measurement.
        Err(Stop::Refused(reason)) => {
            say!("numa exec: not started: {reason}");
            Ok(exit::INCONCLUSIVE)
        }
        outcome => outcome,
    }
}

fn run_or_refuse(args: &ExecArgs, interrupt: &Interrupt) -> Result<u8, Stop> {
    let target = Target::find(args, interrupt)?;
    target.said.iter().for_each(|line| say!("{line}"));
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
        let texts = args.program.iter();
        let texts: Vec<String> = texts
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let shown = redacted_arguments(texts.iter().cloned());
        if shown != texts {
            say!("not whole: what may be a secret is printed as <redacted>");
        }
        let words = shown.iter().map(|word| quoted(word.as_ref()));
        let command = std::iter::once(target.nodes.numactl.clone()).chain(words);
        let command = command.collect::<Vec<_>>().join(" ");
        return Ok(outputs::print(&format!("{command}\n")));
    }
    args.refuse.apply()?;
    let mut report = bound(args, &target)?;
    watched(args, &target, &mut report, interrupt)
}

/// Binds this thread, which the program inherits, and says what was refused.
fn bound(args: &ExecArgs, target: &Target) -> Result<Report, Stop> {
    let applied = target.binding().apply();
    let not_bound: Vec<String> = applied.refusals().map(ToString::to_string).collect();
    if args.strict && !not_bound.is_empty() {
        return Err(Stop::Refused(
            format!(
                "--strict was given, and this was refused: {}",
                not_bound.join("; ")
            )
            .into(),
        ));
    }
    say!(
        "numa exec: as {}: {}",
        target.nodes.numactl,
        target.nodes.basis
    );
    for refusal in &not_bound {
        say!("numa exec: NOT BOUND: {refusal}");
    }
    Ok(Report::of(target.nodes.numactl.clone(), not_bound))
}

/// Starts the program, watches it to its end, and tells.
fn watched(
    args: &ExecArgs,
    target: &Target,
    report: &mut Report,
    interrupt: &Interrupt,
) -> Result<u8, Stop> {
    let nodes = (&target.nodes.cpu_nodes[..], &target.nodes.memory_nodes[..]);
    let real = Sysfs::real();
    let watch = Watch::new(real.clone(), &real, &target.machine, nodes, args.per_rank);
    if args.per_rank && !watch.knows_gpus() {
        say!("numa exec: --per-rank moves nobody: none of {LOOKED_FOR} is known here");
    }
    // What the program leaves behind becomes this process's child, so that it is found below it.
    set_child_subreaper(Some(getpid()))
        .map_err(std::io::Error::from)
        .context("becoming the parent of the program's orphans")?;
    // A program may take a second Ctrl-C as another order than the first; it gets that one, too.
    interrupt.keep_running();
    let started = Started::start(&args.program)?;
    let mut session = Session {
        began: Instant::now(),
        watch,
        started,
    };
    let code = session.keep(interrupt)?;
    report.still_running = below().into_iter().map(|(pid, _)| pid).collect();
    report.processes = session.watch.reports();
    report.exit_code = code;
    say!("{}", report.document().screen(Screen::default()).trim_end());
    if let Some(path) = &args.report {
        let json = serde_json::to_string_pretty(report).context("writing JSON")?;
        return Ok(exit::fold([code, outputs::write(path, Ok(json + "\n"))]));
    }
    Ok(code)
}

/// What runs below this process, by number and beginning.
fn below() -> Vec<(u32, u64)> {
    let all = runner::processes::below(getpid()).into_iter();
    let mut all: Vec<_> = all
        .map(|one| (one.id.as_raw_nonzero().get().unsigned_abs(), one.started))
        .collect();
    all.sort_unstable();
    all
}

/// A program under way.
struct Session {
    began: Instant,
    watch: Watch,
    started: Started,
}

impl Session {
    /// Looks, passes signals on, and gives the exit code.
    fn keep(&mut self, interrupt: &Interrupt) -> Result<u8, Stop> {
        let mut step = FIRST;
        let (mut next_memory, mut next_look) = (FIRST, FIRST);
        loop {
            if let Some(code) = self.ended() {
                return Ok(code);
            }
            if let Some(signal) = interrupt.take() {
                // The last chance to see where everything is.
                self.watch.look(&below(), true);
                self.pass_on(signal);
            }
            let now = self.began.elapsed();
            if now >= next_look {
                let memory = now >= next_memory;
                self.watch.look(&below(), memory);
                if memory {
                    step = (step * 2).min(LONGEST);
                    next_memory = now + step;
                }
                next_look = now + step.min(LOOK);
            }
            std::thread::sleep(TURN);
        }
    }

    /// Reaps what has ended; the program's exit code once it has.
    fn ended(&self) -> Option<u8> {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.started.pid => {
                    let signal = status.terminating_signal().map(|number| 128 + number);
                    let code = status.exit_status().or(signal)?;
                    return Some(u8::try_from(code).unwrap_or(exit::INTERNAL));
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return None,
                // No child at all: somebody else has reaped it, and its code is lost.
                Err(_) => return Some(exit::INTERNAL),
            }
        }
    }

    /// As if this process were not there: a terminal sends SIGINT and SIGHUP to everybody, `kill` sends SIGTERM to the program.
    fn pass_on(&self, signal: runner::Signal) {
        let (signal, to_all) = match signal {
            runner::Signal::Interrupt => (Signal::INT, true),
            runner::Signal::Hangup => (Signal::HUP, true),
            runner::Signal::Terminate => (Signal::TERM, false),
        };
        let pid: Pid = self.started.pid;
        // One that has ended meanwhile needs no signal; in the terminal's own group everybody has it already.
        let _ = match (to_all, self.started.own_group) {
            (true, true) => kill_process_group(pid, signal),
            (true, false) => Ok(()),
            (false, _) => kill_process(pid, signal),
        };
    }
}
