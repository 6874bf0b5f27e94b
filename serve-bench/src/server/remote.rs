//! Keys and values of another engine: what a prefill engine holds for a decode engine, under which lease, and the time of the way.
//!
//! The bootstrap server is at the engine's own port. What is held takes no room from the engine's blocks.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use disagg::{Body, KvShape, by_name};
use hyper::header::{HeaderMap, HeaderValue};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::args::{Args, Role};
use super::counters::Counters;
use super::error::ApiError;
use super::setup::Setup;
use crate::route::{Peer, question};

/// Where a decode engine asks for what a prefill engine holds; stands for the connectors' own protocols.
pub(super) const FETCH: &str = "/tplens/kv";

/// The header that names what is asked for.
const KEY: &str = "x-tplens-kv-key";

/// How long a decode engine waits for a prefill engine that works beside it.
const PATIENCE: Duration = Duration::from_secs(30);

/// What begins the names of Mooncake's transfers.
const TRANSFER: &str = "xfer-";

/// An engine's part in serving with others.
pub(super) struct Remote {
    args: Args,
    shape: KvShape,
    /// Such as `127.0.0.1:8100`.
    address: String,
    /// Tokens that are held, and until when.
    held: Mutex<HashMap<String, (u32, Instant)>>,
    changed: Notify,
    /// One transfer at a time has the link.
    link: tokio::sync::Mutex<()>,
    counters: Arc<Counters>,
}

/// What a request wants of another engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// Compute the prompt, and hold its keys and values under this name.
    Hold {
        key: String,
        /// Whether the reply waits until they were fetched, as SGLang's does.
        waits: bool,
    },
    /// Fetch them from this address.
    Fetch { address: String, key: String },
}

/// The members of a body that are meant for connectors.
#[derive(Deserialize)]
struct Wanted {
    kv_transfer_params: Option<Params>,
    bootstrap_host: Option<String>,
    bootstrap_port: Option<u16>,
    bootstrap_room: Option<u64>,
}

#[derive(Default, Deserialize)]
struct Params {
    do_remote_decode: Option<bool>,
    do_remote_prefill: Option<bool>,
    transfer_id: Option<String>,
    remote_request_id: Option<String>,
    remote_bootstrap_addr: Option<String>,
    remote_host: Option<String>,
    remote_port: Option<u16>,
}

/// What is done when a request is given up.
struct GivenUp<F: FnMut()>(F);

impl<F: FnMut()> Drop for GivenUp<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

impl Remote {
    /// A part, at an address.
    pub(super) fn new(setup: &Setup, address: &str, counters: &Arc<Counters>) -> Self {
        Self {
            args: setup.args.clone(),
            shape: setup.shape,
            address: address.to_owned(),
            held: Mutex::default(),
            changed: Notify::new(),
            link: tokio::sync::Mutex::default(),
            counters: Arc::clone(counters),
        }
    }

    /// What a request wants, where it wants something of this role.
    pub(super) fn part(&self, body: &[u8], request_id: Option<&str>) -> Option<Part> {
        let wanted = serde_json::from_slice::<Wanted>(body).ok()?;
        let room = wanted.bootstrap_room.map(|room| format!("room-{room}"));
        let params = wanted.kv_transfer_params.unwrap_or_default();
        let id = request_id.map(str::to_owned);
        let url = |(host, port): (String, u16)| format!("http://{host}:{port}");
        match self.args.role? {
            Role::Prefill => {
                let waits = room.is_some();
                let own = || params.transfer_id.or(id).unwrap_or_default();
                let is_asked = params.do_remote_decode == Some(true);
                let key = room.or_else(|| is_asked.then(own))?;
                Some(Part::Hold { key, waits })
            }
            Role::Decode => {
                let at = wanted.bootstrap_host.zip(wanted.bootstrap_port);
                if let Some((key, at)) = room.zip(at) {
                    return Some(Part::Fetch {
                        address: url(at),
                        key,
                    });
                }
                let key = params.transfer_id.or(params.remote_request_id).or(id);
                let at = params.remote_host.zip(params.remote_port).map(url);
                let address = params.remote_bootstrap_addr.or(at);
                let (address, key) = address.zip(key)?;
                (params.do_remote_prefill == Some(true)).then_some(Part::Fetch { address, key })
            }
        }
    }

    /// Holds a prompt's keys and values until they are fetched or their lease ends, and gives what a reply of vLLM's NIXL connector says
    /// of them.
    pub(super) fn hold(&self, key: &str, tokens: u32, waits: bool) -> String {
        let dialect = match (waits, key.starts_with(TRANSFER)) {
            (true, _) => "sglang",
            (false, true) => "mooncake",
            (false, false) => "nixl",
        };
        let lease = by_name(dialect).map_or(30, |dialect| dialect.lease_s);
        let until = Instant::now() + Duration::from_secs(u64::from(lease));
        self.all().insert(key.to_owned(), (tokens, until));
        self.changed.notify_waiters();
        let (host, port) = self.address.rsplit_once(':').unwrap_or_default();
        let blocks: Vec<u64> = (0..self.shape.blocks(tokens)).collect();
        json!({
            "do_remote_prefill": true,
            "do_remote_decode": false,
            "remote_block_ids": [blocks],
            "remote_engine_id": self.address,
            "remote_request_id": key,
            "remote_host": host,
            "remote_port": port.parse().unwrap_or(0_u16),
            "tp_size": self.args.tensor_parallel_size,
            "remote_num_tokens": tokens,
            "transfer_mode": "pull",
        })
        .to_string()
    }

    /// Requests whose keys and values are held.
    pub(super) fn held(&self) -> u64 {
        self.all().len() as u64
    }

    /// Waits until somebody has fetched what is held under a name; dropped before, it is given up.
    pub(super) async fn fetched(&self, key: &str) {
        let _given_up = GivenUp(|| {
            self.all().remove(key);
        });
        loop {
            let changed = self.changed.notified();
            if !self.all().contains_key(key) {
                return;
            }
            let _ = tokio::time::timeout(Duration::from_secs(1), changed).await;
        }
    }

    /// A decode engine takes what is held under the name that its request has; waits for it to be there.
    pub(super) async fn taken(&self, headers: &HeaderMap) -> Result<u32, ApiError> {
        let key = headers.get(KEY).and_then(|key| key.to_str().ok());
        let key = key.ok_or_else(no_kv)?;
        let begun = Instant::now();
        loop {
            let changed = self.changed.notified();
            if let Some((tokens, _)) = self.all().remove(key) {
                self.changed.notify_waiters();
                return Ok(tokens);
            }
            let left = PATIENCE.saturating_sub(begun.elapsed());
            let waited = tokio::time::timeout(left, changed).await;
            waited.map_err(|_| no_kv())?;
        }
    }

    /// Fetches a prompt's keys and values: the prefill engine must have them, and they take their time on the link.
    pub(super) async fn fetch(self: &Arc<Self>, address: &str, key: &str) -> Result<(), ApiError> {
        // As vLLM's connector: a request that is aborted before frees the prefill engine's blocks.
        let frees = GivenUp(|| {
            if !key.starts_with(TRANSFER) {
                let (address, key) = (address.to_owned(), key.to_owned());
                tokio::spawn(async move { ask(&address, &key).await });
            }
        });
        let tokens = ask(address, key).await;
        std::mem::forget(frees);
        let Some(tokens) = tokens else {
            self.counters.kv_failed.fetch_add(1, Relaxed);
            return Err(no_kv());
        };
        let bytes = self
            .shape
            .sent_bytes(tokens, self.args.tensor_parallel_size);
        let pieces = self.shape.descriptors(tokens, true) as f64;
        let seconds = self.args.kv_link.seconds(bytes, pieces) / self.args.speed;
        let time = Duration::from_secs_f64(seconds);
        // A timer takes a millisecond at least.
        if time > Duration::ZERO {
            let _link = self.link.lock().await;
            tokio::time::sleep(time).await;
        }
        // The link's own time: by how much this machine is late is not the link's.
        self.counters.kv_sent.add(time);
        self.counters.kv_bytes.fetch_add(bytes as u64, Relaxed);
        Ok(())
    }

    /// What is held now, without what a lease has ended.
    fn all(&self) -> MutexGuard<'_, HashMap<String, (u32, Instant)>> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let before = held.len();
        held.retain(|_, (_, until)| *until > now);
        let ended = (before - held.len()) as u64;
        self.counters.kv_expired.fetch_add(ended, Relaxed);
        held
    }

    /// What Mooncake's bootstrap server would tell.
    pub(super) fn bootstrap(&self) -> Value {
        let worker = format!("tcp://{}", self.address);
        json!({"0": {"engine_id": self.address, "worker_addr": {"0": {"0": worker}}}})
    }
}

/// A prefill engine does not have what it should, or cannot be reached; as vLLM with `kv_load_failure_policy` fail.
fn no_kv() -> ApiError {
    ApiError::internal("KV load failure: the prefill engine has no such blocks.")
}

/// Asks a prefill engine for what it holds under a name, which it holds no longer then.
async fn ask(address: &str, key: &str) -> Option<u32> {
    let peer = Peer::parse("", address, |_| Err("no TLS between engines".to_owned())).ok()?;
    let peer = Arc::new(peer);
    let mut headers = HeaderMap::new();
    headers.insert(KEY, HeaderValue::try_from(key).ok()?);
    let exchange = peer.open().await.ok()?;
    let request = question(&peer, FETCH, headers);
    let reply = exchange.whole(request, PATIENCE * 2).await.ok()?;
    let told = Body::read(reply.body()).ok()?;
    serde_json::from_str(told.raw("tokens")?).ok()
}
