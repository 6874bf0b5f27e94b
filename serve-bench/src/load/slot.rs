//! One place for requests: a connection, and one request at a time on it.
//!
//! A connection is used again where the server keeps it. Where the server closes it after a reply, as llama.cpp does a few
//! milliseconds after each stream, every later request of the slot gets a new one, made before its clock starts. A request
//! that fell into that gap is sent once more, and its clock goes on; both are counted.

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Method, StatusCode};
use openai::words;
use record::{RequestError, RequestErrorKind as Kind};

use super::SOFT_BOX_HEADER;
use super::budget::{Budget, TOO_LONG};
use super::connection::Connection;
use super::intake::{Intake, broken, failed};
use super::reply::Reply;
use super::request::Request;
use super::tls::Trust;

/// A server that did not look at a request closes its connection this soon after it arrived; one that closes later may have worked
/// on it.
const UNREAD: Duration = Duration::from_millis(10);

/// A connection that is found closed this soon after a reply was closed because of that reply, not for idleness.
const CLOSED_AFTER_REPLY: Duration = Duration::from_secs(1);

/// How long the end of a body is waited for behind the stream's own end: all that counts is there.
const BEHIND_END: Duration = Duration::from_secs(2);

/// Where and how a request is sent.
#[derive(Debug)]
pub(super) struct Destination {
    /// Addresses to connect to.
    pub(super) addresses: Vec<SocketAddr>,
    /// What every request for tokens begins with, but for the length of its body.
    pub(super) head: Vec<u8>,
    /// Headers of every request, `Host` among them.
    pub(super) headers: HeaderMap<HeaderValue>,
    /// What connections are secured with, if they are.
    pub(super) trust: Option<Trust>,
    /// How long one request may take, connecting included.
    pub(super) timeout: Duration,
    /// What the run may still take in.
    pub(super) budget: Budget,
}

/// The head of a request but for its last line end.
pub(super) fn head(method: &Method, path: &str, headers: &HeaderMap<HeaderValue>) -> Vec<u8> {
    let mut head = format!("{method} {path} HTTP/1.1\r\n").into_bytes();
    for (name, value) in headers {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head
}

/// One place for requests.
pub(super) struct Slot {
    to: Rc<Destination>,
    connection: Option<Connection>,
    /// Whether a reply was read over that connection.
    used: bool,
    /// Whether the server closes connections after replies.
    fresh_each: bool,
    /// When the last reply ended.
    free_since: Option<Instant>,
    /// Connections made anew since the last request.
    made_ahead: u32,
    /// How long making the connection took: a way there and back, or more.
    reach: Duration,
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
            made_ahead: 0,
            reach: Duration::ZERO,
        }
    }

    /// Waits as a person does; that wait is none of the client.
    pub(super) async fn rest(&mut self, time: Duration) {
        tokio::time::sleep(time).await;
        self.free_since = None;
    }

    /// Makes the connection before a phase begins; that it fails is the matter of the first request.
    pub(super) async fn prepare(&mut self) {
        self.connect_ahead().await;
        self.free_since = None;
    }

    /// Makes a connection where there is none that can be used, before a request is there for it.
    pub(super) async fn connect_ahead(&mut self) {
        let mut made = 0;
        drop(tokio::time::timeout(self.to.timeout, self.connect(&mut made)).await);
        self.made_ahead += made;
    }

    /// Sends a request and reads its reply to the end.
    pub(super) async fn ask(&mut self, id: u32, request: &Request) -> Reply {
        let mut reply = Reply::begin(id);
        reply.limit = request.limit;
        reply.reconnects = std::mem::take(&mut self.made_ahead);
        let limit = self.to.timeout;
        let broke = match tokio::time::timeout(limit, self.exchange(request, &mut reply)).await {
            Ok(ended) => ended.err(),
            Err(_) => Some(timed_out(limit)),
        };
        if broke.is_some() {
            // All of it may have come, and only the end of its body not.
            if !reply.content.is_complete {
                reply.ended = Instant::now();
            }
            // What is left of the exchange must not meet the next request.
            self.connection = None;
        }
        reply.content.end(reply.ended);
        reply.turnaround = self
            .free_since
            .map(|free| reply.sent.saturating_duration_since(free));
        // An end that was waited for in vain kept the place.
        self.free_since = Some(match broke {
            Some(_) => Instant::now(),
            None => reply.ended,
        });
        reply.broke = broke;
        reply
    }

    async fn exchange(&mut self, request: &Request, reply: &mut Reply) -> Result<(), RequestError> {
        let length = format!("{}\r\n\r\n", request.body.len());
        let mut first = None;
        loop {
            let used = self.connect(&mut reply.reconnects).await?;
            let Some(connection) = &self.connection else {
                return Err(failed(Kind::CutShort, "the connection was lost"));
            };
            let parts = [&self.to.head[..], length.as_bytes(), &request.body];
            let mut intake = Intake::default();
            let mut sent = reply.sent;
            let written = connection.send(parts, &mut sent).await;
            // A request that is sent again took all that time.
            reply.sent = *first.get_or_insert(sent);
            let ended = match written {
                Ok(written) => receive(connection, &self.to, request, &mut intake, reply)
                    .await
                    .map(|keep| keep && written),
                Err(error) => Err(broken(&error)),
            };
            match ended {
                Ok(keep) => {
                    self.used = true;
                    if !keep {
                        self.connection = None;
                    }
                    return Ok(());
                }
                // The server closed a kept connection while the request was on its way, so it was not looked at.
                Err(error)
                    if error.kind == Kind::CutShort
                        && used
                        && intake.is_untouched()
                        && sent.elapsed() < self.reach * 2 + UNREAD =>
                {
                    reply.resent += 1;
                    self.lost();
                }
                Err(broke) => return Err(broke),
            }
        }
    }

    /// Sees to it that there is a connection; says whether it has carried a reply before.
    async fn connect(&mut self, reconnects: &mut u32) -> Result<bool, RequestError> {
        if let Some(connection) = &self.connection {
            let is_spent = self.used && self.fresh_each;
            if !is_spent && !connection.has_input() {
                return Ok(self.used);
            }
            self.lost();
        }
        if std::mem::take(&mut self.used) {
            *reconnects += 1;
        }
        let begun = Instant::now();
        let opened = Connection::open(&self.to.addresses, self.to.trust.as_ref()).await;
        self.reach = begun.elapsed();
        self.connection = Some(opened.map_err(|error| {
            let kind = match error.kind() {
                std::io::ErrorKind::ConnectionRefused => Kind::Refused,
                _ => Kind::Connect,
            };
            failed(kind, error.to_string())
        })?);
        Ok(false)
    }

    /// Gives up a connection that the server closed, and learns from when it did.
    fn lost(&mut self) {
        self.connection = None;
        let soon = |free: Instant| free.elapsed() < CLOSED_AFTER_REPLY;
        self.fresh_each |= self.used && self.free_since.is_some_and(soon);
    }
}

fn timed_out(limit: Duration) -> RequestError {
    let seen = format!("not done after {} s (--timeout)", limit.as_secs_f64());
    failed(Kind::TimedOut, seen)
}

/// Reads a reply to its end, and says whether the connection can carry another request.
async fn receive(
    connection: &Connection,
    to: &Destination,
    request: &Request,
    intake: &mut Intake,
    reply: &mut Reply,
) -> Result<bool, RequestError> {
    let mut over_since = None;
    loop {
        let before = reply.content.chunks.len();
        let received = connection.receive(|bytes, arrival| {
            reply.reads.add(&arrival);
            // Not before it was asked for, which the two clocks' noise could make it.
            let at = arrival.at().max(reply.sent);
            reply.ended = at;
            let content = &mut reply.content;
            intake.take(bytes, |head, part| {
                content.take(part, at, (200..300).contains(&head.status))
            })
        });
        let left = |since: Instant| BEHIND_END.saturating_sub(since.elapsed());
        let received = match over_since.map(left) {
            None => received.await,
            // A timer only for what comes behind the end.
            Some(limit) => match tokio::time::timeout(limit, received).await {
                Ok(received) => received,
                Err(_) => return Err(timed_out(limit)),
            },
        };
        to.budget.spend(reply.content.chunks.len() - before);
        if to.budget.is_spent() {
            // The run ends here, and what is in flight with it.
            return std::future::pending().await;
        }
        let end = match received {
            Ok(Some(taken)) => taken,
            Ok(None) => intake.closed().map(Some),
            Err(error) => Err(broken(&error)),
        };
        if reply.status.is_none()
            && let Some((head, _)) = &intake.under_way
        {
            reply.status = StatusCode::from_u16(head.status).ok();
            reply.soft_box = head.header(SOFT_BOX_HEADER).map(words);
        }
        let most = request.limit.map(|tokens| tokens as usize * TOO_LONG);
        if let Some(most) = most.filter(|most| reply.content.chunks.len() > *most) {
            let seen =
                format!("more than {most} chunks of tokens came, four for each that was asked for");
            return Err(failed(Kind::ReplyTooLong, seen));
        }
        if let Some(end) = end? {
            return Ok(end);
        }
        if over_since.is_none() && reply.content.is_over {
            over_since = Some(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn where_nothing_listens_a_request_is_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = Destination {
            addresses: vec![listener.local_addr().unwrap()],
            head: Vec::new(),
            headers: HeaderMap::new(),
            trust: None,
            timeout: Duration::from_secs(60),
            budget: Budget::default(),
        };
        drop(listener);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let request = Request {
            body: bytes::Bytes::new(),
            limit: None,
            follows: false,
            think_time: None,
        };
        let reply = runtime.block_on(Slot::new(Rc::new(to)).ask(0, &request));
        let kind = reply.broke.map(|broke| broke.kind);
        assert_eq!(kind, Some(Kind::Refused));
    }
}
