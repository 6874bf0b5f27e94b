//! The two sides of a line as processes: a server of known schedule, and `serve-bench run`, which is the client that is measured.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, anyhow};
use measure::record::{Payload, Serve, load};
use program::Stop;
use program::child::{SHORT_LADDER, last_line};
use serde_json::Value;
use supervisor::{Event, Interrupt, Ladder, Worker, WorkerSpec};

use super::cpus::{Cpus, of_children, on};
use super::modes::Mode;
use super::server::Truth;

/// The subcommand of the server.
const SERVER: &str = "known-schedule";

/// How long a server may take until it listens, and a client until it ends: the widest load of the command line ends before.
const PATIENCE: Duration = Duration::from_secs(600);

/// How a server is ended: it has nothing to save, so it is not asked first.
const ENDING: Ladder = Ladder {
    abort: Duration::ZERO,
    ..SHORT_LADDER
};

/// A server that runs.
pub(super) struct Server {
    pub(super) url: String,
    /// Dropping it ends the process; `None` where somebody else runs it.
    worker: Option<Worker>,
}

impl Server {
    /// Starts one.
    pub(super) fn start(words: &[String], cpus: Cpus, interrupt: &Interrupt) -> Result<Self, Stop> {
        let words = [SERVER, "--port", "0", "--tied"]
            .into_iter()
            .chain(words.iter().map(String::as_str));
        let mut worker = spawn(SERVER, words, cpus.server())?;
        match worker.next::<String>(PATIENCE, interrupt) {
            Event::Message(url) => Ok(Self {
                url,
                worker: Some(worker),
            }),
            Event::Interrupted(signal) => Err(Stop::Interrupted(signal)),
            _ => Err(Stop::Internal(anyhow!(
                "the server of known schedule did not start: {}",
                last_line(&worker.tail())
            ))),
        }
    }

    /// One that runs already.
    pub(super) fn elsewhere(url: &str) -> Self {
        Self {
            url: url.trim_end_matches('/').to_owned(),
            worker: None,
        }
    }

    /// What truly happened there.
    pub(super) fn truth(&self) -> Result<Truth, Stop> {
        let url = format!("{}/truth", self.url);
        self.get(&url).map_err(|error| {
            Stop::Refused(format!(
                "{url} does not give the truth ({error:#}); is it a `serve-bench {SERVER}`?"
            ))
        })
    }

    fn get(&self, url: &str) -> Result<Truth> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let client = reqwest::Client::builder()
            .no_proxy()
            .timeout(PATIENCE)
            .build()?;
        let ask = async {
            client
                .get(url)
                .send()
                .await?
                .error_for_status()?
                .json()
                .await
        };
        Ok(runtime.block_on(ask)?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(worker) = &mut self.worker {
            worker.end(ENDING);
        }
    }
}

/// What a client is to ask for.
pub(super) struct Load<'a> {
    pub(super) mode: &'a Mode,
    /// Requests at once.
    pub(super) streams: u32,
    /// Requests in all.
    pub(super) requests: u32,
    /// Output tokens of each.
    pub(super) tokens: u32,
}

/// What a client found.
pub(super) struct Ran {
    pub(super) serve: Serve,
    /// CPU time of its process; `None` where the kernel does not tell.
    pub(super) cpu: Option<Duration>,
}

/// Runs the client to its end; its results are in the folder then.
pub(super) fn client(
    load: &Load<'_>,
    url: &str,
    folder: &Path,
    cpus: Cpus,
    interrupt: &Interrupt,
) -> Result<Ran, Stop> {
    let numbers = [load.streams, load.requests, load.tokens].map(|number| number.to_string());
    let [streams, requests, tokens] = &numbers;
    let mut words: Vec<OsString> = [
        ["run", "--base-url", url, "--endpoint"].as_slice(),
        &[load.mode.endpoint, "--concurrency", streams, "--requests"],
        &[requests, "--output-tokens", tokens, "--input-tokens", "16"],
        &["--warmups", "0", "--seed", "1", "--no-metrics", "--out"],
    ]
    .concat()
    .into_iter()
    .map(OsString::from)
    .collect();
    words.push(folder.into());
    words.extend(load.mode.client.iter().map(OsString::from));
    let before = of_children();
    let mut worker = spawn("client", words, cpus.client())?;
    loop {
        match worker.next::<Value>(PATIENCE, interrupt) {
            Event::Exited(_) => break,
            Event::Interrupted(signal) => {
                worker.end(SHORT_LADDER);
                return Err(Stop::Interrupted(signal));
            }
            Event::Silent { .. } => {
                worker.end(SHORT_LADDER);
                let why = format!("the client did not end within {} s", PATIENCE.as_secs());
                return Err(Stop::Refused(why));
            }
            Event::Message(_) | Event::Garbled { .. } => {}
        }
    }
    // A client that calls its own run invalid ends with a code of its own; what it measured counts here.
    let Ok(Payload::Serve(serve)) = measure_load(folder) else {
        return Err(Stop::Refused(format!(
            "the client left no result: {}",
            last_line(&worker.tail())
        )));
    };
    Ok(Ran {
        serve: *serve,
        cpu: of_children()
            .zip(before)
            .map(|(after, before)| after.saturating_sub(before)),
    })
}

fn measure_load(folder: &Path) -> Result<Payload> {
    Ok(load(folder)?.payload)
}

fn spawn<A: Into<OsString>>(
    name: &str,
    words: impl IntoIterator<Item = A>,
    cpu: Option<usize>,
) -> Result<Worker, Stop> {
    let spec = WorkerSpec::this_program(name, words).map_err(anyhow::Error::from)?;
    on(cpu, || Worker::spawn(spec)).map_err(|error| Stop::Internal(error.into()))
}
