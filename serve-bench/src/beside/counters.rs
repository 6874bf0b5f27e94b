//! The thread that reads a server's counters over a connection that is kept: before the measured part, every second, and after it.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hyper::header::{HeaderMap, HeaderValue};
use record::{ServerCounters, ServerReading};

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
#[derive(Default)]
pub(super) struct Read {
    pub(super) counters: ServerCounters,
    pub(super) ended: Option<String>,
}

/// Why there is no reading.
enum NoReading {
    /// There are no counters at this address: it need not be asked again.
    Never(String),
    /// Not this time.
    Now,
}

/// Asks for counters.
struct Asker {
    runtime: tokio::runtime::Runtime,
    client: reqwest::Client,
    url: String,
    headers: HeaderMap<HeaderValue>,
    began: Instant,
}

impl Counters {
    /// Begins to read an address, and waits for the first reading or until it is known that there is none.
    ///
    /// # Errors
    /// In words: the system refuses what it takes.
    pub(super) fn begin(url: String, headers: HeaderMap<HeaderValue>) -> Result<Self, String> {
        let began = Instant::now();
        let asker = Asker {
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|error| format!("no network runtime: {error}"))?,
            client: reqwest::Client::builder()
                .no_proxy()
                .redirect(reqwest::redirect::Policy::none())
                .timeout(PATIENCE)
                .build()
                .map_err(|error| format!("no client: {error}"))?,
            url,
            headers,
            began,
        };
        let (stop, stopped) = mpsc::channel();
        let (done, first) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("counters".to_owned())
            .spawn(move || asker.watch(&done, &stopped))
            .map_err(|error| format!("no thread: {error}"))?;
        let _ = first.recv_timeout(FIRST);
        Ok(Self {
            stop,
            thread,
            began,
        })
    }

    /// Reads once more and gives all, with the instant at which their clock began.
    pub(super) fn end(self) -> (Read, Instant) {
        drop(self.stop);
        let crashed = |_| Read {
            ended: Some("the thread that read them crashed".to_owned()),
            ..Read::default()
        };
        (self.thread.join().unwrap_or_else(crashed), self.began)
    }
}

impl Asker {
    fn watch(&self, done: &Sender<()>, stopped: &Receiver<()>) -> Read {
        let mut read = Read::default();
        read.counters.url.clone_from(&self.url);
        let mut due = Instant::now();
        let mut is_last = false;
        loop {
            match self.runtime.block_on(self.read()) {
                Ok((reading, engine)) => {
                    engine.clone_into(&mut read.counters.engine);
                    read.counters.readings.push(reading);
                }
                Err(NoReading::Now) => read.counters.missed += 1,
                Err(NoReading::Never(why)) => read.ended = Some(why),
            }
            // Nobody waits for a later one.
            let _ = done.send(());
            if is_last || read.ended.is_some() {
                return read;
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
    async fn read(&self) -> Result<(ServerReading, &'static str), NoReading> {
        let now = || self.began.elapsed().as_secs_f64() * 1e3;
        let never = |what: String| NoReading::Never(format!("{} {what}", self.url));
        let asked_ms = now();
        let request = self.client.get(&self.url).headers(self.headers.clone());
        let mut reply = request.send().await.map_err(|_| NoReading::Now)?;
        let status = reply.status();
        // What is busy or limits its callers may answer later.
        if status.is_server_error() || status.as_u16() == 429 {
            return Err(NoReading::Now);
        }
        if !status.is_success() {
            return Err(never(format!("answers {status}")));
        }
        let mut body = Vec::new();
        while let Some(part) = reply.chunk().await.map_err(|_| NoReading::Now)? {
            body.extend_from_slice(&part);
            if body.len() > MAX_BYTES {
                return Err(never("answers with more than 8 MiB".to_owned()));
            }
        }
        let answered_ms = now();
        let none = "holds none of the counters of vLLM, SGLang or llama.cpp";
        let found = names::values(&String::from_utf8_lossy(&body));
        let (values, engine) = found.ok_or_else(|| never(none.to_owned()))?;
        let reading = ServerReading {
            asked_ms,
            answered_ms,
            values,
        };
        Ok((reading, engine))
    }
}
