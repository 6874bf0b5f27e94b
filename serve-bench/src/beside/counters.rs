//! The thread that reads a server's counters over a connection that is kept: before the measured part, every second, and after it.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hyper::header::HeaderMap;
use record::{ServerCounters, ServerReading};
use reqwest::redirect::Policy;

use super::names;

/// From one reading to the next.
const EVERY: Duration = Duration::from_secs(1);

/// How long the load waits for the reading before it.
const FIRST: Duration = Duration::from_secs(3);

/// How long a reading may take: a server that is busy for longer leaves that second empty.
const PATIENCE: Duration = Duration::from_secs(2);

/// Bytes of an answer that are read; vLLM's page is some 100 KiB.
const MAX_BYTES: usize = 8 << 20;

/// A thread that reads.
pub(super) struct Counters {
    /// Dropped where the thread is to read once more and to end.
    stop: Sender<()>,
    thread: JoinHandle<Read>,
    began: Instant,
}

/// What was read, on the thread's clock, and why there is no more of it.
type Read = (ServerCounters, Option<String>);

/// Why there is no reading: the words of an address that need not be asked again, or `None` where it may answer the next time.
type NoReading = Option<String>;

impl Counters {
    /// Begins to read an address, and waits for the first reading or until it is known that there is none.
    ///
    /// # Errors
    /// The system refuses what it takes.
    pub(super) fn begin(url: String, headers: HeaderMap) -> anyhow::Result<Self> {
        let began = Instant::now();
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build()?;
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(Policy::none())
            .timeout(PATIENCE)
            .default_headers(headers)
            .build()?;
        let (stop, stopped) = mpsc::channel();
        let (done, first) = mpsc::channel();
        let work = move || {
            let ask = || runtime.block_on(read(&client, &url, began));
            watch(&url, ask, &done, &stopped)
        };
        let thread = std::thread::Builder::new().name("counters".to_owned());
        let thread = thread.spawn(work)?;
        let _ = first.recv_timeout(FIRST);
        Ok(Self {
            stop,
            thread,
            began,
        })
    }

    /// Reads once more and gives all on the clock of a run that began at `start`, and why there is nothing, or no more of it.
    pub(super) fn end(self, start: Instant) -> (Option<ServerCounters>, Option<String>) {
        drop(self.stop);
        let Ok((mut counters, ended)) = self.thread.join() else {
            return (None, Some("the thread that read them crashed".to_owned()));
        };
        if counters.readings.is_empty() {
            let silent = || format!("{} gave no answer in time", counters.url);
            return (None, Some(ended.unwrap_or_else(silent)));
        }
        let began_ms = ms(self.began, start);
        for reading in &mut counters.readings {
            reading.asked_ms += began_ms;
            reading.answered_ms += began_ms;
        }
        counters.change = counters.changed();
        (Some(counters), ended)
    }
}

fn watch(
    url: &str,
    ask: impl Fn() -> Result<(ServerReading, &'static str), NoReading>,
    done: &Sender<()>,
    stopped: &Receiver<()>,
) -> Read {
    let mut counters = ServerCounters {
        url: url.to_owned(),
        ..ServerCounters::default()
    };
    let mut due = Instant::now();
    let mut is_last = false;
    loop {
        let ended = match ask() {
            Ok((reading, engine)) => {
                engine.clone_into(&mut counters.engine);
                counters.readings.push(reading);
                None
            }
            Err(why) => {
                counters.missed += u32::from(why.is_none());
                why
            }
        };
        // Nobody waits for a later one.
        let _ = done.send(());
        if is_last || ended.is_some() {
            return (counters, ended);
        }
        // A reading that took longer than a second leaves its place empty.
        while due <= Instant::now() {
            due += EVERY;
        }
        let left = due.saturating_duration_since(Instant::now());
        is_last = stopped.recv_timeout(left) != Err(RecvTimeoutError::Timeout);
    }
}

/// Reads once; gives the reading and whose names it has.
async fn read(
    client: &reqwest::Client,
    url: &str,
    began: Instant,
) -> Result<(ServerReading, &'static str), NoReading> {
    let never = |what: &str| Some(format!("{url} {what}"));
    let asked_ms = ms(Instant::now(), began);
    let mut reply = client.get(url).send().await.map_err(|_| None)?;
    let status = reply.status();
    // What is busy or limits its callers may answer later.
    if status.is_server_error() || status.as_u16() == 429 {
        return Err(None);
    }
    if !status.is_success() {
        return Err(never(&format!("answers {status}")));
    }
    let mut body = Vec::new();
    while let Some(part) = reply.chunk().await.map_err(|_| None)? {
        body.extend_from_slice(&part);
        if body.len() > MAX_BYTES {
            return Err(never("answers with more than 8 MiB"));
        }
    }
    let answered_ms = ms(Instant::now(), began);
    let none = "holds none of the counters of vLLM, SGLang or llama.cpp";
    let found = names::values(&String::from_utf8_lossy(&body));
    let (values, engine) = found.ok_or_else(|| never(none))?;
    let reading = ServerReading {
        asked_ms,
        answered_ms,
        values,
    };
    Ok((reading, engine))
}

/// An instant on a clock that began at `start`, ms; negative before it.
pub(super) fn ms(at: Instant, start: Instant) -> f64 {
    match at.checked_duration_since(start) {
        Some(since) => since.as_secs_f64() * 1e3,
        None => -start.duration_since(at).as_secs_f64() * 1e3,
    }
}
