//! What is read beside one load, from its start to what the record holds of it.

use std::net::SocketAddr;
use std::time::Instant;

use hyper::Uri;
use hyper::header::{HOST, HeaderMap, HeaderValue};
use record::{ServeServer, ServerCounters, ServerMachine, ServerReading};

use super::args::BesideArgs;
use super::asker::{Asker, Reading};
use super::counters::{Counters, Seen};
use super::listeners;
use super::monitor::Monitor;

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
    /// Where counters are read, and what reads them or why nothing does.
    counters: Option<(String, Result<Counters, String>)>,
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
            let counters = if url.starts_with("https:") {
                Err(
                    "they are read over http only; name the server's plain port with --metrics-url"
                        .to_owned(),
                )
            } else {
                Asker::new(url.clone(), headers).and_then(Counters::start)
            };
            beside.counters = Some((url, counters));
        }
        if args.monitor {
            beside.monitor = Some(monitor(args, server));
        }
        Ok(beside)
    }

    /// Reads for the first time, and every second from now on: right before the measured part.
    /// It waits for a monitor no longer than until it is stopped.
    pub(crate) fn begin(&mut self, is_stopped: impl Fn() -> bool) {
        if let Some(Ok((monitor, _))) = &mut self.monitor {
            monitor.wait(is_stopped);
        }
        if let Some((_, Ok(counters))) = &self.counters {
            counters.begin();
        }
    }

    /// Reads for the last time and gives all on the clock of a run that began at `start`; `None` where nothing was asked for.
    pub(crate) fn end(self, start: Instant) -> Option<ServeServer> {
        if self.counters.is_none() && self.monitor.is_none() {
            return None;
        }
        let mut server = ServeServer::default();
        if let Some((url, counters)) = self.counters {
            match counters.map(Counters::end) {
                Ok(seen) => self::counters(&mut server, url, seen, start),
                Err(why) => server.no_counters = Some(why),
            }
        }
        match self.monitor {
            None => {}
            Some(Err(why)) => server.no_machine = Some(why),
            Some(Ok((monitor, processes))) => match monitor.end() {
                Ok(seen) => {
                    server.machine = Some(ServerMachine {
                        header: seen.header,
                        began_ms: ms(seen.began, start),
                        lines: seen.lines,
                        processes,
                    });
                }
                Err(why) => server.no_machine = Some(why),
            },
        }
        Some(server)
    }
}

/// What was read, or why nothing was.
fn counters(server: &mut ServeServer, url: String, seen: Seen, start: Instant) {
    if seen.readings.is_empty() {
        let silent = || format!("{url} gave no answer in time");
        server.no_counters = Some(seen.ended.unwrap_or_else(silent));
        return;
    }
    let readings = seen.readings.into_iter().map(|one| reading(one, start));
    let mut counters = ServerCounters {
        url,
        engine: seen.engine.to_owned(),
        readings: readings.collect(),
        missed: seen.missed,
        change: None,
    };
    counters.change = counters.changed();
    server.counters = Some(counters);
    server.no_counters = seen.ended;
}

fn reading(reading: Reading, start: Instant) -> ServerReading {
    ServerReading {
        asked_ms: ms(reading.asked, start),
        answered_ms: ms(reading.answered, start),
        values: reading.values,
    }
}

/// An instant on the run's clock, ms; negative before its start.
fn ms(at: Instant, start: Instant) -> f64 {
    match at.checked_duration_since(start) {
        Some(since) => since.as_secs_f64() * 1e3,
        None => -start.duration_since(at).as_secs_f64() * 1e3,
    }
}

fn monitor(args: &BesideArgs, server: &Server<'_>) -> Result<(Monitor, String), String> {
    let (pids, processes) = match listeners::of_server(&args.server_pid, server.address) {
        Ok(found) => found,
        Err(why) => (Vec::new(), format!("not watched, {why}")),
    };
    Monitor::start(&pids).map(|monitor| (monitor, processes))
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
