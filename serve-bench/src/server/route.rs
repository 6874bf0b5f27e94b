//! From a request to its response.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

use engine::Limits;
use http_body_util::{BodyExt, Limited};
use hyper::body::Body;
use hyper::header::HeaderValue;
use hyper::{Method, Request, Response, StatusCode};

use super::answer::{self, Reply, SOFT_BOX};
use super::counters::Counters;
use super::error::ApiError;
use super::pacer::Pacer;
use super::prompt::Asked;
use super::reply::{Endpoint, Head, Usage};
use super::setup::Setup;
use super::stream::Stream;

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
                answer::metrics(self.counters.prometheus(&self.model, &self.soft_box))
            }
            "/v1/completions" if post => self.generate(Endpoint::Completions, request).await,
            "/v1/chat/completions" if post => self.generate(Endpoint::Chat, request).await,
            "/health"
            | "/version"
            | "/v1/models"
            | "/metrics"
            | "/v1/completions"
            | "/v1/chat/completions" => answer::json(
                StatusCode::METHOD_NOT_ALLOWED,
                r#"{"detail":"Method Not Allowed"}"#.to_owned(),
            ),
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
        match self.try_generate(endpoint, request).await {
            Ok(response) => response,
            Err(error) => answer::error(&error),
        }
    }

    async fn try_generate<B>(
        &self,
        endpoint: Endpoint,
        request: Request<B>,
    ) -> Result<Response<Reply>, ApiError>
    where
        B: Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let body = Limited::new(request.into_body(), LARGEST_BODY)
            .collect()
            .await
            .map_err(|error| ApiError::invalid(format!("the body cannot be read: {error}")))?
            .to_bytes();
        let asked = Asked::read(&body, endpoint, &self.model, &self.limits)?;
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
        let mut tokens = self.pacer.submit(asked.prompt_tokens, asked.output_tokens);
        if asked.streamed {
            return Ok(answer::events(Stream::new(
                tokens,
                head.chunks(),
                asked.prompt_tokens,
                asked.usage,
                Arc::clone(&self.counters),
            )));
        }
        let mut given = 0;
        loop {
            let token = tokens.next().await.ok_or_else(ApiError::engine_gone)?;
            given += 1;
            if token.last {
                let usage = Usage::new(asked.prompt_tokens, given);
                return Ok(answer::json(StatusCode::OK, head.whole(usage)));
            }
        }
    }
}

fn unix_seconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
