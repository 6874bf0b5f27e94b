//! A process between the study and a program that it starts: sees to it that nothing of that program outlives the study.
//!
//! Orphans of the program are handed to the watcher by the kernel, so those that left its process group or session are found,
//! too. The watcher does not die with the study: the end of its standard input tells it that the study is gone, and it ends
//! the program first. It measures nothing and reads nothing that the program prints.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Read;
use std::num::NonZeroI32;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, kill_process_group, set_child_subreaper, wait,
};
use supervisor::child;
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::descendants::{self, Descendant};

/// A hidden first argument of this program: watch over the server command that follows.
pub(crate) const SERVER: &str = "__server";

/// A hidden first argument of this program: watch over the program of a step, which ends its own workers and writes what it has.
pub(crate) const STEP: &str = "__step";

/// A hidden first argument of this program: become the command that follows, and die with the watcher.
pub(crate) const TIED: &str = "__tied";

/// How long the program of a step has to end its workers in order.
const IN_ORDER: Duration = Duration::from_secs(30);

/// How long processes have between SIGTERM and SIGKILL.
const PATIENCE: Duration = Duration::from_secs(15);

/// How long processes may take to end after SIGKILL; one that is stuck inside a driver is left behind then.
const LAST: Duration = Duration::from_secs(5);

/// How long a watcher takes at most from being asked to stop to its end.
pub(super) const AT_MOST: Duration = IN_ORDER
    .saturating_add(PATIENCE)
    .saturating_add(LAST.saturating_mul(2));

/// How often processes are looked for where no signal tells of their end: those that are nobody's child here.
const LOOK: Duration = Duration::from_millis(50);

/// Whether a first argument is one of a watcher.
pub(crate) fn is_watch(first: &str) -> bool {
    [SERVER, STEP].contains(&first)
}

/// Runs a command until it ends or is to be ended, with all it started, and gives its exit code, or 128 and the signal.
///
/// # Errors
/// The system refuses the runtime, the signals or the process.
pub(crate) fn watch(first: &str, words: impl Iterator<Item = OsString>) -> Result<u8> {
    set_child_subreaper(Some(getpid())).context("taking care of orphans")?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut asked = Asked::listen()?;
        let mut watched = Watched::start(words)?;
        asked.or_ended(&mut watched).await;
        if first == STEP {
            watched.end_in_order(&mut asked.children).await;
        }
        watched.end_all(&mut asked.children).await;
        Ok(watched.code())
    })
}

/// What asks a watcher to end its program.
struct Asked {
    children: Signals,
    terminate: Signals,
    input_ended: oneshot::Receiver<()>,
}

impl Asked {
    fn listen() -> Result<Self> {
        let (tell, input_ended) = oneshot::channel();
        std::thread::Builder::new()
            .name("input".to_owned())
            .spawn(move || {
                let mut input = std::io::stdin().lock();
                let mut bytes = [0; 256];
                loop {
                    match input.read(&mut bytes) {
                        Ok(0) => break,
                        Err(error) if error.kind() != std::io::ErrorKind::Interrupted => break,
                        _ => {}
                    }
                }
                // Nobody listens where the program has ended by itself.
                let _ = tell.send(());
            })?;
        // Caught from now on and passed over: whether Ctrl-C or a closed terminal ends the program is the study's decision.
        for kind in [SignalKind::interrupt(), SignalKind::hangup()] {
            drop(signal(kind)?);
        }
        Ok(Self {
            children: signal(SignalKind::child())?,
            terminate: signal(SignalKind::terminate())?,
            input_ended,
        })
    }

    /// Waits until the program is to be ended, or has ended.
    async fn or_ended(&mut self, watched: &mut Watched) {
        while watched.is_running() {
            tokio::select! {
                _ = self.children.recv() => {}
                _ = self.terminate.recv() => return,
                _ = &mut self.input_ended => return,
            }
        }
    }
}

/// What runs below a watcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    /// The command, and perhaps more.
    Command,
    /// Something that the command left behind.
    Others,
    /// Nothing.
    Nothing,
}

/// A command that was started.
struct Watched {
    id: Pid,
    code: Option<u8>,
}

impl Watched {
    fn start(words: impl Iterator<Item = OsString>) -> Result<Self> {
        let own = std::env::current_exe()?;
        // A build that replaces the file must not end a study that is under way.
        let own = if own.exists() {
            own
        } else {
            "/proc/self/exe".into()
        };
        let child = Command::new(own)
            .arg(TIED)
            .args(words)
            .env(child::PARENT_VARIABLE, std::process::id().to_string())
            .process_group(0)
            .stdin(Stdio::null())
            .spawn()
            .context("starting a process")?;
        Ok(Self {
            id: Pid::from_child(&child),
            code: None,
        })
    }

    /// Its exit code, or 128 and the signal's number; that of a failure where it outlived SIGKILL.
    fn code(&self) -> u8 {
        self.code.unwrap_or(measure::exit::INTERNAL)
    }

    /// Reaps what has ended, and tells what has not.
    fn look(&mut self) -> Left {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((id, status))) if id == self.id => {
                    let code = status
                        .exit_status()
                        .or(status.terminating_signal().map(|number| 128 + number));
                    self.code = code.and_then(|code| u8::try_from(code).ok());
                    self.code.get_or_insert(measure::exit::INTERNAL);
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                // Every orphan below becomes a child of this process, so without children there is nobody below.
                Err(_) => return Left::Nothing,
                Ok(None) if self.code.is_some() => return Left::Others,
                Ok(None) => return Left::Command,
            }
        }
    }

    fn is_running(&mut self) -> bool {
        self.look() == Left::Command
    }

    /// SIGTERM to the command alone, and a wait for its end.
    async fn end_in_order(&mut self, children: &mut Signals) {
        if !self.is_running() {
            return;
        }
        // It is not reaped, so its group is there.
        let _ = kill_process_group(self.id, Signal::TERM);
        let end = Instant::now() + IN_ORDER;
        while self.is_running() && Instant::now() < end {
            drop(tokio::time::timeout(LOOK, children.recv()).await);
        }
    }

    /// Ends the command and everything below this process: SIGTERM to each once, and SIGKILL to what is left.
    async fn end_all(&mut self, children: &mut Signals) {
        let begun = descendants::now();
        let mut told = BTreeSet::new();
        if self.is_running() {
            let group = self.id.as_raw_nonzero();
            let of_group = |process: &Descendant| process.group == group.get();
            let below = descendants::of(getpid());
            told.extend(below.iter().filter(|process| of_group(process)).map(number));
            // All of a group at once. It is not reaped, so its group is there.
            let _ = kill_process_group(self.id, Signal::TERM);
        }
        // What they start from now on is their own way of stopping, and is left to it.
        let terminate = |process: &Descendant| {
            if process.started <= begun && told.insert(number(process)) {
                let _ = kill_process(process.id, Signal::TERM);
            }
        };
        if self.all_ended(children, PATIENCE, terminate).await {
            return;
        }
        let kill = |process: &Descendant| {
            // One that has ended meanwhile needs no signal.
            let _ = kill_process(process.id, Signal::KILL);
        };
        self.all_ended(children, LAST, kill).await;
    }

    /// Waits until nothing is left below this process, at most so long; `each` is done with what is found at every look.
    async fn all_ended(
        &mut self,
        children: &mut Signals,
        limit: Duration,
        mut each: impl FnMut(&Descendant),
    ) -> bool {
        let end = Instant::now() + limit;
        loop {
            if self.look() == Left::Nothing {
                return true;
            }
            descendants::of(getpid()).iter().for_each(&mut each);
            if Instant::now() >= end {
                return false;
            }
            // Whichever comes first, there is something to look at.
            drop(tokio::time::timeout(LOOK, children.recv()).await);
        }
    }
}

fn number(process: &Descendant) -> NonZeroI32 {
    process.id.as_raw_nonzero()
}
