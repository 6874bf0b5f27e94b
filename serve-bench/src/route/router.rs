//! What all requests share, which engine is asked next, and a request's own account until it has ended.

use std::hash::{BuildHasher as _, DefaultHasher, Hash as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use disagg::{Bootstrap, Dialect, Handover, Leg, Release};
use hyper::header::HeaderValue;
use tokio::sync::{OnceCell, Semaphore};

use super::args::{Args, Policy};
use super::journal::{Journal, Kv, Row};
use super::metrics::Metrics;
use super::peer::{Peer, Sent};
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
    pub(super) dialect: OnceCell<&'static Dialect>,
    pub(super) prefills: Vec<Arc<Peer>>,
    pub(super) decodes: Vec<Arc<Peer>>,
    pub(super) args: Args,
    /// Requests that were given engines.
    pub(super) turn: AtomicUsize,
    names: RandomState,
    named: AtomicU64,
    pub(super) metrics: Metrics,
    pub(super) journal: Journal,
    pub(super) key: Option<HeaderValue>,
    /// A permit for each byte of a body that is held or may still come.
    pub(super) room: Arc<Semaphore>,
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
    pub(super) fn of(args: Args) -> Result<Self, String> {
        let trusted = |host: &str| Trust::of(host, args.ca_file.as_deref(), args.insecure);
        let peers = |flag: &str, urls: &[String]| {
            let parse = |url: &String| Peer::parse(flag, url, trusted).map(Arc::new);
            urls.iter().map(parse).collect::<Result<Vec<_>, String>>()
        };
        let journal = Journal::open(args.journal.as_deref());
        let journal = journal.map_err(|error| format!("--journal: {error}"))?;
        Ok(Self {
            dialect: OnceCell::new_with(disagg::by_name(&args.dialect)),
            prefills: peers("--prefill", &args.prefill)?,
            decodes: peers("--decode", &args.decode)?,
            turn: AtomicUsize::new(0),
            names: RandomState::new(),
            named: AtomicU64::new(0),
            metrics: Metrics::default(),
            journal,
            key: authorization(args.api_key_env.as_deref(), args.api_key_file.as_deref())?,
            room: Arc::new(Semaphore::new(1 << 30)),
            is_ending: AtomicBool::new(false),
            args,
        })
    }

    /// Prefill and decode engines in the order in which they are asked for a prompt.
    pub(super) fn chosen(&self, prompt: Option<&str>) -> (Vec<Arc<Peer>>, Vec<Arc<Peer>>) {
        let turn = self.turn.fetch_add(1, Relaxed);
        let prefills = order(&self.prefills, self.args.policy, turn, prompt);
        (prefills, order(&self.decodes, self.args.policy, turn, None))
    }

    /// Counts and writes the line of a request that has ended.
    fn write(&self, mut row: Row) {
        if row.kv == Kv::Lease {
            row.lease_s = self.dialect.get().map(|dialect| dialect.lease_s);
        }
        self.metrics.count(&row);
        self.journal.write(&row);
    }

    /// New names; the request's own where it has one.
    pub(super) fn names(&self, request_id: Option<&str>) -> Names {
        let number = self.named.fetch_add(2, Relaxed);
        let (a, b) = (self.names.hash_one(number), self.names.hash_one(number + 1));
        let made = || format!("tplens-{a:016x}{b:016x}");
        Names {
            request_id: request_id.map_or_else(made, str::to_owned),
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

/// A request's account. Dropping it before [`Ticket::end`] is the client that went away.
pub(super) struct Ticket {
    router: Arc<Router>,
    begun: Instant,
    pub(super) row: Row,
    pub(super) held: Option<Held>,
    is_ended: bool,
}

impl Ticket {
    /// A request whose head is there.
    pub(super) fn begun(router: &Arc<Router>, request_id: &str) -> Self {
        router.metrics.in_flight.fetch_add(1, Relaxed);
        Self {
            router: Arc::clone(router),
            begun: Instant::now(),
            row: Row::begun(request_id.to_owned()),
            held: None,
            is_ended: false,
        }
    }

    /// Microseconds since its head was there.
    pub(super) fn now(&self) -> Option<u64> {
        u64::try_from(self.begun.elapsed().as_micros()).ok()
    }

    /// A decode engine is asked now.
    pub(super) fn sent_to(&mut self, peer: &Peer) {
        self.row.decode = Some(peer.name.clone());
        self.row.asked += 1;
        self.row.decode_sent_us = self.now();
    }

    /// Whether the lease of what is held has ended.
    pub(super) fn is_expired(&self) -> bool {
        let held = self.held.as_ref();
        let expires = held.and_then(|held| held.handover.expires_s);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        expires.is_some_and(|at| now.is_ok_and(|now| now.as_secs_f64() > at))
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
        let release = self.router.dialect.get().map(|dialect| dialect.release);
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
        if !self.is_ended {
            // What was asked last is what the client waited for.
            let (code, kv) = match (self.row.prefill_sent_us, self.row.decode_sent_us) {
                (_, Some(_)) => ("client-gone-decode", self.closed()),
                (Some(_), None) => ("client-gone-prefill", Kv::Closed),
                (None, None) => ("client-gone-body", Kv::None),
            };
            self.end(code, kv);
        }
        let (router, mut row) = (Arc::clone(&self.router), std::mem::take(&mut self.row));
        let Some(held) = self.held.take() else {
            router.write(row);
            return;
        };
        // Counted as under way until it is given back, so that the router does not end before.
        router.metrics.in_flight.fetch_add(1, Relaxed);
        tokio::spawn(async move {
            row.kv = match release(&router, &held).await {
                Some(()) => Kv::Released,
                None => Kv::Lease,
            };
            router.write(row);
            router.metrics.in_flight.fetch_sub(1, Relaxed);
        });
    }
}

/// Has a decode engine take what is held for one token; `None` where none does.
async fn release(router: &Router, held: &Held) -> Option<()> {
    let dialect = router.dialect.get()?;
    let body = disagg::Body::read(&held.sent.body).ok()?;
    let bootstrap = held.prefill.bootstrap();
    let leg = held.names.leg(&held.prefill, &bootstrap);
    for pause in PAUSES {
        tokio::time::sleep(pause).await;
        for peer in order(&router.decodes, Policy::LeastLoaded, 0, None) {
            let ask = dialect.release_ask(&body, &leg, &held.handover)?;
            let Ok(exchange) = peer.open().await else {
                continue;
            };
            let request = held.sent.plain(&peer, ask);
            if exchange.whole(request, RELEASE).await.is_ok() {
                return Some(());
            }
        }
    }
    None
}

/// Bytes of a prompt that decide where it goes.
const PREFIX: usize = 2048;

/// An engine with this many requests more than the least loaded gets no more for its prefix.
const AHEAD: usize = 8;

/// The engines in the order in which they are asked: those that can be reached first.
pub(super) fn order(
    peers: &[Arc<Peer>],
    policy: Policy,
    turn: usize,
    prompt: Option<&str>,
) -> Vec<Arc<Peer>> {
    let mut order: Vec<Arc<Peer>> = peers.to_vec();
    let count = order.len().max(1);
    order.rotate_left(turn % count);
    let busy = |peer: &Arc<Peer>| peer.busy.load(Relaxed);
    match (policy, prompt) {
        (Policy::RoundRobin, _) => {}
        (Policy::Prefix, Some(prompt)) => {
            let least = order.iter().map(busy).min().unwrap_or(0);
            let prefix = &prompt.as_bytes()[..prompt.len().min(PREFIX)];
            // The highest of hashes of prompt and name (rendezvous): an engine that comes or goes moves its own prompts only.
            let weight = |peer: &Arc<Peer>| {
                let mut hash = DefaultHasher::new();
                (prefix, &peer.name).hash(&mut hash);
                (busy(peer) < least + AHEAD, hash.finish())
            };
            order.sort_by_key(|peer| std::cmp::Reverse(weight(peer)));
        }
        (Policy::LeastLoaded | Policy::Prefix, _) => order.sort_by_key(busy),
    }
    order.sort_by_key(|peer| !peer.is_up());
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_that_begin_alike_go_to_one_engine_until_it_is_busy() {
        let peer = |port: u16| {
            Peer::parse("", &format!("http://127.0.0.1:{port}"), |_| {
                Err(String::new())
            })
        };
        let peers: Vec<Arc<Peer>> = (1..=4).map(|port| Arc::new(peer(port).unwrap())).collect();
        let first = |turn, prompt: &str| {
            let order = order(&peers, Policy::Prefix, turn, Some(prompt));
            order[0].name.clone()
        };
        let prefix = "p".repeat(PREFIX);
        let home = first(0, &prefix);
        for turn in 1..8 {
            assert_eq!(first(turn, &format!("{prefix}{turn}")), home);
        }
        // Of 64 other beginnings each engine gets some.
        let others: std::collections::BTreeSet<String> =
            (0..64).map(|n| first(0, &format!("{n} other"))).collect();
        assert_eq!(others.len(), 4);
        let busy = peers.iter().find(|peer| peer.name == home).unwrap();
        busy.busy.store(AHEAD, Relaxed);
        assert_ne!(first(0, &prefix), home);
        // The least loaded, and one after the other.
        assert_ne!(order(&peers, Policy::LeastLoaded, 0, None)[0].name, home);
        let turns: Vec<String> = (0..4)
            .map(|turn| {
                order(&peers, Policy::RoundRobin, turn, None)[0]
                    .name
                    .clone()
            })
            .collect();
        assert_eq!(
            turns,
            ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", "127.0.0.1:4"]
        );
    }
}
