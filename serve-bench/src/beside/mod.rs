//! Beside a load: the server's own counters, and what a monitor sees of its machine. Nothing here runs on the load's thread.

mod counters;
mod judge;
mod monitor;
pub(crate) mod names;

use std::net::SocketAddr;
use std::time::Instant;

use clap::Args;
use hyper::header::{HOST, HeaderMap};
use record::ServeServer;

use self::counters::Counters;
use self::monitor::Monitor;
use crate::address::Address;

pub(crate) use self::judge::{judge, others_prompts};

/// Why counters at an https:// address are not read.
const ONLY_HTTP: &str =
    "they are read over http only; name the server's plain port with --metrics-url";

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
    /// second, and CPU use by NUMA node of the processes that listen on the server's port, where it runs on this machine and they may be
    /// seen. What is missing for it is said and is no failure.
    #[arg(long)]
    pub(crate) monitor: bool,

    /// With --monitor: the server's processes, ids separated by commas; those below them are found. Default: who listens on the
    /// server's port, which of a server in a container is often a proxy.
    #[arg(long, hide_short_help = true, value_name = "PIDS", value_delimiter = ',', requires = "monitor", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) server_pid: Vec<u32>,
}

/// What is under way beside a load.
#[derive(Default)]
pub(crate) struct Beside {
    /// Where counters are to be read, with which headers.
    address: Option<(Address, HeaderMap)>,
    /// What reads them, or why nothing does.
    counters: Option<Result<Counters, String>>,
    /// What watches the machine, or why nothing does.
    monitor: Option<Result<Monitor, String>>,
}

impl Beside {
    /// Starts what was asked for beside a load on a server at a base URL, whose address it is that answered, with such headers of every
    /// request; it waits for [`Self::begin`].
    ///
    /// # Errors
    /// In words: an address that is none.
    pub(crate) fn start(
        args: &BesideArgs,
        base: &Address,
        address: Option<SocketAddr>,
        headers: &HeaderMap,
    ) -> Result<Self, String> {
        let mut beside = Self::default();
        if !args.no_metrics {
            let own = format!("{base}/metrics");
            let url = args.metrics_url.as_ref().unwrap_or(&own);
            let url = Address::parse("--metrics-url", url)?;
            let headers = headers_for(&url, base, headers);
            beside.address = Some((url, headers));
        }
        if args.monitor {
            let started = Monitor::start(&args.server_pid, address);
            beside.monitor = Some(started.map_err(|error| format!("it does not start: {error}")));
        }
        Ok(beside)
    }

    /// Reads for the first time, and every second from now on: right before the measured part.
    /// It waits for a monitor no longer than until it is stopped.
    pub(crate) fn begin(&mut self, is_stopped: impl Fn() -> bool) {
        if let Some(Ok(monitor)) = &mut self.monitor {
            monitor.wait(is_stopped);
        }
        let begin = |(url, headers): (Address, HeaderMap)| match url.0.scheme() {
            "https" => Err(ONLY_HTTP.to_owned()),
            _ => Counters::begin(url.0.into(), headers).map_err(|error| error.to_string()),
        };
        self.counters = self.address.take().map(begin);
    }

    /// Reads for the last time and gives all on the clock of a run that began at `start`; `None` where nothing was asked for.
    pub(crate) fn end(self, start: Instant) -> Option<ServeServer> {
        let (counters, no_counters) = match self.counters {
            Some(Ok(counters)) => counters.end(start),
            Some(Err(why)) => (None, Some(why)),
            None => (None, None),
        };
        let machine = self.monitor.map(|started| started?.end(start)).transpose();
        let server = ServeServer {
            counters,
            no_counters,
            no_machine: machine.as_ref().err().cloned(),
            machine: machine.ok().flatten(),
        };
        (server != ServeServer::default()).then_some(server)
    }
}

/// Headers for an address of counters: those of the load where it is the same host and port and no less hidden on the way, else none,
/// since they may hold keys.
fn headers_for(url: &Address, base: &Address, own: &HeaderMap) -> HeaderMap {
    let mut headers = own.clone();
    headers.remove(HOST);
    match url.0.origin() == base.0.origin() {
        true => headers,
        false => HeaderMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::{AUTHORIZATION, HeaderValue};

    use super::*;

    #[test]
    fn a_key_is_sent_to_the_servers_own_address_only() {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer canary"));
        headers.insert(HOST, HeaderValue::from_static("box:8000"));
        let address = |url: &str| Address::parse("", url).unwrap();
        let base = address("http://box:8000");
        let headers_for = |url: &str| headers_for(&address(url), &base, &headers);
        let own = headers_for("http://box:8000/metrics");
        assert!(own.contains_key(AUTHORIZATION) && !own.contains_key(HOST));
        for other in [
            "http://box:9090/metrics",
            "http://elsewhere:8000/metrics",
            "https://box:8000/metrics",
        ] {
            assert!(headers_for(other).is_empty(), "{other}");
        }
    }
}
