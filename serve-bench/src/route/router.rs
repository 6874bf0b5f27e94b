//! What all requests share, and a request's own account until it has ended.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use disagg::{Bootstrap, Dialect, Handover, Leg, Release};
use hyper::header::HeaderValue;
use tokio::sync::OnceCell;

use super::args::{Args, Policy};
use super::choose::order;
use super::journal::{Journal, Kv, Row};
use super::legs::{self, Sent};
use super::metrics::Metrics;
use super::peer::Peer;
use crate::load::{Trust, authorization};

/// How long a decode engine may take to take blocks that nobody wants.
const RELEASE: Duration = Duration::from_secs(10);

/// How often and after what pauses this is tried.
const PAUSES: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_millis(100),
    Duration::from_millis(400),
];

/// What all requests share.
pub(super) struct Router {
    /// The protocol, once it is known.
    pub(super) dialect: OnceCell<&'static dyn Dialect>,
    pub(super) prefills: Vec<Arc<Peer>>,
    pub(super) decodes: Vec<Arc<Peer>>,
    policy: Policy,
    /// Requests that were given engines.
    pub(super) turn: AtomicUsize,
    names: RandomState,
    named: AtomicU64,
    pub(super) metrics: Metrics,
    pub(super) journal: Journal,
    pub(super) key: Option<HeaderValue>,
    pub(super) timeout: Duration,
    pub(super) max_requests: usize,
    /// Whether no more requests are taken.
    pub(super) is_ending: AtomicBool,
}

/// Names that no other request has.
#[derive(Debug, Clone)]
pub(super) struct Names {
    pub(super) request_id: String,
    pub(super) transfer_id: String,
    pub(super) room: u64,
}

impl Names {
    /// The names with a prefill engine.
    pub(super) fn leg<'a>(&'a self, peer: &'a Peer, bootstrap: &'a Bootstrap) -> Leg<'a> {
        Leg {
            request_id: &self.request_id,
            transfer_id: &self.transfer_id,
            room: self.room,
            prefill: &peer.name,
            bootstrap,
        }
    }
}

impl Router {
    /// Reads the command line. Every error is the user's input.
    ///
    /// # Errors
    /// In words.
    pub(super) fn of(args: &Args) -> Result<Self, String> {
        let trusted = |host: &str| Trust::of(host, args.ca_file.as_deref(), args.insecure);
        let peers = |flag: &str, urls: &[String]| {
            let parsed = urls
                .iter()
                .map(|url| Peer::parse(url, trusted).map(Arc::new));
            let parsed: Result<Vec<_>, String> = parsed.collect();
            parsed.map_err(|why| format!("{flag}: an engine's address {why}"))
        };
        let journal = Journal::open(args.journal.as_deref());
        let journal = journal.map_err(|error| format!("--journal: {error}"))?;
        Ok(Self {
            dialect: OnceCell::new_with(disagg::by_name(&args.dialect)),
            prefills: peers("--prefill", &args.prefill)?,
            decodes: peers("--decode", &args.decode)?,
            policy: args.policy,
            turn: AtomicUsize::new(0),
            names: RandomState::new(),
            named: AtomicU64::new(0),
            metrics: Metrics::default(),
            journal,
            key: authorization(args.api_key_env.as_deref(), args.api_key_file.as_deref())?,
            timeout: args.timeout,
            max_requests: args.max_requests as usize,
            is_ending: AtomicBool::new(false),
        })
    }

    /// Prefill and decode engines in the order in which they are asked for a prompt.
    pub(super) fn chosen(&self, prompt: Option<&str>) -> (Vec<Arc<Peer>>, Vec<Arc<Peer>>) {
        let turn = self.turn.fetch_add(1, Relaxed);
        let prefills = order(&self.prefills, self.policy, turn, prompt);
        (prefills, order(&self.decodes, self.policy, turn, None))
    }

    /// New names; the request's own where it has one.
    pub(super) fn names(&self, request_id: Option<&str>) -> Names {
        let number = self.named.fetch_add(2, Relaxed);
        let (a, b) = (self.names.hash_one(number), self.names.hash_one(number + 1));
        Names {
            request_id: request_id
                .map_or_else(|| format!("tplens-{a:016x}{b:016x}"), str::to_owned),
            transfer_id: format!("xfer-{b:016x}{a:016x}"),
            // Below 2^63, and with room for a batch behind it.
            room: (a >> 2) & !0xfff,
        }
    }
}

/// What a prefill engine holds for a request that no decode engine has taken.
pub(super) struct Held {
    pub(super) handover: Handover,
    pub(super) sent: Sent,
    pub(super) names: Names,
    pub(super) prefill: Arc<Peer>,
}

/// What a request waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its own body.
    Body,
    /// The prefill engine, alone.
    Prefill,
    /// The decode engine, or both.
    Decode,
}

/// A request's account. Dropping it before [`Ticket::end`] is the client that went away.
pub(super) struct Ticket {
    router: Arc<Router>,
    begun: Instant,
    pub(super) row: Row,
    pub(super) stage: Stage,
    pub(super) held: Option<Held>,
    /// Bytes of its body.
    pub(super) bytes: usize,
    is_ended: bool,
}

impl Ticket {
    /// A request whose head is there.
    pub(super) fn begun(router: &Arc<Router>, request_id: &str) -> Self {
        router.metrics.in_flight.fetch_add(1, Relaxed);
        Self {
            router: Arc::clone(router),
            begun: Instant::now(),
            row: Row::begun(request_id.to_owned(), ""),
            stage: Stage::Body,
            held: None,
            bytes: 0,
            is_ended: false,
        }
    }

    /// Microseconds since its head was there.
    pub(super) fn now(&self) -> Option<u64> {
        u64::try_from(self.begun.elapsed().as_micros()).ok()
    }

    /// Counts bytes of its body; `false` where there is no room for them.
    pub(super) fn holds(&mut self, bytes: usize, most: usize) -> bool {
        self.bytes = bytes;
        self.router.metrics.held_bytes.fetch_add(bytes, Relaxed) + bytes <= most
    }

    /// It has ended in this way, with its keys and values there. What is still held is given back.
    pub(super) fn end(&mut self, outcome: impl Into<String>, kv: Kv) {
        self.row.outcome = outcome.into();
        self.row.kv = kv;
        self.is_ended = true;
    }

    /// Where keys and values are when both requests are closed in the middle of a decode engine's: a prefill engine that has not
    /// replied frees its own.
    pub(super) fn closed(&self) -> Kv {
        let release = self.router.dialect.get().map(|dialect| dialect.release());
        match release {
            _ if self.row.decode_first_us.is_some() => Kv::Taken,
            Some(Release::LeaseOnly) if self.row.prefill_reply_us.is_some() => Kv::Lease,
            _ => Kv::Closed,
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let metrics = &self.router.metrics;
        metrics.in_flight.fetch_sub(1, Relaxed);
        metrics.held_bytes.fetch_sub(self.bytes, Relaxed);
        if !self.is_ended {
            let (code, kv) = match self.stage {
                Stage::Body => ("client-gone-body", Kv::None),
                Stage::Prefill => ("client-gone-prefill", Kv::Closed),
                Stage::Decode => ("client-gone-decode", self.closed()),
            };
            self.end(code, kv);
        }
        let (router, mut row) = (Arc::clone(&self.router), std::mem::take(&mut self.row));
        let lease = router.dialect.get().map(|dialect| dialect.lease());
        let write = move |router: &Router, mut row: Row| {
            if row.kv == Kv::Lease {
                row.lease_s = lease.map(|lease| lease.seconds);
            }
            router.metrics.count(&row);
            router.journal.write(&row);
        };
        let Some(held) = self.held.take() else {
            write(&router, row);
            return;
        };
        // Counted as under way until it is given back, so that the router does not end before.
        router.metrics.in_flight.fetch_add(1, Relaxed);
        tokio::spawn(async move {
            row.kv = if release(&router, &held).await {
                Kv::Released
            } else {
                Kv::Lease
            };
            write(&router, row);
            router.metrics.in_flight.fetch_sub(1, Relaxed);
        });
    }
}

/// Has a decode engine take what is held for one token, and says whether one did.
async fn release(router: &Router, held: &Held) -> bool {
    let Some(dialect) = router.dialect.get() else {
        return false;
    };
    let Ok(body) = disagg::Body::read(&held.sent.body) else {
        return false;
    };
    let bootstrap = held.prefill.bootstrap();
    let leg = held.names.leg(&held.prefill, &bootstrap);
    for pause in PAUSES {
        tokio::time::sleep(pause).await;
        for peer in order(&router.decodes, Policy::LeastLoaded, 0, None) {
            let Some(ask) = dialect.release_ask(&body, &leg, &held.handover) else {
                return false;
            };
            let Ok(exchange) = peer.open().await else {
                continue;
            };
            let request = held.sent.plain(&peer, ask);
            let reply = legs::whole(exchange, request, RELEASE).await;
            if reply.is_ok_and(|reply| reply.status.is_success()) {
                return true;
            }
        }
    }
    false
}
