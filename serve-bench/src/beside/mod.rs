//! Beside a load: the server's own counters, and what a monitor sees of its machine. Nothing here runs on the load's thread.

mod counters;
mod judge;
mod listeners;
mod monitor;
pub(crate) mod names;

use std::net::SocketAddr;
use std::time::Instant;

use clap::Args;
use hyper::Uri;
use hyper::header::{HOST, HeaderMap, HeaderValue};
use record::{ServeServer, ServerMachine};

use self::counters::{Counters, Read};
use self::monitor::Monitor;

pub(crate) use self::judge::{judge, others_prompts};

/// What is to be read beside a load.
#[derive(Debug, Clone, Args)]
pub(crate) struct BesideArgs {
    /// Where the server's own counters are, in Prometheus text. Default: /metrics of the server, which is read before, once a
    /// second during and after the measured part; one that has none is said and is no failure. Headers and keys are sent there
    /// only where it is the server's own address.
    #[arg(
        long,
        hide_short_help = true,
        value_name = "URL",
        conflicts_with = "no_metrics"
    )]
    pub(crate) metrics_url: Option<String>,

    /// Do not read the server's counters. A busy server takes some milliseconds for each reading.
    #[arg(long, hide_short_help = true)]
    pub(crate) no_metrics: bool,

    /// Run `tplens monitor` beside the load.
    ///
    /// It reads power, clocks, throttle reasons and PCIe bytes of this machine's GPUs twice a
    /// second, and CPU use of the server's processes by NUMA node. What is missing for it is said and is no failure.
    #[arg(long)]
    pub(crate) monitor: bool,

    /// With --monitor: the server's processes, ids separated by commas; those below them are found. Default: who listens on the
    /// server's port, where it runs on this machine and may be seen.
    #[arg(long, hide_short_help = true, value_name = "PIDS", value_delimiter = ',', requires = "monitor", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) server_pid: Vec<u32>,
}

/// The server that is loaded.
pub(crate) struct Server<'a> {
    /// Its base URL, as it is recorded.
    pub(crate) base_url: String,
    /// The address that answered.
    pub(crate) address: Option<SocketAddr>,
    /// Headers of every request to it.
    pub(crate) headers: &'a HeaderMap<HeaderValue>,
}

/// What is under way beside a load.
#[derive(Default)]
pub(crate) struct Beside {
    /// Where counters are to be read, with which headers.
    address: Option<(String, HeaderMap<HeaderValue>)>,
    /// What reads them, or why nothing does.
    counters: Option<Result<Counters, String>>,
    /// How the server's processes were found, and what watches them or why nothing does.
    monitor: Option<Result<(Monitor, String), String>>,
}

impl Beside {
    /// Starts what was asked for; it waits for [`Self::begin`].
    ///
    /// # Errors
    /// In words: an address that is none.
    pub(crate) fn start(args: &BesideArgs, server: &Server<'_>) -> Result<Self, String> {
        let mut beside = Self::default();
        if !args.no_metrics {
            let url = match &args.metrics_url {
                Some(url) => checked(url)?,
                None => format!("{}/metrics", server.base_url),
            };
            let headers = headers_for(&url, server);
            beside.address = Some((url, headers));
        }
        if args.monitor {
            let found = listeners::of_server(&args.server_pid, server.address);
            let (pids, processes) =
                found.unwrap_or_else(|why| (Vec::new(), format!("not watched, {why}")));
            beside.monitor = Some(Monitor::start(&pids).map(|monitor| (monitor, processes)));
        }
        Ok(beside)
    }

    /// Reads for the first time, and every second from now on: right before the measured part.
    /// It waits for a monitor no longer than until it is stopped.
    pub(crate) fn begin(&mut self, is_stopped: impl Fn() -> bool) {
        if let Some(Ok((monitor, _))) = &mut self.monitor {
            monitor.wait(is_stopped);
        }
        let address = self.address.take();
        self.counters = address.map(|(url, headers)| match url.starts_with("https:") {
            true => Err(
                "they are read over http only; name the server's plain port with --metrics-url"
                    .to_owned(),
            ),
            false => Counters::begin(url, headers),
        });
    }

    /// Reads for the last time and gives all on the clock of a run that began at `start`; `None` where nothing was asked for.
    pub(crate) fn end(self, start: Instant) -> Option<ServeServer> {
        if self.counters.is_none() && self.monitor.is_none() {
            return None;
        }
        let mut server = ServeServer::default();
        match self.counters.map(|counters| counters.map(Counters::end)) {
            None => {}
            Some(Err(why)) => server.no_counters = Some(why),
            Some(Ok((read, began))) => keep(&mut server, read, ms(began, start)),
        }
        let monitor = self.monitor.map(|started| {
            let (monitor, processes) = started?;
            let (header, began, lines) = monitor.end()?;
            Ok(ServerMachine {
                header,
                began_ms: ms(began, start),
                lines,
                processes,
            })
        });
        match monitor {
            None => {}
            Some(Ok(machine)) => server.machine = Some(machine),
            Some(Err(why)) => server.no_machine = Some(why),
        }
        Some(server)
    }
}

/// What was read on a clock that began at `began_ms` of the run's, or why nothing was.
fn keep(server: &mut ServeServer, read: Read, began_ms: f64) {
    let Read {
        mut counters,
        ended,
    } = read;
    if counters.readings.is_empty() {
        let silent = || format!("{} gave no answer in time", counters.url);
        server.no_counters = Some(ended.unwrap_or_else(silent));
        return;
    }
    for reading in &mut counters.readings {
        reading.asked_ms += began_ms;
        reading.answered_ms += began_ms;
    }
    counters.change = counters.changed();
    server.counters = Some(counters);
    server.no_counters = ended;
}

/// An instant on the run's clock, ms; negative before its start.
fn ms(at: Instant, start: Instant) -> f64 {
    match at.checked_duration_since(start) {
        Some(since) => since.as_secs_f64() * 1e3,
        None => -start.duration_since(at).as_secs_f64() * 1e3,
    }
}

/// A URL without what must not be recorded.
fn checked(url: &str) -> Result<String, String> {
    let uri: Uri = url.parse().map_err(|error| {
        // The text is not repeated: it may hold a password.
        format!("--metrics-url is not a URL ({error}); it looks like http://127.0.0.1:8000/metrics")
    })?;
    let authority = uri.authority().map(hyper::http::uri::Authority::as_str);
    match (uri.scheme_str(), authority) {
        (Some("http" | "https"), Some(host)) if !host.contains('@') && uri.query().is_none() => {
            Ok(url.to_owned())
        }
        (Some("http" | "https"), Some(_)) => Err(
            "--metrics-url holds credentials or a query, which would be recorded; leave them out"
                .to_owned(),
        ),
        _ => Err("--metrics-url looks like http://127.0.0.1:8000/metrics".to_owned()),
    }
}

/// Headers for an address of counters: those of the load where it is the same host and port and no less hidden on the way, else none,
/// since they may hold keys.
fn headers_for(url: &str, server: &Server<'_>) -> HeaderMap<HeaderValue> {
    let place = |url: &str| {
        let uri: Uri = url.parse().ok()?;
        let usual = if uri.scheme_str() == Some("https") {
            443
        } else {
            80
        };
        let port = uri.port_u16().unwrap_or(usual);
        Some((uri.scheme_str()?.to_owned(), uri.host()?.to_owned(), port))
    };
    if place(url).is_none() || place(url) != place(&server.base_url) {
        return HeaderMap::new();
    }
    let mut headers = server.headers.clone();
    headers.remove(HOST);
    headers
}

#[cfg(test)]
mod tests {
    use hyper::header::AUTHORIZATION;

    use super::*;

    #[test]
    fn a_key_is_sent_to_the_servers_own_address_only() {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer canary"));
        headers.insert(HOST, HeaderValue::from_static("box:8000"));
        let server = Server {
            base_url: "http://box:8000".to_owned(),
            address: None,
            headers: &headers,
        };
        let own = headers_for("http://box:8000/metrics", &server);
        assert!(own.contains_key(AUTHORIZATION) && !own.contains_key(HOST));
        for other in [
            "http://box:9090/metrics",
            "http://elsewhere:8000/metrics",
            "not a url",
        ] {
            assert!(headers_for(other, &server).is_empty(), "{other}");
        }
    }

    #[test]
    fn an_address_that_would_record_a_secret_is_refused_without_it() {
        for url in [
            "http://u:canary@box/metrics",
            "http://box/metrics?key=canary",
            "canary",
            "ftp://box/",
        ] {
            let refused = checked(url).unwrap_err();
            assert!(!refused.contains("canary"), "{refused}");
        }
        assert!(checked("http://box:1/metrics").is_ok());
    }
}
