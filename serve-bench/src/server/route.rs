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
use super::dialect::EVENTS;
use super::error::ApiError;
use super::ledger::Arrived;
use super::pacer::{Pacer, Tokens};
use super::prompt::Asked;
use super::reply::{Endpoint, Head};
use super::setup::{Setup, Speaking};
use super::stream::{Manner, Progress, Stream};

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
        Ok(Self {
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
            "/metrics" if get => {
                let metrics = dialect.metrics();
                answer::metrics(metrics.text(&self.counters, &self.model, &self.soft_box))
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
        let asked = match self.read(endpoint, request).await {
            Ok(asked) => asked,
            Err(error) => return answer::error(&error),
        };
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
        };
        let tokens = self.pacer.submit(arrived, asked.keys.clone());
        if asked.streamed {
            return self.streamed(&head, &asked, tokens);
        }
        match self.whole(&head, &asked, tokens).await {
            Ok(response) => response,
            Err(error) => answer::error(&error),
        }
    }

    async fn read<B>(&self, endpoint: Endpoint, request: Request<B>) -> Result<Asked, ApiError>
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
        Asked::read(&body, endpoint, &self.model, &self.limits, block)
    }

    fn streamed(&self, head: &Head, asked: &Asked, tokens: Tokens) -> Response<Reply> {
        let Speaking {
            dialect,
            tokens_per_chunk,
            tells_cached,
        } = self.speaking;
        let manner = Manner {
            counts: asked.usage,
            tokens_per_chunk,
        };
        let chunks = dialect.chunks(head, tells_cached);
        let stream = Stream::new(tokens, chunks, asked.prompt_tokens, manner);
        answer::bit_by_bit(stream.boxed_unsync(), EVENTS)
    }

    async fn whole(
        &self,
        head: &Head,
        asked: &Asked,
        mut tokens: Tokens,
    ) -> Result<Response<Reply>, ApiError> {
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
                let body = dialect.whole(head, usage, tells_cached);
                return Ok(answer::json(StatusCode::OK, body));
            }
        }
    }
}

fn unix_seconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
