//! `tplens monitor` as a child beside a load: its lines are kept, and brought to this program's clock.
//!
//! Vendor calls can block, so they are made in that program and not here. It dies with the thread that started it, and that
//! thread ends it. Its clock's zero is found by the monotonic clock alone: a line that says `t` was written at `zero + t`
//! and read a little later, so the earliest of all `read - t` is the zero, late by the fastest line's way.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use record::{MonitorHeader, MonitorLine};
use runner::child::{PARENT_VARIABLE, TIED, last_error, tplens};
use rustix::process::{Pid, Signal, kill_process};

/// Readings a second.
const HZ: &str = "2";

/// How long the load waits for the header: a driver that nobody uses starts up first.
const FIRST: Duration = Duration::from_secs(15);

/// How often it is looked whether anybody still waits.
const LOOK: Duration = Duration::from_millis(100);

/// How long the child has to write its last line.
const LAST: Duration = Duration::from_secs(3);

/// Bytes of a line at most; a longer one ends the reading.
const MAX_LINE: u64 = 1 << 20;

/// Lines that are kept at most: with eight GPUs some hours.
const MAX_LINES: usize = 200_000;

/// Bytes of what it says on standard error that are kept.
const MAX_SAID: u64 = 4 << 10;

/// A monitor under way.
pub(super) struct Monitor {
    tell: Sender<Came>,
    ready: Receiver<()>,
    thread: JoinHandle<Result<Seen, String>>,
}

/// What the monitor's thread waits for.
enum Came {
    Line(Instant, String),
    Closed,
    End,
}

/// What it saw.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) header: MonitorHeader,
    /// When its clock began.
    pub(super) began: Instant,
    pub(super) lines: Vec<MonitorLine>,
}

impl Monitor {
    /// Starts the child on a thread of its own.
    ///
    /// # Errors
    /// The system refuses the thread.
    pub(super) fn start(pids: &[u32]) -> Result<Self, String> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = Command::new(own);
        command
            .arg(TIED)
            .arg(tplens().map_err(|error| error.to_string())?)
            .args(["monitor", "--hz", HZ])
            .env(PARENT_VARIABLE, std::process::id().to_string())
            // Ctrl-C is for this program, which ends it.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if !pids.is_empty() {
            let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
            command.arg("--pids").arg(pids.join(","));
        }
        let (tell, came) = mpsc::channel();
        let (is_ready, ready) = mpsc::channel();
        let lines = tell.clone();
        let thread = std::thread::Builder::new()
            .name("monitor".to_owned())
            .spawn(move || {
                let child = command
                    .spawn()
                    .map_err(|error| format!("it does not start: {error}"))?;
                watch(child, lines, &came, is_ready)
            })
            .map_err(|error| format!("no thread: {error}"))?;
        Ok(Self {
            tell,
            ready,
            thread,
        })
    }

    /// Waits for its header, or until it is clear that there is none, or that nobody wants it any more.
    pub(super) fn wait(&self, is_stopped: impl Fn() -> bool) {
        let began = Instant::now();
        while began.elapsed() < FIRST && !is_stopped() {
            // The sender is dropped with the first header, and with the end of the thread.
            if self.ready.recv_timeout(LOOK) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    }

    /// Ends it and gives what it saw.
    ///
    /// # Errors
    /// In words: what it said instead.
    pub(super) fn end(self) -> Result<Seen, String> {
        drop(self.tell.send(Came::End));
        let crashed = |_| Err("the thread that read it crashed".to_owned());
        self.thread.join().unwrap_or_else(crashed)
    }
}

/// Reads the child to its end. It dies with this thread, which is the one that started it.
fn watch(
    mut child: Child,
    lines: Sender<Came>,
    came: &Receiver<Came>,
    is_ready: Sender<()>,
) -> Result<Seen, String> {
    let stdout = child.stdout.take();
    let reader = std::thread::spawn(move || {
        if let Some(stdout) = stdout {
            read(stdout, &lines);
        }
        // Nobody listens where the thread has given up.
        drop(lines.send(Came::Closed));
    });
    let stderr = child.stderr.take();
    let said = std::thread::spawn(move || {
        let mut said = Vec::new();
        if let Some(mut stderr) = stderr {
            drop(stderr.by_ref().take(MAX_SAID).read_to_end(&mut said));
            // The rest is read and dropped, so that it does not block.
            drop(std::io::copy(&mut stderr, &mut std::io::sink()));
        }
        String::from_utf8_lossy(&said).into_owned()
    });
    let mut seen: Option<Seen> = None;
    let mut is_ready = Some(is_ready);
    let mut deadline = None;
    loop {
        let left = deadline.map_or(Duration::from_secs(3600), |deadline: Instant| {
            deadline.saturating_duration_since(Instant::now())
        });
        match came.recv_timeout(left) {
            Ok(Came::Line(at, line)) => {
                // A newer monitor may write lines that are not known here.
                if let Ok(line) = serde_json::from_str(&line) {
                    keep(&mut seen, at, line);
                    is_ready = is_ready.filter(|_| seen.is_none());
                }
            }
            Ok(Came::End) => {
                if let Some(id) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                    // It is not reaped before the end of this function, so the number is still its own.
                    let _ = kill_process(id, Signal::TERM);
                }
                deadline = Some(Instant::now() + LAST);
            }
            Err(RecvTimeoutError::Timeout) if deadline.is_none() => {}
            Ok(Came::Closed) | Err(_) => break,
        }
    }
    // Where it has ended by itself, there is nothing to kill.
    let _ = child.kill();
    let _ = child.wait();
    let _ = reader.join();
    let said = said.join().unwrap_or_default();
    seen.ok_or_else(|| format!("tplens monitor says `{}`", last_error(&said)))
}

/// Reads lines until the end, or one that is too long.
fn read(stdout: impl Read, lines: &Sender<Came>) {
    let mut stdout = BufReader::new(stdout);
    loop {
        let mut line = String::new();
        match stdout.by_ref().take(MAX_LINE).read_line(&mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) if !line.ends_with('\n') => return,
            Ok(_) if lines.send(Came::Line(Instant::now(), line)).is_err() => return,
            Ok(_) => {}
        }
    }
}

/// Keeps a line; the header must come first.
fn keep(seen: &mut Option<Seen>, at: Instant, line: MonitorLine) {
    match (line, &mut *seen) {
        (MonitorLine::Header(header), None) => {
            *seen = Some(Seen {
                header: *header,
                began: at,
                lines: Vec::new(),
            });
        }
        (MonitorLine::Header(_), Some(_)) | (_, None) => {}
        (line, Some(seen)) => {
            let since = Duration::from_nanos(line.written_ns());
            seen.began = at.checked_sub(since).unwrap_or(seen.began).min(seen.began);
            if seen.lines.len() < MAX_LINES {
                seen.lines.push(line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zero_of_its_clock_is_that_of_the_fastest_line() {
        let now = Instant::now();
        let ms = Duration::from_millis;
        let header = r#"{"line":"header","schema":1,"program":"p2p-bw","version":"0","started":"x","started_unix_ns":null,
            "hz":2.0,"duration_s":null,"soft_box":null,"backend":{"name":"host","driver":null,"interface":null,"management":"none"},"devices":[],"processes":[],"values":[],"unavailable":[]}"#;
        let Ok(header) = serde_json::from_str::<MonitorLine>(header) else {
            panic!("the header is not one");
        };
        let gone = |at: u64| MonitorLine::Gone {
            at_ns: at * 1_000_000,
            pid: 1,
        };
        let mut seen = None;
        // Lines before the header are nobody's.
        keep(&mut seen, now, gone(1));
        assert!(seen.is_none());
        keep(&mut seen, now + ms(30), header);
        // Written at 100 and read at 109: zero at 9. Written at 200 and read at 205: zero at 5. The third took longer.
        for (at, read) in [(100, 109), (200, 205), (300, 320)] {
            keep(&mut seen, now + ms(read), gone(at));
        }
        let seen = seen.unwrap();
        assert_eq!((seen.began, seen.lines.len()), (now + ms(5), 3));
    }
}
