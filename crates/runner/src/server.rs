//! An engine server as a process: started, waited for until it answers, ended with everything it started.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use record::redacted_arguments;

use crate::child::{LADDER, ProgramError, SERVER, into_log};
use crate::interrupt::{Interrupt, Signal};
use crate::worker::{Event, Worker, WorkerSpec};

/// How long between two looks at a server that is starting.
const LOOK: Duration = Duration::from_millis(200);

/// How long a server may take to say that it is ready.
const HEALTH: Duration = Duration::from_secs(2);

/// What becomes the port in a server's command.
const PORT: &str = "{port}";

/// A server to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSpec {
    /// Its name in messages.
    pub name: String,
    /// Its command; `{port}` becomes the port.
    pub words: Vec<String>,
    /// Variables besides those of this process.
    pub environment: Vec<(OsString, OsString)>,
    /// The port that the command itself names; `None` where a free one is chosen.
    pub port: Option<u16>,
    /// What it prints goes to the end of this file.
    pub log: PathBuf,
    /// How long it may take until it answers.
    pub ready: Duration,
}

impl ServerSpec {
    /// Its port: the one that the command names, where nothing listens there, or one that is free now.
    ///
    /// # Errors
    /// Something listens there, or the loopback interface takes no listener.
    pub fn port(&self) -> Result<u16, ServerError> {
        let listened = TcpListener::bind(("127.0.0.1", self.port.unwrap_or(0)));
        match (self.port, listened) {
            (Some(port), Err(error)) if error.kind() == ErrorKind::AddrInUse => {
                Err(ServerError::PortInUse { port })
            }
            // Whatever else is wrong with it the server says better.
            (Some(port), _) => Ok(port),
            (None, listener) => listener
                .and_then(|listener| listener.local_addr())
                .map(|address| address.port())
                .map_err(ServerError::NoPort),
        }
    }

    /// Its command with a port.
    #[must_use]
    pub fn words_with(&self, port: u16) -> Vec<String> {
        let port = port.to_string();
        let words = self.words.iter();
        words.map(|word| word.replace(PORT, &port)).collect()
    }
}

/// A running server; dropping it ends it and all it started.
pub struct Server {
    worker: Worker,
    log: PathBuf,
    url: String,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// Something listens on the port that the command names.
    #[error(
        "port {port}, which the server command names, is in use: end what listens there, name another port, or measure the server that runs there with --base-url"
    )]
    PortInUse {
        /// The port.
        port: u16,
    },
    /// No port can be had.
    #[error("no free port: {0}")]
    NoPort(#[source] io::Error),
    /// It could not be started.
    #[error(transparent)]
    Start(#[from] ProgramError),
    /// It ended.
    #[error("{0}")]
    Exited(ServerExit),
    /// It did not answer in time.
    #[error("the server did not answer at {url}/health within {} s; raise --ready-timeout, or look into {}", limit.as_secs(), log.display())]
    Silent {
        /// Where it should answer.
        url: String,
        /// How long it had.
        limit: Duration,
        /// What it printed.
        log: PathBuf,
    },
    /// A signal came.
    #[error("interrupted")]
    Interrupted(Signal),
}

/// How a server ended that should run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerExit {
    /// Its status; its watcher gives 128 and the number for a signal.
    pub status: ExitStatus,
    /// The last of what it printed.
    pub last: String,
    /// All of what it printed.
    pub log: PathBuf,
}

impl fmt::Display for ServerExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, last, log } = self;
        match status.code() {
            Some(code) if code > 128 => {
                write!(
                    f,
                    "the server ended with exit code {code} (signal {})",
                    code - 128
                )
            }
            Some(code) => write!(f, "the server ended with exit code {code}"),
            None => write!(f, "the server ended with {status}"),
        }?;
        write!(f, "; it printed: {last} (all in {})", log.display())
    }
}

impl Server {
    /// Starts a server on a port ([`ServerSpec::port`]) and waits until it answers.
    ///
    /// # Errors
    /// It cannot be started, ends, or does not answer in time; or a signal came.
    pub fn start(spec: &ServerSpec, port: u16, interrupt: &Interrupt) -> Result<Self, ServerError> {
        let words = [SERVER.to_owned()].into_iter().chain(spec.words_with(port));
        let worker = WorkerSpec::this_program(&*spec.name, words);
        let mut worker = worker.map_err(ProgramError::Own)?;
        worker.environment.clone_from(&spec.environment);
        worker.noise = Some(into_log(&spec.log, |_| true)?);
        let mut server = Self {
            worker: Worker::spawn(worker).map_err(ProgramError::from)?,
            log: spec.log.clone(),
            url: format!("http://127.0.0.1:{port}"),
        };
        let begun = Instant::now();
        loop {
            match server.worker.next::<serde_json::Value>(LOOK, interrupt) {
                Event::Exited(status) => return Err(ServerError::Exited(server.ended(status))),
                // Dropping it ends it.
                Event::Interrupted(signal) => return Err(ServerError::Interrupted(signal)),
                Event::Message(_) | Event::Garbled { .. } | Event::Silent { .. } => {}
            }
            if answers(&server.url) {
                return Ok(server);
            }
            if begun.elapsed() >= spec.ready {
                return Err(ServerError::Silent {
                    url: server.url.clone(),
                    limit: spec.ready,
                    log: spec.log.clone(),
                });
            }
        }
    }

    /// Where it answers.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// How it ended, where it has.
    pub fn exit(&mut self) -> Option<ServerExit> {
        let none = Interrupt::none();
        match self.worker.next::<serde_json::Value>(Duration::ZERO, &none) {
            Event::Exited(status) => Some(self.ended(status)),
            _ => None,
        }
    }

    fn ended(&self, status: ExitStatus) -> ServerExit {
        let text = self.worker.tail();
        let lines = text.lines().map(str::trim);
        let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
        let last = lines[lines.len().saturating_sub(3)..].join(" / ");
        // An engine that refuses its arguments prints them, keys included.
        let words = redacted_arguments(last.split(' ').map(str::to_owned));
        ServerExit {
            status,
            last: words.join(" "),
            log: self.log.clone(),
        }
    }
}

impl Drop for Server {
    /// Ends it and all it started.
    fn drop(&mut self) {
        self.worker.end(LADDER);
    }
}

/// Whether a server at an address says that it is ready: `GET /health` gives 2xx. At https:// it is asked no more than whether
/// somebody listens.
#[must_use]
pub fn answers(base_url: &str) -> bool {
    let (rest, is_plain) = match base_url.strip_prefix("https://") {
        Some(rest) => (rest, false),
        None => (base_url.strip_prefix("http://").unwrap_or(base_url), true),
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let default = if is_plain { 80 } else { 443 };
    let addresses = authority
        .to_socket_addrs()
        .or_else(|_| (authority, default).to_socket_addrs());
    let Ok(mut addresses) = addresses else {
        return false;
    };
    let path = format!("/{path}").trim_end_matches('/').to_owned();
    addresses.any(|address| {
        let asked = match is_plain {
            true => health(address, authority, &path),
            false => TcpStream::connect_timeout(&address, HEALTH).map(|_| true),
        };
        asked.unwrap_or(false)
    })
}

/// Asks for `PATH/health`.
fn health(address: SocketAddr, authority: &str, path: &str) -> io::Result<bool> {
    let mut stream = TcpStream::connect_timeout(&address, HEALTH)?;
    stream.set_read_timeout(Some(HEALTH))?;
    stream.set_write_timeout(Some(HEALTH))?;
    let request =
        format!("GET {path}/health HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    // `HTTP/1.1 200`: the status stands in the first 12 bytes.
    let mut head = [0; 12];
    stream.read_exact(&mut head)?;
    Ok(head.starts_with(b"HTTP/1.") && head[9] == b'2')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(words: &[&str], port: Option<u16>) -> ServerSpec {
        ServerSpec {
            name: "server".to_owned(),
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            environment: Vec::new(),
            port,
            log: PathBuf::from("log"),
            ready: Duration::from_secs(1),
        }
    }

    #[test]
    fn a_port_that_is_taken_is_refused_and_a_free_one_goes_into_the_command() {
        let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let number = taken.local_addr().unwrap().port();
        let refused = spec(&["s"], Some(number)).port();
        assert!(matches!(refused, Err(ServerError::PortInUse { port }) if port == number));
        let free = spec(&["s", "--port={port}"], None);
        let port = free.port().unwrap();
        assert_ne!(port, number);
        assert_eq!(free.words_with(7), ["s", "--port=7"]);
    }

    #[test]
    fn a_server_is_ready_that_answers_with_2xx() {
        for (reply, is_ready) in [
            ("HTTP/1.1 200 OK\r\n\r\n", true),
            ("HTTP/1.0 204 \r\n\r\n", true),
            ("HTTP/1.1 503 Service Unavailable\r\n\r\n", false),
            ("SSH-2.0-OpenSSH_9.6\r\n", false),
            ("", false),
        ] {
            let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
            let port = listener.local_addr().unwrap().port();
            let server = std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = vec![0; 256];
                let count = stream.read(&mut request).unwrap();
                stream.write_all(reply.as_bytes()).unwrap();
                String::from_utf8_lossy(&request[..count]).into_owned()
            });
            assert_eq!(answers(&format!("http://127.0.0.1:{port}/base/")), is_ready);
            let request = server.join().unwrap();
            assert!(
                request.starts_with("GET /base/health HTTP/1.1\r\n"),
                "{request}"
            );
        }
        // The port is closed now.
        assert!(!answers("http://127.0.0.1:1") && !answers("not an address"));
    }
}
