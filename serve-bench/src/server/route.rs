//! From a request to its response.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use engine::Limits;
use http_body_util::{BodyExt, Limited};
use hyper::body::Body;
use hyper::header::HeaderValue;
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::Notify;

use super::answer::{self, SOFT_BOX};
use super::broken::{EndlessLine, Reply, Severed, Trickle};
use super::counters::Counters;
use super::dialect::Told;
use super::error::ApiError;
use super::fault::{Fault, Faults, Kind};
use super::ledger::{Arrived, Ledger, not_reached};
use super::log::{Clock, Log};
use super::pacer::{Pacer, Tokens};
use super::prompt::Asked;
use super::reply::{Endpoint, Head, text};
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
    faults: Faults,
    log: Option<Arc<Log>>,
    clock: Clock,
    /// Whether prompts are looked up in the prefix cache.
    prefix_caching: bool,
    /// Seconds since 1970 at the start.
    started: u64,
    replies: AtomicU64,
    connections: AtomicU64,
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
        let clock = Clock::start();
        let log = setup.log.map(Arc::new);
        let ledger = Ledger::new(clock, log.clone());
        Ok(Self {
            pacer: Pacer::start(setup.engine, setup.speed, Arc::clone(&counters), ledger)?,
            counters,
            speaking: setup.speaking,
            faults: setup.faults,
            log,
            clock,
            prefix_caching: setup.prefix_caching,
            limits,
            model: setup.model,
            soft_box_header: HeaderValue::from_str(&visible).map_err(std::io::Error::other)?,
            soft_box: setup.soft_box,
            speed: setup.speed,
            started: unix_seconds(),
            replies: AtomicU64::new(0),
            connections: AtomicU64::new(0),
        })
    }

    /// How long the next connection waits to be taken.
    pub(super) fn accept_after(&self) -> Option<Duration> {
        let number = self.connections.fetch_add(1, Relaxed);
        self.faults.accept_after(number)
    }

    /// The counters.
    pub(super) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Answers a request; `closing` is told where its connection is to be closed when the reply has ended.
    pub(super) async fn respond<B>(
        &self,
        request: Request<B>,
        closing: &Arc<Notify>,
    ) -> Response<Reply>
    where
        B: Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let mut response = self.route(request, closing).await;
        response
            .headers_mut()
            .insert(SOFT_BOX, self.soft_box_header.clone());
        response
    }

    async fn route<B>(&self, request: Request<B>, closing: &Arc<Notify>) -> Response<Reply>
    where
        B: Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let get = request.method() == Method::GET;
        let post = request.method() == Method::POST;
        let shape = self.speaking.dialect.shape();
        match request.uri().path() {
            "/health" if get => answer::empty(),
            "/version" if get && shape.has_version => {
                answer::json(StatusCode::OK, answer::version(&self.soft_box, self.speed))
            }
            "/v1/models" if get => answer::json(
                StatusCode::OK,
                answer::models(&self.model, self.started, self.limits.max_model_len),
            ),
            "/metrics" if get => {
                let metrics = shape.metrics;
                metrics
                    .text(&self.counters, &self.model, &self.soft_box)
                    .map_or_else(not_found, answer::metrics)
            }
            "/v1/completions" if post => {
                self.generate(Endpoint::Completions, request, closing).await
            }
            "/v1/chat/completions" if post => self.generate(Endpoint::Chat, request, closing).await,
            "/health" | "/v1/models" | "/metrics" | "/v1/completions" | "/v1/chat/completions" => {
                answer::json(
                    StatusCode::METHOD_NOT_ALLOWED,
                    r#"{"detail":"Method Not Allowed"}"#.to_owned(),
                )
            }
            "/version" if shape.has_version => answer::json(
                StatusCode::METHOD_NOT_ALLOWED,
                r#"{"detail":"Method Not Allowed"}"#.to_owned(),
            ),
            _ => not_found(),
        }
    }

    async fn generate<B>(
        &self,
        endpoint: Endpoint,
        request: Request<B>,
        closing: &Arc<Notify>,
    ) -> Response<Reply>
    where
        B: Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let asked = match self.read(endpoint, request).await {
            Ok(asked) => asked,
            Err(error) => return answer::error(&error),
        };
        let number = self.replies.fetch_add(1, Relaxed);
        let fault = self.faults.of_request(number);
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
            number,
            reply: head.id.clone(),
            prompt_tokens: asked.prompt_tokens,
            asked_tokens: asked.output_tokens,
            fault: fault.map(|fault| fault.kind.name()),
            at: Instant::now(),
        };
        if let Some(instead) = fault.and_then(|fault| self.instead(fault)) {
            if let Some(log) = &self.log {
                log.add(&not_reached(arrived, &self.clock));
            }
            return instead.await;
        }
        let tokens = self.pacer.submit(arrived, asked.keys.clone());
        let trouble = fault.and_then(Fault::amid);
        let response = if asked.streamed {
            self.streamed(&head, &asked, tokens, trouble, closing)
        } else {
            match self.whole(&head, &asked, tokens, trouble).await {
                Ok(response) => response,
                Err(error) => answer::error(&error),
            }
        };
        match fault {
            Some(fault) if fault.kind == Kind::Trickle => {
                let every = Duration::from_millis(fault.amount);
                response.map(|body| Trickle::of(body, every))
            }
            _ => response,
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

    /// What a fault answers without the engine; `None` where the engine is asked.
    fn instead(&self, fault: Fault) -> Option<impl Future<Output = Response<Reply>> + use<>> {
        let events = self.speaking.dialect.shape().events.clone();
        let status = u16::try_from(fault.amount).unwrap_or(0);
        let response = match fault.kind {
            Kind::Status => Some(answer::error(&ApiError::on_purpose(status))),
            Kind::ErrorAfter200 => Some(answer::json(
                StatusCode::OK,
                ApiError::on_purpose(500).json(),
            )),
            Kind::EndlessLine => Some(answer::bit_by_bit(EndlessLine::of(fault.amount), events)),
            Kind::NoAnswer => None,
            Kind::Stall | Kind::Cut | Kind::ErrorInStream | Kind::SlowAccept | Kind::Trickle => {
                return None;
            }
        };
        Some(async move {
            match response {
                Some(response) => response,
                None => std::future::pending().await,
            }
        })
    }

    fn streamed(
        &self,
        head: &Head,
        asked: &Asked,
        tokens: Tokens,
        trouble: Option<(Kind, u64)>,
        closing: &Arc<Notify>,
    ) -> Response<Reply> {
        let shape = self.speaking.dialect.shape();
        let wording = self.speaking.wording(asked.token_ids);
        let manner = Manner {
            counts: asked.usage,
            tokens_per_chunk: self.speaking.tokens_per_chunk,
            early_role: self.speaking.early_role,
            ping: self.speaking.ping.filter(|_| shape.pings),
            closing: shape.closes.then(|| Arc::clone(closing)),
            trouble,
        };
        let stream = Stream::new(
            tokens,
            (shape.chunks)(head, wording),
            asked.prompt_tokens,
            manner,
            Arc::clone(&self.counters),
        );
        answer::bit_by_bit(stream.boxed_unsync(), shape.events.clone())
    }

    async fn whole(
        &self,
        head: &Head,
        asked: &Asked,
        mut tokens: Tokens,
        trouble: Option<(Kind, u64)>,
    ) -> Result<Response<Reply>, ApiError> {
        let mut progress = Progress::default();
        loop {
            let reached = |(kind, after)| (u64::from(progress.given()) >= after).then_some(kind);
            match trouble.and_then(reached) {
                Some(Kind::Stall) => {
                    drop(tokens);
                    return std::future::pending().await;
                }
                Some(Kind::Cut) => {
                    let body = self.told(head, asked, &progress);
                    return Ok(answer::broken_json(Severed::half(&body)));
                }
                Some(_) => return Err(ApiError::engine_gone()),
                None => {}
            }
            let token = tokens.next().await.ok_or_else(ApiError::engine_gone)?;
            progress.add(&token);
            if token.last {
                let body = self.told(head, asked, &progress);
                return Ok(answer::json(StatusCode::OK, body));
            }
        }
    }

    /// A reply that is not streamed.
    fn told(&self, head: &Head, asked: &Asked, progress: &Progress) -> String {
        let wording = self.speaking.wording(asked.token_ids);
        let given = progress.given();
        let thought = match head.endpoint {
            Endpoint::Chat => wording.reasoning_tokens.min(given),
            Endpoint::Completions => 0,
        };
        let told = Told {
            content: text(thought, given),
            reasoning: (thought > 0).then(|| text(0, thought)),
            ids: wording.token_ids.then(|| (0..given).collect()),
            tally: progress.tally(asked.prompt_tokens),
            tells_cached: wording.tells_cached,
        };
        (self.speaking.dialect.shape().whole)(head, &told)
    }
}

fn not_found() -> Response<Reply> {
    answer::json(
        StatusCode::NOT_FOUND,
        r#"{"detail":"Not Found"}"#.to_owned(),
    )
}

fn unix_seconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
