//! `tplens monitor` as a child beside a load, on the processes that serve.
//!
//! Vendor calls can block, so they are made in that program and not here. It dies with the thread that started it. Its clock's zero
//! is when its header is there.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use record::{MonitorHeader, MonitorLine, ServerMachine};
use runner::child::{TIED, last_line, tplens};
use runner::{Event, Interrupt, Ladder, Worker, WorkerSpec};
use serde_json::Value;

use super::counters::ms;

/// Readings a second.
const HZ: &str = "2";

/// How long the load waits for the header: a driver that nobody uses starts up first.
const FIRST: Duration = Duration::from_secs(15);

/// How often it is looked whether the header is there.
const LOOK: Duration = Duration::from_millis(5);

/// How it is ended: it has some time to write its last line.
const LADDER: Ladder = Ladder {
    abort: Duration::ZERO,
    term: Duration::from_secs(3),
    kill: Duration::from_secs(1),
};

/// Lines that are kept at most: with eight GPUs some hours.
const MAX_LINES: usize = 200_000;

/// Processes that are watched at most.
const MOST: usize = 64;

/// A listening socket's state in /proc/net/tcp (include/net/tcp_states.h).
const LISTEN: &str = "0A";

/// A monitor under way.
pub(super) struct Monitor {
    worker: Worker,
    /// Its header with when that came, once it was waited for.
    header: Option<(MonitorHeader, Instant)>,
    /// What it writes, with when it came.
    lines: Receiver<(MonitorLine, Instant)>,
    /// How the server's processes were found, or why not.
    processes: String,
}

impl Monitor {
    /// Starts it on the server's processes: those named, or who listens on its address.
    ///
    /// # Errors
    /// It does not start.
    pub(super) fn start(named: &[u32], address: Option<SocketAddr>) -> anyhow::Result<Self> {
        let found = match named {
            [] => of_server(address),
            named => Ok((with_those_below(named), "named, and all below".to_owned())),
        };
        let (pids, processes) =
            found.unwrap_or_else(|why| (Vec::new(), format!("not watched, {why}")));
        let mut words: Vec<OsString> = vec![TIED.into(), tplens()?.into()];
        words.extend(["monitor", "--hz", HZ].map(OsString::from));
        if !pids.is_empty() {
            let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
            words.extend(["--pids", &pids.join(",")].map(OsString::from));
        }
        let mut spec = WorkerSpec::this_program("monitor", words)?;
        let (tell, lines) = mpsc::channel();
        let kept = AtomicUsize::new(0);
        spec.noise = Some(Arc::new(move |line: &str| {
            // Its words on standard error come here, too.
            if let Ok(line) = serde_json::from_str(line)
                && kept.fetch_add(1, Relaxed) <= MAX_LINES
            {
                drop(tell.send((line, Instant::now())));
            }
        }));
        Ok(Self {
            worker: Worker::spawn(spec)?,
            header: None,
            lines,
            processes,
        })
    }

    /// Waits until its header is there, it ends, or it takes too long.
    pub(super) fn wait(&mut self, is_stopped: impl Fn() -> bool) {
        let (begun, none) = (Instant::now(), Interrupt::none());
        while begun.elapsed() < FIRST && !is_stopped() && self.header.is_none() {
            if let Event::Exited(_) = self.worker.next::<Value>(LOOK, &none) {
                break;
            }
            self.header = self.lines.try_iter().find_map(header);
        }
    }

    /// Ends it, and gives what it saw on the clock of a run that began at `start`.
    ///
    /// # Errors
    /// It wrote no header; in words.
    pub(super) fn end(mut self, start: Instant) -> Result<ServerMachine, String> {
        self.worker.end(LADDER);
        let first = || self.lines.try_iter().find_map(header);
        let none = || format!("tplens monitor says `{}`", last_line(&self.worker.tail()));
        let (header, began) = self.header.take().or_else(first).ok_or_else(none)?;
        let lines = self.lines.try_iter().map(|(line, _)| line);
        Ok(ServerMachine {
            header,
            began_ms: ms(began, start),
            lines: lines.take(MAX_LINES).collect(),
            processes: self.processes,
        })
    }
}

fn header((line, at): (MonitorLine, Instant)) -> Option<(MonitorHeader, Instant)> {
    match line {
        MonitorLine::Header(header) => Some((*header, at)),
        _ => None,
    }
}

/// The server's processes, who listens on its port on this machine and all below, and how they were found. Of another user's processes
/// the kernel does not tell which sockets they hold.
///
/// # Errors
/// In words: why they are not known.
fn of_server(address: Option<SocketAddr>) -> Result<(Vec<u32>, String), String> {
    let address = address.ok_or("the server's address is not known: give --server-pid")?;
    let port = address.port();
    if !address.ip().is_loopback() {
        return Err(format!(
            "{address} may be on another machine: give --server-pid"
        ));
    }
    let all = with_those_below(&of_port(port));
    if all.is_empty() {
        return Err(format!(
            "who listens on port {port} cannot be seen (another user's process, or one in a container): give --server-pid"
        ));
    }
    Ok((all, format!("who listens on port {port}, and all below")))
}

/// Processes and all below them, each once.
fn with_those_below(pids: &[u32]) -> Vec<u32> {
    let all = pids.iter().flat_map(|pid| runner::processes::tree(*pid));
    let all: BTreeSet<u32> = all.collect();
    all.into_iter().take(MOST).collect()
}

/// The processes that hold a listening socket on a port, ascending.
fn of_port(port: u16) -> Vec<u32> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
    let sockets: BTreeSet<String> = tables
        .iter()
        .flatten()
        .flat_map(|table| listening(table, port))
        .collect();
    let holds = |pid: &u32| {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter();
        let mut files = files.flatten().flatten();
        files.any(|file| {
            let to = fs::read_link(file.path()).unwrap_or_default();
            to.to_str().is_some_and(|to| sockets.contains(to))
        })
    };
    let entries = fs::read_dir("/proc").into_iter();
    let entries = entries.flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut found: Vec<u32> = pids.filter(holds).collect();
    found.sort_unstable();
    found
}

/// The sockets that listen on a port, as links to them read (Documentation/networking/proc_net_tcp.rst).
fn listening(table: &str, port: u16) -> Vec<String> {
    let of = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (_, own_port) = fields.get(1)?.rsplit_once(':')?;
        let is_it = u16::from_str_radix(own_port, 16).ok()? == port && *fields.get(3)? == LISTEN;
        let inode: u64 = fields.get(9)?.parse().ok().filter(|_| is_it)?;
        Some(format!("socket:[{inode}]"))
    };
    table.lines().skip(1).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
        0: 0100007F:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 100 0 0 10 0\n\
        1: 0100007F:1F40 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 0 20 4 30 10 -1\n\
        2: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 22 1 0 100 0 0 10 0\n";

    #[test]
    fn only_listening_sockets_of_the_port_count() {
        // 0x1F40 is 8000.
        assert_eq!(listening(TABLE, 8000), ["socket:[4711]"]);
        assert_eq!(listening(TABLE, 50_000), Vec::<String>::new());
        assert_eq!(listening("", 8000), Vec::<String>::new());
        assert_eq!(
            listening("head\n0: garbage\n1: a:zz b 0A\n", 8000),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_listener_of_this_process_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (found, how) = of_server(Some(address)).unwrap();
        assert!(found.contains(&std::process::id()), "{found:?}");
        assert!(how.contains(&address.port().to_string()), "{how}");
    }
}
