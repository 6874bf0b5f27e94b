//! Starts the program so that it ends with this process: a step of this program in between asks the kernel for it and becomes the
//! program, and a warden ends what the program had started by then.
//!
//! The kernel ends only the program itself when this process is killed. Its own workers carry a mark in their environment, by which
//! the warden finds them; one that cleared its environment is not found.

use std::collections::hash_map::RandomState;
use std::ffi::OsString;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{IsTerminal as _, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use measure::record::redacted_arguments;
use program::{Stop, say};
use rustix::process::{Pid, Signal, kill_process};
use supervisor::child::die_with_parent;
use topology::Sysfs;

/// What the program and its workers carry.
const MARK: &str = "TPLENS_NUMA_EXEC";

/// What the warden reads where nobody is to be ended.
const DONE: &[u8] = b"done";

/// The exit codes of a program that is there and cannot be started, and of one that is not there, as shells have them.
const CANNOT_START: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Looks of the warden until it gives up, and the time between them.
const LOOKS: usize = 100;
const PAUSE: Duration = Duration::from_millis(20);

/// The program under way.
pub(super) struct Started {
    pub(super) pid: Pid,
    /// Whether it has a process group of its own: it is in that of this process where it may read from a terminal, which only the
    /// terminal's group can.
    pub(super) own_group: bool,
    warden: Child,
}

impl Started {
    /// Starts the warden and the program; the calling thread has to live as long as the program, and its binding is inherited.
    pub(super) fn start(program: &[OsString]) -> Result<Self, Stop> {
        let own = std::process::id();
        let mark = unique_mark();
        let warden = this_program()?
            .args(["--warden", &mark])
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("starting the process that ends the program's workers")?;
        let own_group = !std::io::stdin().is_terminal();
        let mut command = this_program()?;
        command
            .args(["--become", &own.to_string(), "--"])
            .args(program)
            .env(MARK, &mark);
        if own_group {
            command.process_group(0);
        }
        let child = command.spawn().context("starting the program")?;
        Ok(Self {
            pid: Pid::from_child(&child),
            own_group,
            warden,
        })
    }

    /// The warden's number, which is no process of the program.
    pub(super) fn warden(&self) -> u32 {
        self.warden.id()
    }

    /// Lets the warden go without ending anybody.
    pub(super) fn dismiss(mut self) {
        if let Some(mut input) = self.warden.stdin.take() {
            // A warden that has gone needs no word.
            let _ = input.write_all(DONE);
        }
    }
}

/// A mark that no other run has: process numbers come again, after a while and in each container. The standard library takes the
/// keys of its hash tables from the system's random numbers.
fn unique_mark() -> String {
    let random = RandomState::new().build_hasher().finish();
    format!("{}-{random:016x}", std::process::id())
}

/// This program with its own subcommand; a build that replaces the file must not keep it from starting.
fn this_program() -> Result<Command, Stop> {
    let own = std::env::current_exe().context("finding this program")?;
    let own = if own.exists() {
        own
    } else {
        "/proc/self/exe".into()
    };
    let mut command = Command::new(own);
    command.args(["numa", "exec"]);
    Ok(command)
}

/// The step in between: ends with the parent and becomes the program. Returns only where it cannot.
pub(super) fn r#become(parent: u32, program: &[OsString]) -> u8 {
    let Some((name, arguments)) = program.split_first() else {
        return measure::exit::USAGE;
    };
    if let Err(error) = die_with_parent(parent) {
        say!("error: {error}");
        return measure::exit::INTERNAL;
    }
    let error = Command::new(name).args(arguments).exec();
    let name = redacted_arguments([name.to_string_lossy().into_owned()]).concat();
    let name = measure::control::replaced(&name);
    say!("error: cannot start `{name}`: {error}; see the path and that it may be executed");
    match error.kind() {
        std::io::ErrorKind::NotFound => NOT_FOUND,
        _ => CANNOT_START,
    }
}

/// The warden: waits for the end of its input, and ends what carries the mark where nobody said that all is well.
pub(super) fn warden(mark: &str) -> u8 {
    let mut said = Vec::new();
    // An error is an end, too.
    let _ = std::io::stdin().read_to_end(&mut said);
    if said == DONE {
        return measure::exit::DONE;
    }
    let sysfs = Sysfs::real();
    for _ in 0..LOOKS {
        let marked = marked(&sysfs, mark);
        if marked.is_empty() {
            return measure::exit::DONE;
        }
        for pid in marked {
            // One that has ended meanwhile needs no signal.
            let _ = kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(PAUSE);
    }
    measure::exit::INTERNAL
}

/// The processes that carry a mark; those that have ended have no environment.
fn marked(sysfs: &Sysfs, mark: &str) -> Vec<Pid> {
    let line = format!("{MARK}={mark}").into_bytes();
    let carries = |pid: &i32| {
        let path = sysfs.root().join(format!("proc/{pid}/environ"));
        let environment = std::fs::read(path).unwrap_or_default();
        environment
            .split(|&byte| byte == 0)
            .any(|entry| entry == line)
    };
    let numbers = sysfs.names("proc");
    let numbers = numbers.iter().filter_map(|name| name.parse::<i32>().ok());
    numbers.filter(carries).filter_map(Pid::from_raw).collect()
}
