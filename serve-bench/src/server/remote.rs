//! Keys and values of another engine: what a prefill engine holds for a decode engine, under which lease, and the time of the way.
//!
//! The bootstrap server is at the engine's own port. What is held takes no room from the engine's blocks.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use disagg::{Body, KvShape, LinkLaw, by_name};
use hyper::header::{HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use super::args::Role;
use super::counters::Counters;
use super::error::ApiError;
use crate::route::{Peer, question};

/// Where a decode engine asks for what a prefill engine holds; stands for the connectors' own protocols.
pub(super) const FETCH: &str = "/tplens/kv";

/// The header that names what is asked for.
const KEY: &str = "x-tplens-kv-key";

/// How long a decode engine waits for a prefill engine that works beside it.
const PATIENCE: Duration = Duration::from_secs(30);

/// An engine's part in serving with others.
pub(super) struct Remote {
    settings: Settings,
    /// Such as `127.0.0.1:8100`.
    address: String,
    held: Mutex<HashMap<String, Held>>,
    changed: Notify,
    /// One transfer at a time has the link.
    link: tokio::sync::Mutex<()>,
    counters: Arc<Counters>,
}

#[derive(Debug, Clone, Copy)]
struct Held {
    tokens: u32,
    until: Instant,
}

/// What a request wants of another engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// Nothing.
    Plain,
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

#[derive(Deserialize)]
struct Params {
    do_remote_decode: Option<bool>,
    do_remote_prefill: Option<bool>,
    transfer_id: Option<String>,
    remote_request_id: Option<String>,
    remote_bootstrap_addr: Option<String>,
    remote_host: Option<String>,
    remote_port: Option<u16>,
}

/// What a prefill engine of vLLM's NIXL connector replies.
#[derive(Serialize)]
struct Handed<'a> {
    do_remote_prefill: bool,
    do_remote_decode: bool,
    remote_block_ids: [Vec<u64>; 1],
    remote_engine_id: &'a str,
    remote_request_id: &'a str,
    remote_host: &'a str,
    remote_port: u16,
    tp_size: u32,
    remote_num_tokens: u32,
    transfer_mode: &'static str,
}

impl Remote {
    /// A part in a role, at an address.
    pub(super) fn new(settings: Settings, address: String, counters: Arc<Counters>) -> Self {
        Self {
            settings,
            address,
            held: Mutex::default(),
            changed: Notify::new(),
            link: tokio::sync::Mutex::default(),
            counters,
        }
    }

    /// What a request wants; in the other role nothing.
    pub(super) fn part(&self, body: &[u8], request_id: Option<&str>) -> Part {
        let Ok(wanted) = serde_json::from_slice::<Wanted>(body) else {
            return Part::Plain;
        };
        let room = wanted.bootstrap_room.map(|room| format!("room-{room}"));
        let params = wanted.kv_transfer_params;
        match self.settings.role {
            Role::Prefill => {
                let asks = |params: &Params| params.do_remote_decode == Some(true);
                let own = params.filter(asks).map(|params| {
                    let id = request_id.map(str::to_owned);
                    params.transfer_id.or(id).unwrap_or_default()
                });
                let waits = room.is_some();
                room.or(own)
                    .map_or(Part::Plain, |key| Part::Hold { key, waits })
            }
            Role::Decode => {
                let of_room = room.zip(wanted.bootstrap_host.zip(wanted.bootstrap_port));
                if let Some((key, (host, port))) = of_room {
                    let address = format!("http://{host}:{port}");
                    return Part::Fetch { address, key };
                }
                let asks = |params: &Params| params.do_remote_prefill == Some(true);
                let Some(params) = params.filter(asks) else {
                    return Part::Plain;
                };
                let id = request_id.map(str::to_owned);
                let key = params.transfer_id.or(params.remote_request_id).or(id);
                let at = params.remote_host.zip(params.remote_port);
                let at = at.map(|(host, port)| format!("http://{host}:{port}"));
                match (params.remote_bootstrap_addr.or(at), key) {
                    (Some(address), Some(key)) => Part::Fetch { address, key },
                    _ => Part::Plain,
                }
            }
        }
    }

    /// Holds a prompt's keys and values until they are fetched or their lease ends, and gives what the reply says of them.
    pub(super) fn hold(&self, key: &str, tokens: u32, dialect: &str) -> String {
        let lease = by_name(dialect).map_or(30, |dialect| dialect.lease().seconds);
        let until = Instant::now() + Duration::from_secs(u64::from(lease));
        self.all().insert(key.to_owned(), Held { tokens, until });
        self.changed.notify_waiters();
        let (host, port) = self.address.rsplit_once(':').unwrap_or_default();
        let handed = Handed {
            do_remote_prefill: true,
            do_remote_decode: false,
            remote_block_ids: [(0..self.settings.shape.blocks(tokens)).collect()],
            remote_engine_id: &self.address,
            remote_request_id: key,
            remote_host: host,
            remote_port: port.parse().unwrap_or(0),
            tp_size: self.settings.tp,
            remote_num_tokens: tokens,
            transfer_mode: "pull",
        };
        serde_json::to_string(&handed).unwrap_or_default()
    }

    /// Requests whose keys and values are held.
    pub(super) fn held(&self) -> usize {
        self.all().len()
    }

    /// Waits until somebody has fetched what is held under a name; dropped before, it is given up.
    pub(super) async fn fetched(&self, key: &str) {
        let _gives_up = GivesUp { remote: self, key };
        loop {
            let changed = self.changed.notified();
            if !self.all().contains_key(key) {
                return;
            }
            let _ = tokio::time::timeout(Duration::from_secs(1), changed).await;
        }
    }

    /// A decode engine takes what is held under the name that its request has; waits for it to be there.
    pub(super) async fn taken(&self, headers: &HeaderMap) -> Option<u32> {
        let key = headers.get(KEY)?.to_str().ok()?;
        let begun = Instant::now();
        loop {
            let changed = self.changed.notified();
            if let Some(held) = self.all().remove(key) {
                self.changed.notify_waiters();
                return Some(held.tokens);
            }
            let left = PATIENCE.checked_sub(begun.elapsed())?;
            tokio::time::timeout(left, changed).await.ok()?;
        }
    }

    /// Fetches a prompt's keys and values: the prefill engine must have them, and they take their time on the link.
    pub(super) async fn fetch(self: &Arc<Self>, address: &str, key: &str) -> Result<(), ApiError> {
        // As vLLM's connector: a request that is aborted before frees the prefill engine's blocks.
        let mut frees = Frees {
            remote: self,
            address,
            key,
            is_armed: !key.starts_with("xfer-"),
        };
        let tokens = self.ask(address, key).await;
        frees.is_armed = false;
        let Some(tokens) = tokens else {
            self.counters.kv_failed.fetch_add(1, Relaxed);
            return Err(ApiError::no_kv());
        };
        let bytes = self.settings.shape.sent_bytes(tokens, self.settings.tp);
        #[expect(clippy::cast_precision_loss, reason = "pieces of a prompt")]
        let pieces = self.settings.shape.descriptors(tokens, true) as f64;
        let seconds = self.settings.law.seconds(bytes, pieces);
        let time = Duration::from_secs_f64(seconds / self.settings.speed);
        // A timer takes a millisecond at least.
        if time > Duration::ZERO {
            let _link = self.link.lock().await;
            tokio::time::sleep(time).await;
        }
        // The link's own time: by how much this machine is late is not the link's.
        self.counters.kv_sent.add(time);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "bytes"
        )]
        self.counters.kv_bytes.fetch_add(bytes as u64, Relaxed);
        Ok(())
    }

    async fn ask(&self, address: &str, key: &str) -> Option<u32> {
        let peer = Peer::parse(address, |_| Err("no TLS between engines".to_owned())).ok()?;
        let peer = Arc::new(peer);
        let mut headers = HeaderMap::new();
        headers.insert(KEY, HeaderValue::try_from(key).ok()?);
        let exchange = peer.open().await.ok()?;
        let request = question(&peer, FETCH, headers);
        let reply = crate::route::whole(exchange, request, PATIENCE * 2)
            .await
            .ok()?;
        let told = Body::read(&reply.body)
            .ok()
            .filter(|_| reply.status.is_success())?;
        serde_json::from_str(told.raw("tokens")?).ok()
    }

    /// What is held now, without what a lease has ended.
    fn all(&self) -> std::sync::MutexGuard<'_, HashMap<String, Held>> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let before = held.len();
        held.retain(|_, held| held.until > now);
        let ended = (before - held.len()) as u64;
        self.counters.kv_expired.fetch_add(ended, Relaxed);
        held
    }

    /// Which mode an engine says that it is in.
    pub(super) fn mode(&self) -> &'static str {
        match self.settings.role {
            Role::Prefill => "prefill",
            Role::Decode => "decode",
        }
    }

    /// What Mooncake's bootstrap server would tell.
    pub(super) fn bootstrap(&self) -> String {
        let id = serde_json::Value::from(self.address.as_str());
        format!(
            r#"{{"0":{{"engine_id":{id},"worker_addr":{{"0":{{"0":"tcp://{}"}}}}}}}}"#,
            self.address
        )
    }
}

/// What decides a part.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) role: Role,
    pub(super) law: LinkLaw,
    pub(super) shape: KvShape,
    pub(super) tp: u32,
    pub(super) speed: f64,
}

/// A prefill request whose client has gone before its keys and values were fetched.
struct GivesUp<'a> {
    remote: &'a Remote,
    key: &'a str,
}

impl Drop for GivesUp<'_> {
    fn drop(&mut self) {
        self.remote.all().remove(self.key);
    }
}

/// A decode request that was given up before it had its keys and values.
struct Frees<'a> {
    remote: &'a Arc<Remote>,
    address: &'a str,
    key: &'a str,
    is_armed: bool,
}

impl Drop for Frees<'_> {
    fn drop(&mut self) {
        if self.is_armed {
            let remote = Arc::clone(self.remote);
            let (address, key) = (self.address.to_owned(), self.key.to_owned());
            tokio::spawn(async move {
                let _ = remote.ask(&address, &key).await;
            });
        }
    }
}
