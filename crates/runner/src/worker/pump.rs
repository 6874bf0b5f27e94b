//! The thread that empties a worker's pipes and notices its exit.
//!
//! Both pipes are always being emptied, whether or not anybody asks for a message: a worker that prints (collective
//! libraries log much) must never block on a full pipe while its peers wait for it. All that a worker wrote before
//! its exit is taken before the exit is shown. What is left of its process group at its exit is killed. This file
//! does not parse messages and decides on no deadline.

use std::collections::VecDeque;
use std::io::{self, PipeReader, Read, pipe};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, ChildStderr, ChildStdout, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::poll;
use super::tail::Tail;
use super::wire::{Lines, split};

/// Takes each line of a worker's noise as it comes, on a thread of the pump.
pub type LineSink = Arc<dyn Fn(&str) + Send + Sync>;

/// Most that a pipe can hold for an unprivileged process (`/proc/sys/fs/pipe-max-size`): 1 MiB.
///
/// What the worker itself wrote before its exit lies within this much; more comes from another process that holds
/// the pipe and might write for ever.
const PIPE_BYTES: usize = 1024 * 1024;

/// What the pump and the worker's owner share.
pub(crate) struct Shared {
    pid: Pid,
    state: Mutex<State>,
    /// An event counter that is raised whenever `state` changes.
    wake: OwnedFd,
}

struct State {
    child: Child,
    /// Messages without their marker, oldest first.
    messages: VecDeque<String>,
    tail: Tail,
    /// Set once the child is reaped; its process id means nothing from then on.
    exit: Option<ExitStatus>,
}

/// What the owner finds when it looks.
pub(crate) enum Found {
    /// A message, without its marker.
    Message(String),
    /// No message is left and the worker has exited.
    Exit(ExitStatus),
    /// Nothing yet.
    Nothing,
}

/// Starts to empty the child's standard output and standard error, which must be pipes.
pub(crate) fn start(mut child: Child, sink: Option<LineSink>) -> io::Result<Arc<Shared>> {
    let missing = || io::Error::other("the worker's output is not a pipe");
    let stdout = child.stdout.take().ok_or_else(missing)?;
    let stderr = child.stderr.take().ok_or_else(missing)?;
    let pid = i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(missing)?;
    let state = State {
        child,
        messages: VecDeque::new(),
        tail: Tail::default(),
        exit: None,
    };
    let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    let shared = Arc::new(Shared {
        pid,
        state: Mutex::new(state),
        wake,
    });
    let started = start_threads(&shared, stdout, stderr, sink);
    if started.is_err() {
        // Nobody would notice its exit.
        shared.signal(Signal::KILL);
    }
    started.map(|()| shared)
}

fn start_threads(
    shared: &Arc<Shared>,
    stdout: ChildStdout,
    stderr: ChildStderr,
    sink: Option<LineSink>,
) -> io::Result<()> {
    let (exited, watcher) = pipe()?;
    let pid = shared.pid;
    thread::Builder::new()
        .name("worker exit".to_owned())
        .spawn(move || {
            // The child stays a zombie (NOWAIT), so its id cannot be given to another process before the pump reaps it.
            let look = || {
                waitid(
                    WaitId::Pid(pid),
                    WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
                )
            };
            while matches!(look(), Err(Errno::INTR)) {}
            drop(watcher);
        })?;
    let pump = Pump {
        shared: Arc::clone(shared),
        sink,
    };
    thread::Builder::new()
        .name("worker pipes".to_owned())
        .spawn(move || pump.run(exited, stdout, stderr))?;
    Ok(())
}

impl Shared {
    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// The descriptor to wait on between two looks.
    pub(crate) fn wake(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// Takes the next message, or else tells about the exit.
    pub(crate) fn look(&self) -> Found {
        // Lowered before the look, so that what changes after the look raises it again.
        let _ = rustix::io::read(&self.wake, &mut [0; 8]);
        let mut state = self.lock();
        match (state.messages.pop_front(), state.exit) {
            (Some(message), _) => Found::Message(message),
            (None, Some(status)) => Found::Exit(status),
            (None, None) => Found::Nothing,
        }
    }

    /// Waits for the exit, at most so long, leaving messages where they are.
    pub(crate) fn wait(&self, limit: Duration) -> Option<ExitStatus> {
        let start = Instant::now();
        loop {
            let _ = rustix::io::read(&self.wake, &mut [0; 8]);
            let left = limit.saturating_sub(start.elapsed());
            let exit = self.exit();
            if exit.is_some() || left.is_zero() {
                return exit;
            }
            poll::readable([Some(self.wake())], Some(left));
        }
    }

    pub(crate) fn exit(&self) -> Option<ExitStatus> {
        self.lock().exit
    }

    /// Whether the kernel notes for its parent that it was stopped and went on, since this was asked last (waitid(2), WCONTINUED).
    pub(crate) fn was_resumed(&self) -> bool {
        let state = self.lock();
        let look = || {
            waitid(
                WaitId::Pid(self.pid),
                WaitIdOptions::CONTINUED | WaitIdOptions::NOHANG,
            )
        };
        // Once it is reaped its number may be another process's.
        state.exit.is_none() && matches!(look(), Ok(Some(_)))
    }

    pub(crate) fn tail(&self) -> String {
        self.lock().tail.text()
    }

    /// Signals the worker's whole process group, unless the worker has already been reaped.
    pub(crate) fn signal(&self, signal: Signal) {
        let state = self.lock();
        if state.exit.is_none() {
            // It fails only where nobody is left in the group.
            let _ = kill_process_group(self.pid, signal);
        }
    }

    /// A holder of the lock that panicked leaves nothing half done here, so its state is still good.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        // It fails only where the counter is already raised as high as it goes.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }
}

struct Pump {
    shared: Arc<Shared>,
    sink: Option<LineSink>,
}

impl Pump {
    fn run(mut self, exited: PipeReader, stdout: ChildStdout, stderr: ChildStderr) {
        let mut stdout = Source::new(stdout);
        let mut stderr = Source::new(stderr);
        loop {
            let [gone, out, err] =
                poll::readable([Some(exited.as_fd()), stdout.fd(), stderr.fd()], None);
            if gone {
                break;
            }
            // What the worker said before a message is passed on before the message.
            if err {
                stderr.read(|line| self.noise(line));
            }
            if out {
                stdout.read(|line| self.output(line));
            }
        }
        stdout.drain(|line| self.output(line));
        stderr.drain(|line| self.noise(line));
        self.shared.change(|state| {
            // The group still holds the unreaped child, so its number cannot belong to anybody else.
            let _ = kill_process_group(self.shared.pid, Signal::KILL);
            // Only a process that ignores SIGCHLD loses a status; 255 marks a failure that nobody explained.
            state.exit = Some(
                state
                    .child
                    .wait()
                    .unwrap_or_else(|_| ExitStatus::from_raw(255 << 8)),
            );
        });
    }

    fn output(&mut self, line: &str) {
        let (noise, message) = split(line);
        if message.is_none() || !noise.is_empty() {
            self.noise(noise);
        }
        if let Some(message) = message {
            self.shared
                .change(|state| state.messages.push_back(message.to_owned()));
        }
    }

    fn noise(&mut self, line: &str) {
        // Nobody waits for noise, so nobody is woken.
        self.shared.lock().tail.push(line);
        if let Some(sink) = &self.sink
            && catch_unwind(AssertUnwindSafe(|| sink(line))).is_err()
        {
            // Printing on a closed standard error panics; that must not blind us to the worker.
            self.sink = None;
        }
    }
}

/// One pipe of the worker, with the part of a line that came last.
struct Source<R> {
    /// Absent after the end of the stream.
    reader: Option<R>,
    lines: Lines,
    buffer: Vec<u8>,
}

impl<R: Read + AsFd> Source<R> {
    fn new(reader: R) -> Source<R> {
        Source {
            reader: Some(reader),
            lines: Lines::default(),
            buffer: vec![0; 64 * 1024],
        }
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.reader.as_ref().map(AsFd::as_fd)
    }

    /// Reads what is there, once, and returns how much; call it only where there is something.
    fn read(&mut self, take: impl FnMut(&str)) -> usize {
        let Some(reader) = &mut self.reader else {
            return 0;
        };
        match reader.read(&mut self.buffer) {
            Ok(0) | Err(_) => {
                self.reader = None;
                0
            }
            Ok(count) => {
                self.lines.push(&self.buffer[..count], take);
                count
            }
        }
    }

    /// Reads what is left after the worker's exit, without waiting for other holders of the pipe to close it.
    fn drain(&mut self, mut take: impl FnMut(&str)) {
        let mut total = 0;
        while total < PIPE_BYTES && poll::readable([self.fd()], Some(Duration::ZERO))[0] {
            total += self.read(&mut take);
        }
        self.lines.flush(take);
    }
}
