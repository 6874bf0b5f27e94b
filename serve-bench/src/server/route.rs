//! From a request to its response.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use engine::Limits;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::json;

use super::args::Fault;
use super::counters::Counters;
use super::dialect::Dialect;
use super::error::ApiError;
use super::pacer::{Arrived, Pacer, Tokens};
use super::prompt::Asked;
use super::remote::{FETCH, Part, Remote};
use super::reply::{Endpoint, Head};
use super::setup::Setup;
use super::stream::{Progress, Stream, engine_gone};
use crate::listener::{JSON, METRICS, Reply, whole};

/// The header that says which box is simulated.
const SOFT_BOX: &str = "x-tplens-soft-box";

/// Content type of streams.
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream; charset=utf-8");

/// The largest request body, bytes: some millions of token ids.
const LARGEST_BODY: usize = 32 << 20;

/// What all connections share.
pub(super) struct Shared {
    pacer: Pacer,
    counters: Arc<Counters>,
    limits: Limits,
    model: String,
    soft_box: String,
    /// The box's name as a header can carry it.
    soft_box_header: HeaderValue,
    speed: f64,
    dialect: Dialect,
    tokens_per_chunk: u32,
    fault: Option<Fault>,
    /// Whether prompts are looked up in the prefix cache.
    prefix_caching: bool,
    /// Its part in serving with others.
    remote: Option<Arc<Remote>>,
    /// Seconds since 1970 at the start.
    started: u64,
    replies: AtomicU64,
}

impl Shared {
    /// Starts the engine, which others reach at an address.
    pub(super) fn start(setup: Setup, address: &str) -> std::io::Result<Arc<Self>> {
        let counters = Arc::new(Counters::default());
        let limits = *setup.engine.limits();
        // A name from a box file may hold anything; a header takes visible ASCII.
        let name = setup.soft_box.chars();
        let visible: String = name
            .map(|c| if c.is_ascii_graphic() { c } else { '_' })
            .collect();
        let remote = setup
            .remote
            .map(|settings| Remote::new(settings, address.to_owned(), Arc::clone(&counters)));
        Ok(Arc::new(Self {
            remote: remote.map(Arc::new),
            pacer: Pacer::start(setup.engine, setup.speed, Arc::clone(&counters))?,
            counters,
            dialect: setup.dialect,
            tokens_per_chunk: setup.tokens_per_chunk,
            fault: setup.fault,
            prefix_caching: setup.prefix_caching,
            limits,
            model: setup.model,
            soft_box_header: HeaderValue::from_str(&visible).map_err(std::io::Error::other)?,
            soft_box: setup.soft_box,
            speed: setup.speed,
            started: unix_seconds(),
            replies: AtomicU64::new(0),
        }))
    }

    /// The counters.
    pub(super) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Answers requests.
    pub(super) async fn respond(self: Arc<Self>, request: Request<Incoming>) -> Response<Reply> {
        let response = self.route(request).await;
        let mut response = response.unwrap_or_else(|error| error.response());
        let soft_box = self.soft_box_header.clone();
        response.headers_mut().insert(SOFT_BOX, soft_box);
        response
    }

    async fn route(&self, request: Request<Incoming>) -> Result<Response<Reply>, ApiError> {
        let json = |text: String| Ok(whole(StatusCode::OK, JSON, text));
        let error = |status, text: &'static str| Ok(whole(status, JSON, text));
        let path = request.uri().path().to_owned();
        let endpoint = match path.as_str() {
            "/v1/completions" => Some(Endpoint::Completions),
            "/v1/chat/completions" => Some(Endpoint::Chat),
            _ => None,
        };
        let (remote, dialect) = (self.remote.as_ref(), self.dialect);
        let is_known = match path.as_str() {
            "/health" | "/version" | "/v1/models" | "/metrics" => true,
            FETCH | "/query" => remote.is_some(),
            "/server_info" => dialect == Dialect::Sglang,
            _ => endpoint.is_some(),
        };
        if !is_known {
            return error(StatusCode::NOT_FOUND, r#"{"detail":"Not Found"}"#);
        }
        if let Some(endpoint) = endpoint.filter(|_| request.method() == Method::POST) {
            return self.generate(endpoint, request).await;
        }
        if endpoint.is_some() || request.method() != Method::GET {
            let detail = r#"{"detail":"Method Not Allowed"}"#;
            return error(StatusCode::METHOD_NOT_ALLOWED, detail);
        }
        match (path.as_str(), remote) {
            (FETCH, Some(remote)) => {
                let tokens = remote.taken(request.headers()).await?;
                json(json!({"tokens": tokens}).to_string())
            }
            ("/query", Some(remote)) => json(remote.bootstrap()),
            ("/server_info", _) => {
                let mode = remote.map(|remote| remote.mode());
                json(json!({"disaggregation_mode": mode}).to_string())
            }
            ("/version", _) => json(
                json!({
                    "version": env!("CARGO_PKG_VERSION"),
                    "tplens_soft_box": self.soft_box,
                    "tplens_speed": self.speed,
                })
                .to_string(),
            ),
            ("/v1/models", _) => json(self.models()),
            ("/metrics", _) => {
                let held = remote.map_or(0, |remote| remote.held());
                self.counters.kv_held.store(held, Relaxed);
                let text = self.counters.metrics(dialect, &self.model, &self.soft_box);
                Ok(whole(StatusCode::OK, METRICS, text))
            }
            _ => Ok(whole(StatusCode::OK, "text/plain", "")),
        }
    }

    fn models(&self) -> String {
        json!({
            "object": "list",
            "data": [{
                "id": self.model,
                "object": "model",
                "created": self.started,
                "owned_by": "tplens",
                "max_model_len": self.limits.max_model_len,
            }],
        })
        .to_string()
    }

    async fn generate(
        &self,
        endpoint: Endpoint,
        request: Request<Incoming>,
    ) -> Result<Response<Reply>, ApiError> {
        match self.fault {
            Some(Fault::Status(code)) => return Err(ApiError::planted(code)),
            Some(Fault::Slow(ms)) => tokio::time::sleep(Duration::from_millis(ms.into())).await,
            Some(Fault::Stall(_) | Fault::Cut(_)) | None => {}
        }
        let id = request.headers().get("x-request-id");
        let id = id.and_then(|id| id.to_str().ok()).map(str::to_owned);
        let body = Limited::new(request.into_body(), LARGEST_BODY).collect();
        let body = body
            .await
            .map_err(|error| ApiError::invalid(format!("the body cannot be read: {error}")))?;
        let body: Bytes = body.to_bytes();
        let block = self.prefix_caching.then_some(self.limits.block_tokens);
        let mut asked = Asked::read(&body, endpoint, &self.model, &self.limits, block)?;
        let remote = self.remote.as_ref();
        let part = remote.and_then(|remote| Some((remote, remote.part(&body, id.as_deref())?)));
        match &part {
            Some((_, Part::Hold { .. })) => asked.output_tokens = 1,
            Some((remote, Part::Fetch { address, key })) => remote.fetch(address, key).await?,
            None => {}
        }
        let number = self.replies.fetch_add(1, Relaxed);
        let prefix = match endpoint {
            Endpoint::Completions => "cmpl",
            Endpoint::Chat => "chatcmpl",
        };
        let head = Head {
            endpoint,
            id: format!("{prefix}-{number:016x}"),
            created: unix_seconds(),
            model: self.model.clone(),
        };
        let prompt_tokens = asked.prompt_tokens;
        let tokens = self.pacer.submit(Arrived {
            prompt_tokens,
            asked_tokens: asked.output_tokens,
            keys: asked.keys,
            at: Instant::now(),
            is_loaded: matches!(part, Some((_, Part::Fetch { .. }))),
        });
        let body = match (part, asked.streamed) {
            // A prefill engine's keys and values are held, and it says so, or it waits until they were fetched.
            (Some((remote, Part::Hold { key, waits })), _) => {
                let body = self.whole(&head, prompt_tokens, tokens).await?;
                let handed = remote.hold(&key, prompt_tokens, waits);
                if waits {
                    remote.fetched(&key).await;
                    body
                } else {
                    let told = disagg::Body::read(body.as_bytes());
                    let told = told.map(|told| told.edited(&[("kv_transfer_params", handed)], &[]));
                    told.unwrap_or(body)
                }
            }
            (_, true) => return Ok(self.streamed(&head, prompt_tokens, asked.usage, tokens)),
            (_, false) => self.whole(&head, prompt_tokens, tokens).await?,
        };
        Ok(whole(StatusCode::OK, JSON, body))
    }

    fn streamed(
        &self,
        head: &Head,
        prompt_tokens: u32,
        counts: bool,
        tokens: Tokens,
    ) -> Response<Reply> {
        let stream = Stream {
            tokens,
            chunks: self.dialect.chunks(head, self.prefix_caching),
            prompt_tokens,
            counts,
            tokens_per_chunk: self.tokens_per_chunk,
            fault: self.fault,
            progress: Progress::default(),
        };
        let mut response = Response::new(stream.boxed_unsync());
        response.headers_mut().insert(CONTENT_TYPE, EVENTS);
        response
    }

    async fn whole(
        &self,
        head: &Head,
        prompt_tokens: u32,
        mut tokens: Tokens,
    ) -> Result<String, ApiError> {
        let mut progress = Progress::default();
        loop {
            let token = tokens.next().await.ok_or_else(engine_gone)?;
            progress.add(&token);
            if token.last {
                let usage = progress.usage(prompt_tokens);
                return Ok(self.dialect.whole(head, usage, self.prefix_caching));
            }
        }
    }
}

fn unix_seconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
