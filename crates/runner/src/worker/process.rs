//! A worker process as its parent sees it: start it, send to it, wait for its next event, end it.
//!
//! It does not know what the messages mean and never restarts a worker.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::Signal as ProcessSignal;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::interrupt::{Interrupt, Signal};
use crate::processes::is_stopped;

use super::ladder::{Climbed, Ending, Ladder, climb};
use super::poll;
use super::pump::{self, Found, LineSink, Shared};

/// The environment variable in which [`Worker::spawn`] tells its own process id to the worker.
pub const PARENT_VARIABLE: &str = "TPLENS_PARENT_PID";

/// How long [`Worker::send`] waits for a worker that does not read: 5 s.
const SEND_LIMIT: Duration = Duration::from_secs(5);

/// What to start.
#[derive(Clone)]
pub struct WorkerSpec {
    /// Name for messages and errors, such as `rank 1`.
    pub name: String,
    /// The program's file, or a name to look up in `PATH`.
    pub program: PathBuf,
    /// Its arguments, without the program's own name.
    pub arguments: Vec<OsString>,
    /// Variables to set on top of the inherited environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Called for each line on standard error and each line on standard output that is no message.
    pub noise: Option<LineSink>,
}

impl WorkerSpec {
    /// Describes a worker with the inherited environment and nobody to take its noise line by line.
    pub fn new<A: Into<OsString>>(
        name: impl Into<String>,
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = A>,
    ) -> WorkerSpec {
        WorkerSpec {
            name: name.into(),
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            environment: Vec::new(),
            noise: None,
        }
    }

    /// Describes a worker that is this very program with other arguments, as hidden subcommands are.
    ///
    /// Fails where the system does not tell the program's own file.
    pub fn this_program<A: Into<OsString>>(
        name: impl Into<String>,
        arguments: impl IntoIterator<Item = A>,
    ) -> io::Result<WorkerSpec> {
        Ok(WorkerSpec::new(name, own_file()?, arguments))
    }
}

/// This program's own file.
///
/// Fails where the system does not tell it.
pub(crate) fn own_file() -> io::Result<PathBuf> {
    let file = std::env::current_exe()?;
    // A build that replaces the file must not end a run that is under way; the kernel still has the old one.
    Ok(match file.exists() {
        true => file,
        false => PathBuf::from("/proc/self/exe"),
    })
}

/// What happened to a worker since the last look.
#[derive(Debug)]
pub enum Event<M> {
    /// A message came.
    Message(M),
    /// It exited, and every message before that was delivered; given again by every later call.
    Exited(ExitStatus),
    /// No message came within the progress deadline.
    Silent {
        /// How long this call waited.
        waited: Duration,
    },
    /// The program was asked to stop; given again by every later call with the same [`Interrupt`].
    Interrupted(Signal),
    /// A line was marked as a message and is none of the expected type.
    Garbled {
        /// The line without its marker.
        line: String,
        /// What the parser said.
        error: String,
    },
}

/// Why a worker could not be started or spoken to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// The system refused to start it.
    #[error("worker {name} did not start from {}: {source}; check that the file exists and may be run", program.display())]
    Spawn {
        /// The worker's name.
        name: String,
        /// What should have been started.
        program: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// It has closed its standard input, as a rule because it has exited.
    #[error(
        "worker {name} no longer reads; its exit status and the end of its standard error say why"
    )]
    Gone {
        /// The worker's name.
        name: String,
    },
    /// It did not read for 5 s.
    #[error("worker {name} did not read a message within {} s; end it", SEND_LIMIT.as_secs())]
    Stuck {
        /// The worker's name.
        name: String,
    },
    /// The message has no JSON form, or the pipe to it failed.
    #[error("writing to worker {name} failed: {source}")]
    Write {
        /// The worker's name.
        name: String,
        /// The system's reason.
        source: io::Error,
    },
}

/// A running worker process.
///
/// Dropping it kills the worker's process group at once and waits for nothing; [`Worker::end`] is the orderly way.
pub struct Worker {
    name: String,
    /// Absent after the abort.
    stdin: Option<ChildStdin>,
    shared: Arc<Shared>,
}

impl Worker {
    /// Starts a worker in a process group of its own, with pipes for all three standard streams.
    ///
    /// Call it from a thread that lives as long as the worker shall: the kernel ties "die with the parent"
    /// (PR_SET_PDEATHSIG, see [`crate::child::die_with_parent`]) to the thread that started the child, and a worker
    /// started from a short-lived thread is killed when that thread ends.
    ///
    /// # Errors
    /// [`WorkerError::Spawn`] where the system refuses.
    pub fn spawn(spec: WorkerSpec) -> Result<Worker, WorkerError> {
        let WorkerSpec {
            name,
            program,
            arguments,
            environment,
            noise,
        } = spec;
        let start = || -> io::Result<(ChildStdin, Arc<Shared>)> {
            let mut child = Command::new(&program)
                .args(arguments)
                .envs(environment)
                .env(PARENT_VARIABLE, std::process::id().to_string())
                .process_group(0)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()?;
            let stdin = child
                .stdin
                .take()
                .ok_or_else(|| io::Error::other("no pipe to its standard input"))?;
            // This end only: the worker's own end is another open file and keeps blocking.
            fcntl_setfl(&stdin, fcntl_getfl(&stdin)? | OFlags::NONBLOCK)?;
            Ok((stdin, pump::start(child, noise)?))
        };
        match start() {
            Ok((stdin, shared)) => Ok(Worker {
                name,
                stdin: Some(stdin),
                shared,
            }),
            Err(source) => Err(WorkerError::Spawn {
                name,
                program,
                source,
            }),
        }
    }

    /// Returns the name it was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its process id, which is also its process group's; it means nothing once the worker has exited.
    pub fn id(&self) -> u32 {
        self.shared.pid().as_raw_nonzero().get().unsigned_abs()
    }

    /// Returns the last 64 KiB of its standard error and of the lines on standard output that were no messages.
    ///
    /// Complete once an exit was seen. It may hold what a vendor library printed: redact before it is recorded.
    pub fn tail(&self) -> String {
        self.shared.tail()
    }

    /// Returns whether it stands still now because somebody stopped it (SIGSTOP or a debugger): it can do nothing about its own
    /// workers, nor heed SIGTERM.
    pub fn is_stopped(&self) -> bool {
        self.shared.exit().is_none() && is_stopped(self.id())
    }

    /// Returns whether it was stopped from outside (SIGSTOP) and went on, since this was asked last: what it timed meanwhile is not to
    /// be believed ([`crate::RESUMED`]).
    ///
    /// It is the kernel's own note. What a debugger, a freezer (`docker pause`) or a suspended machine held is not in it.
    pub fn was_resumed(&mut self) -> bool {
        self.shared.was_resumed()
    }

    /// Sends one message, which the worker reads from its inbox.
    ///
    /// # Errors
    /// `Gone` where it has exited, `Stuck` where it does not read for 5 s, `Write` otherwise. After
    /// `Stuck` part of the line may have been written: the worker can only be ended.
    pub fn send(&mut self, message: &impl Serialize) -> Result<(), WorkerError> {
        let name = || self.name.clone();
        let failed = |source: io::Error| WorkerError::Write {
            name: name(),
            source,
        };
        let mut line = serde_json::to_vec(message).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        let Some(stdin) = &self.stdin else {
            return Err(WorkerError::Gone { name: name() });
        };
        let mut rest = line.as_slice();
        let start = Instant::now();
        while !rest.is_empty() {
            let mut pipe: &ChildStdin = stdin;
            match pipe.write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let left = SEND_LIMIT.saturating_sub(start.elapsed());
                    if left.is_zero() {
                        return Err(WorkerError::Stuck { name: name() });
                    }
                    poll::writable(stdin.as_fd(), left);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    return Err(WorkerError::Gone { name: name() });
                }
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(())
    }

    /// Waits for the next event, at most `progress_deadline` from now.
    ///
    /// Each message restarts the deadline, because each call has its own. Noise is no progress. An interrupt is reported
    /// before messages that wait; call again with [`Interrupt::none`] to collect those. The wait uses no processor
    /// time and returns as soon as something happens.
    pub fn next<M: DeserializeOwned>(
        &mut self,
        progress_deadline: Duration,
        interrupt: &Interrupt,
    ) -> Event<M> {
        let start = Instant::now();
        loop {
            if let Some(signal) = interrupt.signal() {
                return Event::Interrupted(signal);
            }
            match self.shared.look() {
                Found::Message(line) => {
                    return match serde_json::from_str(&line) {
                        Ok(message) => Event::Message(message),
                        Err(error) => Event::Garbled {
                            error: error.to_string(),
                            line,
                        },
                    };
                }
                Found::Exit(status) => return Event::Exited(status),
                Found::Nothing => {}
            }
            let waited = start.elapsed();
            if waited >= progress_deadline {
                return Event::Silent { waited };
            }
            poll::readable(
                [Some(self.shared.wake()), interrupt.wake()],
                Some(progress_deadline - waited),
            );
        }
    }

    /// Closes its standard input, which asks it to stop, and waits for nothing.
    ///
    /// Ask all workers of a group before ending them one by one, so that they stop together.
    pub fn abort(&mut self) {
        self.stdin = None;
    }

    /// Ends the worker: asks, then SIGTERM, then SIGKILL to its process group, then abandons it.
    ///
    /// Takes at most the sum of the ladder's waits. Messages that came meanwhile are kept for [`Worker::next`].
    pub fn end(&mut self, ladder: Ladder) -> Ending {
        climb(self, ladder)
    }
}

impl Climbed for Worker {
    fn abort(&mut self) {
        Worker::abort(self);
    }

    fn terminate(&mut self) {
        self.shared.signal(ProcessSignal::TERM);
    }

    fn kill(&mut self) {
        self.shared.signal(ProcessSignal::KILL);
    }

    fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        self.shared.wait(limit)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.shared.signal(ProcessSignal::KILL);
    }
}
