//! From a request to its response.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use engine::Limits;
use http_body_util::{BodyExt, Limited};
use hyper::body::Body;
use hyper::header::HeaderValue;
use hyper::{Method, Request, Response, StatusCode};

use super::answer::{self, Reply, SOFT_BOX};
use super::counters::Counters;
use super::dialect::{Dialect, EVENTS};
use super::error::ApiError;
use super::ledger::Arrived;
use super::metrics;
use super::pacer::{Pacer, Tokens};
use super::prompt::Asked;
use super::remote::{FETCH, Part, Remote};
use super::reply::{Endpoint, Head};
use super::setup::{Setup, Speaking};
use super::stream::{Progress, Stream};

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
    speaking: Speaking,
    /// Whether prompts are looked up in the prefix cache.
    prefix_caching: bool,
    /// Its part in serving with others.
    remote: Option<Arc<Remote>>,
    /// Seconds since 1970 at the start.
    started: u64,
    replies: AtomicU64,
}

impl Shared {
    /// Starts the engine.
    pub(super) fn start(setup: Setup) -> std::io::Result<Self> {
        let counters = Arc::new(Counters::default());
        let limits = *setup.engine.limits();
        // A name from a box file may hold anything; a header takes visible ASCII.
        let visible: String = setup
            .soft_box
            .chars()
            .map(|c| if c.is_ascii_graphic() { c } else { '_' })
            .collect();
        let remote = setup.remote.map(|(settings, address)| {
            Arc::new(Remote::new(settings, address, Arc::clone(&counters)))
        });
        Ok(Self {
            remote,
            pacer: Pacer::start(setup.engine, setup.speed, Arc::clone(&counters))?,
            counters,
            speaking: setup.speaking,
            prefix_caching: setup.prefix_caching,
            limits,
            model: setup.model,
            soft_box_header: HeaderValue::from_str(&visible).map_err(std::io::Error::other)?,
            soft_box: setup.soft_box,
            speed: setup.speed,
            started: unix_seconds(),
            replies: AtomicU64::new(0),
        })
    }

    /// The counters.
    pub(super) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Answers a request.
    pub(super) async fn respond<B>(&self, request: Request<B>) -> Response<Reply>
    where
        B: Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let mut response = self.route(request).await;
        response
            .headers_mut()
            .insert(SOFT_BOX, self.soft_box_header.clone());
        response
    }

    async fn route<B>(&self, request: Request<B>) -> Response<Reply>
    where
        B: Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let get = request.method() == Method::GET;
        let post = request.method() == Method::POST;
        let dialect = self.speaking.dialect;
        match request.uri().path() {
            "/health" if get => answer::empty(),
            "/version" if get => {
                answer::json(StatusCode::OK, answer::version(&self.soft_box, self.speed))
            }
            "/v1/models" if get => answer::json(
                StatusCode::OK,
                answer::models(&self.model, self.started, self.limits.max_model_len),
            ),
            FETCH if get => self.fetched(request.headers()).await,
            "/query" if get && self.remote.is_some() => {
                let told = self.remote.as_ref().map(|remote| remote.bootstrap());
                answer::json(StatusCode::OK, told.unwrap_or_default())
            }
            "/server_info" if get && dialect == Dialect::Sglang => {
                let mode = self.remote.as_ref().map(|remote| remote.mode());
                let told = serde_json::json!({"disaggregation_mode": mode});
                answer::json(StatusCode::OK, told.to_string())
            }
            "/metrics" if get => {
                if let Some(remote) = &self.remote {
                    self.counters.kv_held.store(remote.held() as u64, Relaxed);
                }
                let (model, soft_box) = (&self.model, &self.soft_box);
                answer::metrics(metrics::text(dialect, &self.counters, model, soft_box))
            }
            "/v1/completions" if post => self.generate(Endpoint::Completions, request).await,
            "/v1/chat/completions" if post => self.generate(Endpoint::Chat, request).await,
            "/health"
            | "/version"
            | "/v1/models"
            | "/metrics"
            | "/v1/completions"
            | "/v1/chat/completions" => {
                let body = r#"{"detail":"Method Not Allowed"}"#;
                answer::json(StatusCode::METHOD_NOT_ALLOWED, body.to_owned())
            }
            _ => answer::json(
                StatusCode::NOT_FOUND,
                r#"{"detail":"Not Found"}"#.to_owned(),
            ),
        }
    }

    async fn generate<B>(&self, endpoint: Endpoint, request: Request<B>) -> Response<Reply>
    where
        B: Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let id = request.headers().get("x-request-id");
        let id = id.and_then(|id| id.to_str().ok()).map(str::to_owned);
        let (mut asked, body) = match self.read(endpoint, request).await {
            Ok(read) => read,
            Err(error) => return answer::error(&error),
        };
        let part = self
            .remote
            .as_ref()
            .map_or(Part::Plain, |remote| remote.part(&body, id.as_deref()));
        if let Part::Hold { .. } = part {
            asked.output_tokens = 1;
        }
        if let (Part::Fetch { address, key }, Some(remote)) = (&part, &self.remote)
            && let Err(error) = remote.fetch(address, key).await
        {
            return answer::error(&error);
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
        let arrived = Arrived {
            prompt_tokens: asked.prompt_tokens,
            asked_tokens: asked.output_tokens,
            at: Instant::now(),
            is_loaded: matches!(part, Part::Fetch { .. }),
        };
        let tokens = self.pacer.submit(arrived, asked.keys.clone());
        if let (Part::Hold { key, waits }, Some(remote)) = (&part, &self.remote) {
            let whole = self.whole(&head, &asked, tokens).await;
            return match whole {
                Ok(body) => {
                    self.held(remote, key, *waits, asked.prompt_tokens, &body)
                        .await
                }
                Err(error) => answer::error(&error),
            };
        }
        if asked.streamed {
            return self.streamed(&head, &asked, tokens);
        }
        match self.whole(&head, &asked, tokens).await {
            Ok(body) => answer::json(StatusCode::OK, body),
            Err(error) => answer::error(&error),
        }
    }

    /// A prefill engine's reply: its keys and values are held, and it says so, or it waits until they were fetched.
    async fn held(
        &self,
        remote: &Remote,
        key: &str,
        waits: bool,
        tokens: u32,
        body: &str,
    ) -> Response<Reply> {
        let dialect = match (waits, key.starts_with("xfer-")) {
            (true, _) => "sglang",
            (false, true) => "mooncake",
            (false, false) => "nixl",
        };
        let handed = remote.hold(key, tokens, dialect);
        if waits {
            remote.fetched(key).await;
            return answer::json(StatusCode::OK, body.to_owned());
        }
        let told = disagg::Body::read(body.as_bytes()).map_or_else(
            |_| body.to_owned(),
            |body| body.edited(&[("kv_transfer_params", handed)], &[]),
        );
        answer::json(StatusCode::OK, told)
    }

    /// What a decode engine asks for.
    async fn fetched(&self, headers: &hyper::HeaderMap) -> Response<Reply> {
        let tokens = match &self.remote {
            Some(remote) => remote.taken(headers).await,
            None => None,
        };
        match tokens {
            Some(tokens) => answer::json(StatusCode::OK, format!(r#"{{"tokens":{tokens}}}"#)),
            None => answer::error(&ApiError::no_kv()),
        }
    }

    async fn read<B>(
        &self,
        endpoint: Endpoint,
        request: Request<B>,
    ) -> Result<(Asked, bytes::Bytes), ApiError>
    where
        B: Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let body = Limited::new(request.into_body(), LARGEST_BODY)
            .collect()
            .await
            .map_err(|error| ApiError::invalid(format!("the body cannot be read: {error}")))?
            .to_bytes();
        let block = self.prefix_caching.then_some(self.limits.block_tokens);
        let asked = Asked::read(&body, endpoint, &self.model, &self.limits, block)?;
        Ok((asked, body))
    }

    fn streamed(&self, head: &Head, asked: &Asked, tokens: Tokens) -> Response<Reply> {
        let Speaking {
            dialect,
            tokens_per_chunk,
            tells_cached,
        } = self.speaking;
        let stream = Stream {
            tokens,
            chunks: dialect.chunks(head, tells_cached),
            prompt_tokens: asked.prompt_tokens,
            counts: asked.usage,
            tokens_per_chunk,
            progress: Progress::default(),
        };
        answer::bit_by_bit(stream.boxed_unsync(), EVENTS)
    }

    async fn whole(
        &self,
        head: &Head,
        asked: &Asked,
        mut tokens: Tokens,
    ) -> Result<String, ApiError> {
        let mut progress = Progress::default();
        loop {
            let token = tokens.next().await.ok_or_else(ApiError::engine_gone)?;
            progress.add(&token);
            if token.last {
                let usage = progress.usage(asked.prompt_tokens);
                let Speaking {
                    dialect,
                    tells_cached,
                    ..
                } = self.speaking;
                return Ok(dialect.whole(head, usage, tells_cached));
            }
        }
    }
}

fn unix_seconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
