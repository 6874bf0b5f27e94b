//! The server from its first line to the signal that ends it, and from a request to its response.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use engine::{Engine, Limits};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use program::provenance::is_clock_set;
use program::say;
use record::exit;
use runner::Interrupt;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::args::{Args, Fault};
use super::counters::Counters;
use super::dialect::{Chunks, Dialect, Endpoint, Head};
use super::error::ApiError;
use super::pacer::{Arrived, Pacer, Tokens};
use super::prompt::Asked;
use super::remote::{FETCH, Part, Remote};
use super::setup::Setup;
use super::stream::{Progress, Stream, engine_gone};
use crate::listener::{self, JSON, METRICS, Reply, accept, listening, signalled, whole};

/// The header that says which box is simulated.
const SOFT_BOX: &str = "x-tplens-soft-box";

/// Content type of streams.
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream; charset=utf-8");

/// Paths that are there whatever the engine's part.
const GET_ONLY: [&str; 4] = ["/health", "/version", "/v1/models", "/metrics"];
const NOT_FOUND: &str = r#"{"detail":"Not Found"}"#;

/// The largest request body, bytes: some millions of token ids.
const LARGEST_BODY: usize = 32 << 20;

/// Serves until SIGINT, SIGTERM or SIGHUP and returns the exit code: 130, 143 or 129 then, 2 for bad input.
pub(crate) fn run(args: &Args, interrupt: &Interrupt) -> u8 {
    // A date that it cannot write is a panic to hyper.
    if !is_clock_set() {
        say!("error: this machine's clock is before 1970 or after 9999; set it");
        return exit::USAGE;
    }
    listener::run(serve(args, interrupt))
}

async fn serve(args: &Args, interrupt: &Interrupt) -> anyhow::Result<u8> {
    let (setup, engine) = Setup::of(args)?;
    say!(
        "simulated box {}: durations are computed and replies mean nothing; prompt tokens are words",
        setup.soft_box
    );
    let listener = listening(&args.host, args.port).await?;
    let shared = Shared::start(setup, engine, &listener.local_addr()?.to_string())?;
    let (_open, ending) = watch::channel(false);
    let counters = Arc::clone(&shared.counters);
    let respond = move |request| Arc::clone(&shared).respond(request);
    let code = tokio::select! {
        signal = signalled(interrupt) => signal.exit_code(),
        () = accept(&listener, &ending, respond) => exit::INTERNAL,
    };
    say!("{}", counters.line());
    Ok(code)
}

/// What all connections share.
pub(super) struct Shared {
    setup: Setup,
    pacer: Pacer,
    counters: Arc<Counters>,
    limits: Limits,
    /// The box's name as a header can carry it.
    soft_box_header: HeaderValue,
    /// Its part in serving with others.
    remote: Option<Arc<Remote>>,
    /// Seconds since 1970 at the start.
    started: u64,
    replies: AtomicU64,
}

impl Shared {
    /// Starts the engine, which others reach at an address.
    pub(super) fn start(setup: Setup, engine: Engine, address: &str) -> io::Result<Arc<Self>> {
        let counters = Arc::new(Counters::default());
        // A name from a box file may hold anything; a header takes visible ASCII.
        let name = setup.soft_box.chars();
        let visible = name.map(|c| if c.is_ascii_graphic() { c } else { '_' });
        let visible: String = visible.collect();
        let remote = setup
            .args
            .role
            .map(|_| Remote::new(&setup, address, &counters));
        Ok(Arc::new(Self {
            remote: remote.map(Arc::new),
            limits: *engine.limits(),
            pacer: Pacer::start(engine, setup.args.speed, Arc::clone(&counters))?,
            counters,
            soft_box_header: HeaderValue::from_str(&visible).map_err(io::Error::other)?,
            started: unix_seconds(),
            replies: AtomicU64::new(0),
            setup,
        }))
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
        let json = |value: Value| Ok(whole(StatusCode::OK, JSON, value.to_string()));
        let error = |status, text: &'static str| Ok(whole(status, JSON, text));
        let (setup, remote) = (&self.setup, self.remote.as_ref());
        let path = request.uri().path().to_owned();
        let endpoint = match path.as_str() {
            "/v1/completions" => Some(Endpoint::Completions),
            "/v1/chat/completions" => Some(Endpoint::Chat),
            _ => None,
        };
        match (endpoint, request.method()) {
            (Some(endpoint), &Method::POST) => return self.generate(endpoint, request).await,
            (None, &Method::GET) => {}
            _ if endpoint.is_some() || GET_ONLY.contains(&&*path) => {
                let detail = r#"{"detail":"Method Not Allowed"}"#;
                return error(StatusCode::METHOD_NOT_ALLOWED, detail);
            }
            _ => return error(StatusCode::NOT_FOUND, NOT_FOUND),
        }
        match (path.as_str(), remote) {
            ("/health", _) => Ok(whole(StatusCode::OK, "text/plain", "")),
            (FETCH, Some(remote)) => {
                let tokens = remote.taken(request.headers()).await?;
                json(json!({"tokens": tokens}))
            }
            ("/query", Some(remote)) => json(remote.bootstrap()),
            ("/server_info", _) if setup.args.dialect == Dialect::Sglang => {
                let mode = setup.args.role.map(<&str>::from);
                json(json!({"disaggregation_mode": mode}))
            }
            ("/version", _) => json(json!({
                "version": env!("CARGO_PKG_VERSION"),
                "tplens_soft_box": setup.soft_box,
                "tplens_speed": setup.args.speed,
            })),
            ("/v1/models", _) => json(json!({
                "object": "list",
                "data": [{
                    "id": setup.model,
                    "object": "model",
                    "created": self.started,
                    "owned_by": "tplens",
                    "max_model_len": self.limits.max_model_len,
                }],
            })),
            ("/metrics", _) => {
                let held = remote.map_or(0, |remote| remote.held());
                self.counters.kv_held.store(held, Relaxed);
                let (model, soft_box) = (&setup.model, &setup.soft_box);
                let text = self.counters.metrics(setup.args.dialect, model, soft_box);
                Ok(whole(StatusCode::OK, METRICS, text))
            }
            _ => error(StatusCode::NOT_FOUND, NOT_FOUND),
        }
    }

    async fn generate(
        &self,
        endpoint: Endpoint,
        request: Request<Incoming>,
    ) -> Result<Response<Reply>, ApiError> {
        match self.setup.args.fault {
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
        let setup = &self.setup;
        let block = setup
            .args
            .enable_prefix_caching
            .then_some(self.limits.block_tokens);
        let mut asked = Asked::read(&body, endpoint, &setup.model, &self.limits, block)?;
        let remote = self.remote.as_ref();
        let part = remote.and_then(|remote| Some((remote, remote.part(&body, id.as_deref())?)));
        match &part {
            Some((_, Part::Hold { .. })) => asked.request.output_tokens = 1,
            Some((remote, Part::Fetch { address, key })) => remote.fetch(address, key).await?,
            None => {}
        }
        let number = self.replies.fetch_add(1, Relaxed);
        let prefix = match endpoint {
            Endpoint::Completions => "cmpl",
            Endpoint::Chat => "chatcmpl",
        };
        let prompt_tokens = asked.request.prompt_tokens;
        let head = Head {
            dialect: setup.args.dialect,
            endpoint,
            id: format!("{prefix}-{number:016x}"),
            created: unix_seconds(),
            model: setup.model.clone(),
            prompt_tokens,
            tells_cached: setup.args.enable_prefix_caching,
        };
        let tokens = self.pacer.submit(Arrived {
            request: asked.request,
            keys: asked.keys,
            at: Instant::now(),
            is_loaded: matches!(part, Some((_, Part::Fetch { .. }))),
        });
        let body = match (part, asked.streamed) {
            // A prefill engine's keys and values are held, and it says so, or it waits until they were fetched.
            (Some((remote, Part::Hold { key, waits })), _) => {
                let body = replied(&head, tokens).await?;
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
            (_, false) => replied(&head, tokens).await?,
            (_, true) => {
                let stream = Stream {
                    tokens,
                    chunks: Chunks::of(head),
                    counts: asked.usage,
                    tokens_per_chunk: setup.args.tokens_per_chunk,
                    fault: setup.args.fault,
                    progress: Progress::default(),
                };
                let mut response = Response::new(stream.boxed_unsync());
                response.headers_mut().insert(CONTENT_TYPE, EVENTS);
                return Ok(response);
            }
        };
        Ok(whole(StatusCode::OK, JSON, body))
    }
}

/// The whole reply, when its last token is there.
async fn replied(head: &Head, mut tokens: Tokens) -> Result<String, ApiError> {
    let mut given = 0;
    loop {
        let token = tokens.recv().await.ok_or_else(engine_gone)?;
        given += 1;
        if token.last {
            return Ok(head.whole(given, token.cached));
        }
    }
}

fn unix_seconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
