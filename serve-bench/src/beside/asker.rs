//! One reading of a page of counters: asked for over a connection that is kept, held to a size and a time.

use std::time::{Duration, Instant};

use hyper::header::{HeaderMap, HeaderValue};
use record::ServerValues;

use super::names;

/// How long a reading may take: a server that is busy for longer leaves that second empty.
const PATIENCE: Duration = Duration::from_secs(2);

/// Bytes of an answer that are read; vLLM's page is some 100 KiB.
const MAX_BYTES: usize = 8 << 20;

/// A reading.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reading {
    /// When it was asked for.
    pub(super) asked: Instant,
    /// When the answer was there.
    pub(super) answered: Instant,
    /// What it held.
    pub(super) values: ServerValues,
}

/// Why there is no reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoReading {
    /// There are no counters at this address: it need not be asked again.
    Never(String),
    /// Not this time.
    Now,
}

/// Asks for counters.
pub(super) struct Asker {
    runtime: tokio::runtime::Runtime,
    client: reqwest::Client,
    url: String,
    headers: HeaderMap<HeaderValue>,
}

impl Asker {
    /// An asker of one address.
    ///
    /// # Errors
    /// In words: the system refuses the runtime or the client.
    pub(super) fn new(url: String, headers: HeaderMap<HeaderValue>) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| format!("no network runtime: {error}"))?;
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(PATIENCE)
            .build()
            .map_err(|error| format!("no client: {error}"))?;
        Ok(Self {
            runtime,
            client,
            url,
            headers,
        })
    }

    /// Reads once; gives the reading and whose names it has.
    pub(super) fn read(&self) -> Result<(Reading, &'static str), NoReading> {
        self.runtime.block_on(async {
            let asked = Instant::now();
            let request = self.client.get(&self.url).headers(self.headers.clone());
            let mut reply = request.send().await.map_err(|_| NoReading::Now)?;
            let status = reply.status();
            if !status.is_success() {
                // What is busy or limits its callers may answer later.
                let is_busy = status.is_server_error() || status.as_u16() == 429;
                let never = || NoReading::Never(format!("{} answers {status}", self.url));
                return Err(if is_busy { NoReading::Now } else { never() });
            }
            let mut body = Vec::new();
            while let Some(part) = reply.chunk().await.map_err(|_| NoReading::Now)? {
                body.extend_from_slice(&part);
                if body.len() > MAX_BYTES {
                    let text = format!("{} answers with more than 8 MiB", self.url);
                    return Err(NoReading::Never(text));
                }
            }
            let answered = Instant::now();
            let text = String::from_utf8_lossy(&body);
            let (values, engine) = names::values(&text).ok_or_else(|| {
                NoReading::Never(format!(
                    "{} holds none of the counters of vLLM, SGLang or llama.cpp",
                    self.url
                ))
            })?;
            let reading = Reading {
                asked,
                answered,
                values,
            };
            Ok((reading, engine))
        })
    }
}
