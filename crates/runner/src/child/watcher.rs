//! A process between a run and a program that it starts: sees to it that nothing of that program outlives the run.
//!
//! Orphans of the program are handed to the watcher by the kernel, so those that left its process group or session are found,
//! too. The watcher does not die with the run: the end of its standard input tells it that the run is gone or done with the
//! program, and it ends the program first. A byte there means: at once. It measures nothing and reads nothing that the program prints.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, PipeReader, pipe};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use record::exit;
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, kill_process_group, set_child_subreaper, wait,
};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

use super::tied::become_tied;
use crate::processes::{self, Process};
use crate::worker::{Ladder, PARENT_VARIABLE, own_file, readable};

/// A hidden first argument of a program: watch over the server command that follows.
pub(crate) const SERVER: &str = "__server";

/// A hidden first argument of a program: watch over the program of a step, which ends its own workers and writes what it has.
pub(super) const STEP: &str = "__step";

/// A hidden first argument of a program: become the command that follows, and die with the parent.
pub const TIED: &str = "__tied";

/// How long the program of a step has to end its workers in order.
const IN_ORDER: Duration = Duration::from_secs(30);

/// How long processes have between SIGTERM and SIGKILL.
const TERM: Duration = Duration::from_secs(15);

/// The same of a program that stands still.
const TERM_AT_ONCE: Duration = Duration::from_secs(4);

/// How long processes may take to end after SIGKILL; one that is stuck inside a driver is left behind then.
const LAST: Duration = Duration::from_secs(3);

/// How long a watcher takes at most from being asked to stop to its end.
pub(crate) const WATCHER_LIMIT: Duration = IN_ORDER
    .saturating_add(TERM)
    .saturating_add(LAST.saturating_mul(2));

/// How a watcher is ended: the end of its standard input asks it, and it has waits of its own.
pub(crate) const LADDER: Ladder = Ladder {
    abort: WATCHER_LIMIT,
    term: Duration::from_secs(5),
    kill: Duration::from_secs(5),
};

/// How a watcher is ended whose program stands still: within 10 s, whatever it does.
pub(super) const LADDER_AT_ONCE: Ladder = Ladder {
    abort: TERM_AT_ONCE.saturating_add(LAST),
    term: Duration::from_millis(500),
    kill: Duration::from_secs(2),
};

/// How often processes are looked for where no signal tells of their end: those that are nobody's child here.
const LOOK: Duration = Duration::from_millis(50);

/// Does what a hidden first argument asks for, as the first call of a program's main function; `None` where it is none of them. The
/// error is why a command could not be started or watched over.
pub fn hidden(
    first: &str,
    words: impl Iterator<Item = OsString>,
) -> Option<Result<u8, Box<dyn std::error::Error>>> {
    match first {
        SERVER | STEP => Some(watch(first, words).map_err(Into::into)),
        TIED => Some(Err(become_tied(words, |_| true).into())),
        _ => None,
    }
}

/// Runs a command until it ends or is to be ended, with all it started, and gives its exit code, or 128 and the signal.
fn watch(first: &str, words: impl Iterator<Item = OsString>) -> io::Result<u8> {
    set_child_subreaper(Some(getpid()))?;
    let mut asked = Asked::listen()?;
    let mut watched = Watched::start(words)?;
    while watched.is_running() && !asked.to_stop() {
        asked.wait(None);
    }
    if first == STEP {
        watched.end_in_order(&mut asked);
    }
    watched.end_all(&mut asked);
    Ok(watched.code.unwrap_or(exit::INTERNAL))
}

/// What asks a watcher to end its program, and what wakes it.
struct Asked {
    /// A byte for each SIGCHLD and SIGTERM.
    signals: PipeReader,
    terminated: Arc<AtomicBool>,
    input_ended: bool,
    at_once: bool,
}

impl Asked {
    fn listen() -> io::Result<Self> {
        let (signals, writer) = pipe()?;
        let terminated = Arc::new(AtomicBool::new(false));
        flag::register(SIGTERM, Arc::clone(&terminated))?;
        for number in [SIGTERM, SIGCHLD] {
            low_level::pipe::register(number, writer.try_clone()?)?;
        }
        // Caught and passed over: whether Ctrl-C or a closed terminal ends the program is the run's decision.
        for number in [SIGINT, SIGHUP] {
            flag::register(number, Arc::new(AtomicBool::new(false)))?;
        }
        Ok(Self {
            signals,
            terminated,
            input_ended: false,
            at_once: false,
        })
    }

    fn to_stop(&self) -> bool {
        self.input_ended || self.at_once || self.terminated.load(Ordering::SeqCst)
    }

    /// Waits for a signal or the parent, at most so long.
    fn wait(&mut self, limit: Option<Duration>) {
        let input = io::stdin();
        let open = (!self.input_ended).then(|| input.as_fd());
        let mut bytes = [0; 256];
        let [signalled, read] = readable([Some(self.signals.as_fd()), open], limit);
        if signalled {
            let _ = rustix::io::read(&self.signals, &mut bytes);
        }
        if read {
            match rustix::io::read(&input, &mut bytes) {
                Ok(0) => self.input_ended = true,
                Ok(_) => self.at_once = true,
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => self.input_ended = true,
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
    /// Its exit code, or 128 and the signal's number; `None` while it runs.
    code: Option<u8>,
}

impl Watched {
    fn start(words: impl Iterator<Item = OsString>) -> io::Result<Self> {
        let child = Command::new(own_file()?)
            .arg(TIED)
            .args(words)
            .env(PARENT_VARIABLE, std::process::id().to_string())
            .process_group(0)
            .stdin(Stdio::null())
            .spawn()?;
        Ok(Self {
            id: Pid::from_child(&child),
            code: None,
        })
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
                    self.code.get_or_insert(exit::INTERNAL);
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
    fn end_in_order(&mut self, asked: &mut Asked) {
        if !self.is_running() || asked.at_once {
            return;
        }
        // It is not reaped, so its group is there.
        let _ = kill_process_group(self.id, Signal::TERM);
        let begun = Instant::now();
        while self.is_running() && !asked.at_once && begun.elapsed() < IN_ORDER {
            asked.wait(Some(LOOK));
        }
    }

    /// Ends the command and everything below this process: SIGTERM to each once, and SIGKILL to what is left.
    fn end_all(&mut self, asked: &mut Asked) {
        let begun = processes::now();
        let mut told = BTreeSet::new();
        if self.is_running() {
            let group = self.id.as_raw_nonzero().get();
            let of_group = |process: &&Process| process.group == group;
            let below = processes::below(getpid());
            told.extend(below.iter().filter(of_group).map(Process::number));
            // All of a group at once. It is not reaped, so its group is there.
            let _ = kill_process_group(self.id, Signal::TERM);
        }
        // What they start from now on is their own way of stopping, and is left to it.
        let terminate = |process: &Process| {
            if process.started <= begun && told.insert(process.number()) {
                let _ = kill_process(process.id, Signal::TERM);
            }
        };
        let limit = match asked.at_once {
            true => TERM_AT_ONCE,
            false => TERM,
        };
        if self.all_ended(asked, limit, terminate) {
            return;
        }
        let kill = |process: &Process| {
            // One that has ended meanwhile needs no signal.
            let _ = kill_process(process.id, Signal::KILL);
        };
        self.all_ended(asked, LAST, kill);
    }

    /// Waits until nothing is left below this process, at most so long; `each` is done with what is found at every look.
    fn all_ended(
        &mut self,
        asked: &mut Asked,
        limit: Duration,
        mut each: impl FnMut(&Process),
    ) -> bool {
        let begun = Instant::now();
        loop {
            if self.look() == Left::Nothing {
                return true;
            }
            processes::below(getpid()).iter().for_each(&mut each);
            if begun.elapsed() >= limit {
                return false;
            }
            // Whichever comes first, there is something to look at.
            asked.wait(Some(LOOK));
        }
    }
}
