//! One place in the closed loop: a connection, and one request at a time on it.
//!
//! A connection is used again where the server keeps it. Where the server closes it after a reply, as llama.cpp does a few
//! milliseconds after each stream, every later request of the slot gets a new one, made before its clock starts. A request
//! that fell into that gap is sent once more; both are counted.

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Method, Request, Uri};

use super::SOFT_BOX_HEADER;
use super::connection::Connection;
use super::reply::{Broke, Reply};

/// No reply of a serving engine is larger; what comes beyond is not kept.
const MAX_REPLY_BYTES: usize = 1 << 30;

/// A connection that is found closed this soon after a reply was closed because of that reply, not for idleness.
const CLOSED_AFTER_REPLY: Duration = Duration::from_secs(1);

/// Where and how a request is sent.
#[derive(Debug)]
pub(super) struct Destination {
    /// Addresses to connect to.
    pub(super) addresses: Vec<SocketAddr>,
    /// Path of the endpoint.
    pub(super) path: Uri,
    /// Headers of every request, `Host` among them.
    pub(super) headers: HeaderMap<HeaderValue>,
    /// How long one request may take, connecting included.
    pub(super) timeout: Duration,
}

impl Destination {
    /// A request with this body.
    pub(super) fn post(&self, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.path.clone();
        *request.headers_mut() = self.headers.clone();
        request
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request
    }
}

/// One place in the closed loop.
pub(super) struct Slot {
    to: Rc<Destination>,
    connection: Option<Connection>,
    /// Whether a reply was read over that connection.
    used: bool,
    /// Whether the server closes connections after replies.
    fresh_each: bool,
    /// When the last reply ended.
    free_since: Option<Instant>,
}

impl Slot {
    /// A place without a connection.
    pub(super) fn new(to: Rc<Destination>) -> Self {
        Self {
            to,
            connection: None,
            used: false,
            fresh_each: false,
            free_since: None,
        }
    }

    /// Makes the connection before a phase begins; that it fails is the matter of the first request.
    pub(super) async fn prepare(&mut self) {
        self.free_since = None;
        drop(tokio::time::timeout(self.to.timeout, self.connect(&mut 0)).await);
    }

    /// Sends a request and reads its reply to the end.
    pub(super) async fn ask(&mut self, id: u32, body: Bytes) -> Reply {
        let mut reply = Reply::begin(id);
        let limit = self.to.timeout;
        let broke = match tokio::time::timeout(limit, self.exchange(body, &mut reply)).await {
            Ok(ended) => ended.err(),
            Err(_) => Some(Broke::TimedOut(limit)),
        };
        if broke.is_some() {
            if let Some(sent) = self.connection.as_ref().and_then(Connection::sent) {
                reply.sent = sent;
            }
            reply.ended = Instant::now();
            // What is left of the exchange must not meet the next request.
            self.connection = None;
        }
        reply.turnaround = self
            .free_since
            .map(|free| reply.sent.saturating_duration_since(free));
        self.free_since = Some(reply.ended);
        reply.broke = broke;
        reply
    }

    async fn exchange(&mut self, body: Bytes, reply: &mut Reply) -> Result<(), Broke> {
        loop {
            let used = self.connect(&mut reply.reconnects).await?;
            let Some(connection) = &mut self.connection else {
                return Err(Broke::Cut("the connection was lost".to_owned()));
            };
            let response = match connection.send(self.to.post(body.clone())).await {
                Ok(response) => response,
                // The server closed a kept connection while the request was on its way, so it was not looked at.
                Err(error) if used && !error.is_parse() => {
                    self.lost();
                    continue;
                }
                Err(error) => return Err(broke(&error)),
            };
            if let Some(sent) = connection.sent() {
                reply.sent = sent;
            }
            let (head, mut incoming) = response.into_parts();
            reply.status = Some(head.status);
            reply.soft_box = head
                .headers
                .get(SOFT_BOX_HEADER)
                .map(|name| String::from_utf8_lossy(name.as_bytes()).into_owned());
            let mut bytes = 0;
            while let Some(frame) = connection.frame(&mut incoming).await {
                let read = connection.last_read().unwrap_or_else(Instant::now);
                let frame = frame.map_err(|error| broke(&error))?;
                if let Ok(data) = frame.into_data() {
                    bytes += data.len();
                    if bytes > MAX_REPLY_BYTES {
                        return Err(Broke::TooLarge);
                    }
                    reply.frames.push((read, data));
                }
            }
            reply.ended = connection.last_read().unwrap_or_else(Instant::now);
            self.used = true;
            return Ok(());
        }
    }

    /// Sees to it that there is a connection; says whether it has carried a reply before.
    async fn connect(&mut self, reconnects: &mut u32) -> Result<bool, Broke> {
        if let Some(connection) = &mut self.connection {
            if !(self.used && self.fresh_each) && connection.is_open().await {
                return Ok(self.used);
            }
            self.lost();
        }
        if std::mem::take(&mut self.used) {
            *reconnects += 1;
        }
        let opened = Connection::open(&self.to.addresses).await;
        self.connection = Some(opened.map_err(|error| Broke::Connect(error.to_string()))?);
        Ok(false)
    }

    /// Gives up a connection that the server closed, and learns from when it did.
    fn lost(&mut self) {
        self.connection = None;
        let soon = |free: Instant| free.elapsed() < CLOSED_AFTER_REPLY;
        self.fresh_each |= self.used && self.free_since.is_some_and(soon);
    }
}

fn broke(error: &hyper::Error) -> Broke {
    if error.is_parse() {
        Broke::NotHttp(words(error))
    } else {
        Broke::Cut(words(error))
    }
}

/// What hyper says, with the system's reason below it.
pub(super) fn words(error: &hyper::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(below) = source {
        text.push_str(&format!(": {below}"));
        source = below.source();
    }
    text
}
