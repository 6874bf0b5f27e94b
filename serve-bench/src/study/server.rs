//! A model server as a process: started, waited for until it answers, ended with everything it started.

use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use supervisor::{Event, Interrupt, Ladder, Signal, Worker, WorkerSpec};

use super::watcher;

/// How long between two looks at a server that is starting.
const LOOK: Duration = Duration::from_millis(200);

/// How a server is ended: the end of its standard input asks its watcher, which has waits of its own.
pub(super) const LADDER: Ladder = Ladder {
    abort: watcher::AT_MOST,
    term: Duration::from_secs(5),
    kill: Duration::from_secs(5),
};

/// A running server; dropping it ends it and all it started.
pub(crate) struct Server {
    worker: Worker,
}

/// Why there is no server.
pub(crate) enum Failed {
    /// It ended or does not answer.
    Reason(anyhow::Error),
    /// A signal came.
    Interrupted(Signal),
}

impl Server {
    /// Starts a command and waits until `base_url` answers; what it prints goes to `log`.
    ///
    /// # Errors
    /// It cannot be started, ends, or does not answer within `limit`; or a signal came.
    pub(crate) fn start(
        name: &str,
        command: &[String],
        environment: Vec<(OsString, OsString)>,
        base_url: &str,
        log: &Path,
        limit: Duration,
        interrupt: &Interrupt,
    ) -> Result<Self, Failed> {
        let start = || -> Result<Worker> {
            let file = measure::private::append(log)
                .with_context(|| format!("cannot write {}", log.display()))?;
            let file = Arc::new(Mutex::new(file));
            let arguments = [watcher::SERVER]
                .into_iter()
                .chain(command.iter().map(String::as_str));
            let mut spec = WorkerSpec::this_program(name, arguments)?;
            spec.environment = environment;
            spec.noise = Some(Arc::new(move |line: &str| {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                // A full disk must not end the server that is measured.
                let _ = writeln!(file, "{line}");
            }));
            Ok(Worker::spawn(spec)?)
        };
        let mut server = Self {
            worker: start().map_err(Failed::Reason)?,
        };
        match server.wait(base_url, log, limit, interrupt) {
            Ok(()) => Ok(server),
            // Dropping it ends it.
            Err(failed) => Err(failed),
        }
    }

    fn wait(
        &mut self,
        base_url: &str,
        log: &Path,
        limit: Duration,
        interrupt: &Interrupt,
    ) -> Result<(), Failed> {
        let begun = Instant::now();
        let health = Health::new(base_url).map_err(Failed::Reason)?;
        loop {
            match self.worker.next::<serde_json::Value>(LOOK, interrupt) {
                Event::Exited(status) => {
                    let last = last_lines(&self.worker.tail());
                    return Err(Failed::Reason(anyhow!(
                        "the server ended with {} before it answered; its last words: {last} (all of them are in {})",
                        words(status),
                        log.display()
                    )));
                }
                Event::Interrupted(signal) => return Err(Failed::Interrupted(signal)),
                Event::Message(_) | Event::Garbled { .. } | Event::Silent { .. } => {}
            }
            if health.answers() {
                return Ok(());
            }
            if begun.elapsed() >= limit {
                return Err(Failed::Reason(anyhow!(
                    "the server did not answer at {base_url}/health within {} s; raise --ready-timeout, or look into {}",
                    limit.as_secs(),
                    log.display()
                )));
            }
        }
    }
}

impl Drop for Server {
    /// Ends it and all it started.
    fn drop(&mut self) {
        self.worker.end(LADDER);
    }
}

/// How a server ended: its watcher gives 128 and the number for a signal.
fn words(status: ExitStatus) -> String {
    match status.code() {
        Some(code) if code > 128 => format!("exit code {code} (signal {})", code - 128),
        Some(code) => format!("exit code {code}"),
        None => status.to_string(),
    }
}

/// Asks a server whether it is ready.
struct Health {
    runtime: tokio::runtime::Runtime,
    client: reqwest::Client,
    url: String,
}

impl Health {
    fn new(base_url: &str) -> Result<Self> {
        Ok(Self {
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?,
            client: reqwest::Client::builder()
                .no_proxy()
                .timeout(Duration::from_secs(2))
                .build()?,
            url: format!("{base_url}/health"),
        })
    }

    fn answers(&self) -> bool {
        let ask = async { self.client.get(&self.url).send().await };
        let reply = self.runtime.block_on(ask);
        reply.is_ok_and(|reply| reply.status().is_success())
    }
}

/// Whether a server answers at an address.
///
/// # Errors
/// No client can be made.
pub(crate) fn answers(base_url: &str) -> Result<bool> {
    Health::new(base_url).map(|health| health.answers())
}

/// Whether a port that a server command names is free.
///
/// # Errors
/// Something listens there; in words.
pub(crate) fn check_port(port: u16) -> Result<(), String> {
    match TcpListener::bind(("127.0.0.1", port)) {
        Err(error) if error.kind() == ErrorKind::AddrInUse => Err(format!(
            "port {port}, which the server command names, is in use: end what listens there, name another port, or measure the server that runs there with --base-url"
        )),
        // Whatever else is wrong with it the server says better.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// A port that is free now.
///
/// # Errors
/// The loopback interface takes no listener.
pub(crate) fn free_port() -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("looking for a free port")?;
    Ok(listener.local_addr()?.port())
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    match &lines[lines.len().saturating_sub(3)..] {
        [] => "it said nothing".to_owned(),
        last => last.join(" / "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_is_taken_is_told_with_what_to_do() {
        let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        let said = check_port(port).unwrap_err();
        assert!(said.starts_with(&format!("port {port},")), "{said}");
        assert!(said.contains("--base-url"), "{said}");
    }
}
