//! A program from the command line to its exit code.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use anyhow::Context;
use measure::exit;
use measure::record::redacted_arguments;
use program::command_line::quoted;
use program::{Stop, outputs, say};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, kill_process_group, pidfd_open,
    set_child_subreaper, wait,
};
use supervisor::Interrupt;
use topology::Sysfs;

use super::args::ExecArgs;
use super::gpu_files::LOOKED_FOR;
use super::report::{Report, SCHEMA};
use super::start::{self, Started};
use super::target::Target;
use super::text;
use super::watch::Watch;

/// The longest wait for a signal or the program's end: a signal ends the wait only where this thread is the one that gets it.
const TURN: Duration = Duration::from_millis(50);

/// Between two looks at who opened a GPU.
const LOOK: Duration = Duration::from_secs(1);

/// The first look at memory, and the longest time between two: each takes twice as long as the one before, as the kernel walks
/// page tables for them.
const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(10);

/// Runs it; gives the program's exit code, or 128 and the number of the signal that ended it.
pub(crate) fn run(args: &ExecArgs, interrupt: &Interrupt) -> Result<u8, Stop> {
    if let Some(mark) = &args.warden {
        return Ok(start::warden(mark));
    }
    if let Some(parent) = args.r#become {
        return Ok(start::r#become(parent, &args.program));
    }
    if args.program.is_empty() && !args.dry_run {
        return Err(Stop::Usage(
            "no program was named; write it after `--`, such as `numa exec --gpus 0,1 -- vllm serve MODEL`, or use --dry-run"
                .to_owned(),
        ));
    }
    if args.sim.is_some() && !args.dry_run {
        return Err(Stop::Usage(
            "--sim: a soft box has no nodes to run a program on; add --dry-run, which prints the binding"
                .to_owned(),
        ));
    }
    if let Some(name) = assigned(&args.program) {
        return Err(Stop::Usage(format!(
            "the program begins with an assignment to {name}; put `env` before it"
        )));
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
        if let Some(name) = &args.sim {
            let name = measure::control::replaced(name);
            say!("SIMULATED: the nodes are those of soft box {name}, not of this machine");
        }
        say!("{}; the environment is not changed", target.nodes.basis);
        if args.per_rank {
            say!("{}", text::without_ranks(&target.devices));
        }
        let shown = shown(&args.program);
        if shown != args.program {
            say!("not whole: what may be a secret is printed as <redacted>");
        }
        let words = shown.iter().map(|word| quoted(word));
        let command = std::iter::once(target.numactl()).chain(words);
        return Ok(outputs::print(&format!(
            "{}\n",
            command.collect::<Vec<_>>().join(" ")
        )));
    }
    args.refuse.apply()?;
    let mut report = bound(args, &target)?;
    watched(args, &target, &mut report, interrupt)
}

/// The name of a variable that stands where the program should, as `NAME=value`; its value may be a secret.
fn assigned(program: &[OsString]) -> Option<String> {
    let first = program.first()?.to_string_lossy();
    let (name, _) = first.split_once('=')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(is_name)).then(|| name.to_owned())
}

/// The program and its arguments as they may be shown.
fn shown(program: &[OsString]) -> Vec<OsString> {
    let texts: Vec<String> = program
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let redacted = redacted_arguments(texts.iter().cloned());
    let shown = program.iter().zip(texts.iter().zip(redacted));
    shown
        .map(|(word, (text, redacted))| match *text == redacted {
            true => word.clone(),
            false => redacted.into(),
        })
        .collect()
}

/// Binds this thread, which the program inherits, and says what was refused.
fn bound(args: &ExecArgs, target: &Target) -> Result<Report, Stop> {
    let applied = target.binding().apply();
    let not_bound: Vec<String> = applied.refusals().map(ToString::to_string).collect();
    if args.strict && !not_bound.is_empty() {
        return Err(Stop::Refused(format!(
            "--strict was given, and this was refused: {}",
            not_bound.join("; ")
        )));
    }
    say!("numa exec: as {}: {}", target.numactl(), target.nodes.basis);
    for refusal in &not_bound {
        say!("numa exec: NOT BOUND: {refusal}");
    }
    let words = args.program.iter();
    let words = words.map(|word| word.to_string_lossy().into_owned());
    Ok(Report {
        schema: SCHEMA,
        program: redacted_arguments(words),
        devices: target.devices.clone(),
        numactl: target.numactl(),
        basis: target.nodes.basis.clone(),
        cpu_nodes: target.nodes.cpu_nodes.clone(),
        memory_nodes: target.nodes.memory_nodes.clone(),
        cpus: target.cpus.clone(),
        not_bound,
        per_rank: args.per_rank,
        processes: Vec::new(),
        ended_after_s: None,
        exit_code: None,
        still_running: Vec::new(),
    })
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
        args,
        began: Instant::now(),
        watch,
        started,
    };
    let code = session.keep(report, interrupt)?;
    let own = std::process::id();
    let warden = session.started.warden();
    let real = super::family::below(&real, own);
    report.still_running = real
        .iter()
        .map(|process| process.pid)
        .filter(|pid| *pid != warden)
        .collect();
    report.processes = session.watch.reports();
    report.ended_after_s = Some(session.began.elapsed().as_secs_f64());
    report.exit_code = Some(code);
    session.started.dismiss();
    say!("{}", text::table(report).trim_end());
    if let Some(path) = &args.report {
        let json = serde_json::to_string_pretty(report).context("writing JSON")?;
        return Ok(exit::fold([code, outputs::write(path, Ok(json + "\n"))]));
    }
    Ok(code)
}

/// A program under way.
struct Session<'a> {
    args: &'a ExecArgs,
    began: Instant,
    watch: Watch,
    started: Started,
}

impl Session<'_> {
    /// Looks, passes signals on, and gives the exit code.
    fn keep(&mut self, report: &mut Report, interrupt: &Interrupt) -> Result<u8, Stop> {
        let main = pidfd_open(self.started.pid, PidfdFlags::empty()).ok();
        let longest = self.args.interval.unwrap_or(LONGEST).min(LONGEST);
        let mut step = FIRST;
        let (mut next_memory, mut next_look) = (FIRST, FIRST);
        let mut next_told = self.args.interval;
        loop {
            if let Some(code) = self.ended() {
                return Ok(code);
            }
            if let Some(signal) = interrupt.take() {
                // The last chance to see where everything is.
                self.look(true);
                self.pass_on(signal);
            }
            let now = self.began.elapsed();
            if now >= next_look {
                let memory = now >= next_memory;
                self.look(memory);
                if memory {
                    step = (step * 2).min(longest);
                    next_memory = now + step;
                }
                next_look = now + step.min(LOOK);
            }
            if let Some(told) = next_told.filter(|told| now >= *told) {
                self.look(true);
                report.processes = self.watch.reports();
                say!("{}", text::table(report).trim_end());
                next_told = self.args.interval.map(|interval| told.max(now) + interval);
            }
            rest(main.as_ref());
        }
    }

    fn look(&mut self, memory: bool) {
        let at = self.began.elapsed().as_secs_f64();
        let warden = self.started.warden();
        self.watch.look(std::process::id(), warden, at, memory);
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
    fn pass_on(&self, signal: supervisor::Signal) {
        let (signal, to_all) = match signal {
            supervisor::Signal::Interrupt => (Signal::INT, true),
            supervisor::Signal::Hangup => (Signal::HUP, true),
            supervisor::Signal::Terminate => (Signal::TERM, false),
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

/// Waits a little, and no longer than the program runs.
fn rest(main: Option<&std::os::fd::OwnedFd>) {
    let turn = Timespec::try_from(TURN).ok();
    let mut ends: Vec<PollFd<'_>> = main
        .into_iter()
        .map(|main| PollFd::new(main, PollFlags::IN))
        .collect();
    // Whatever ended the wait, the caller looks at everything again.
    let _ = poll(&mut ends, turn.as_ref());
}
