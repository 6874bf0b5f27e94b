//! From a client's request to engines and back: who is asked in which order, and what happens when one fails.

use std::sync::Arc;

use disagg::{Body, Dialect, Order};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName};
use hyper::{Request, Response, StatusCode};

use super::answer::{self, Reply};
use super::detect;
use super::journal::Kv;
use super::legs::{self, Failure, Sent, Whole};
use super::peer::{Exchange, Peer};
use super::relay::{Beside, Relay};
use super::router::{Held, Router, Stage, Ticket};

/// The largest body, bytes.
const LARGEST_BODY: usize = 32 << 20;

/// Bytes of all bodies together.
const ALL_BODIES: usize = 1 << 30;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// A request that is understood.
struct Asked<'a> {
    router: &'a Arc<Router>,
    dialect: &'static dyn Dialect,
    body: Body<'a>,
    sent: &'a Sent,
    /// The client's own id.
    id: &'a str,
}

/// What ends a request that gets no stream: the reply, and how the journal calls it.
struct Refusal {
    response: Response<Reply>,
    code: String,
    kv: Kv,
}

/// An engine's reply that has begun well, and the prefill engine that still works beside it.
struct Ready {
    exchange: Exchange,
    response: Response<Incoming>,
    beside: Option<Beside>,
}

type Outcome = Result<Ready, Refusal>;

/// Serves a request from its first byte to the begin of its reply.
pub(super) async fn generate(router: &Arc<Router>, request: Request<Incoming>) -> Response<Reply> {
    let (head, incoming) = request.into_parts();
    let own = head
        .headers
        .get(&REQUEST_ID)
        .and_then(|id| id.to_str().ok());
    let id = own.map_or_else(|| router.names(None).request_id, str::to_owned);
    let mut ticket = Ticket::begun(router, &id);
    let path = head
        .uri
        .path_and_query()
        .map_or("/", |path| path.as_str())
        .to_owned();
    let sent = Sent {
        path,
        headers: legs::kept(&head.headers, router.key.as_ref()),
        body: bytes::Bytes::new(),
    };
    match served(router, &mut ticket, sent, incoming, &id).await {
        Ok(ready) => relayed(router, ticket, ready),
        Err(refusal) => {
            ticket.end(refusal.code, refusal.kv);
            refusal.response
        }
    }
}

async fn served(
    router: &Arc<Router>,
    ticket: &mut Ticket,
    mut sent: Sent,
    incoming: Incoming,
    id: &str,
) -> Outcome {
    use std::sync::atomic::Ordering::Relaxed;

    let busy = |what| own(StatusCode::SERVICE_UNAVAILABLE, "busy", what);
    let bad = |why: &str| own(StatusCode::BAD_REQUEST, "bad-body", why);
    let in_flight = router.metrics.in_flight.load(Relaxed);
    if in_flight > router.max_requests || router.is_ending.load(Relaxed) {
        return Err(busy("too many requests at once"));
    }
    let read = Limited::new(incoming, LARGEST_BODY).collect();
    let Ok(Ok(read)) = tokio::time::timeout(router.timeout, read).await else {
        return Err(bad("the body cannot be read, or is above 32 MiB"));
    };
    sent.body = read.to_bytes();
    if !ticket.holds(sent.body.len(), ALL_BODIES) {
        return Err(busy("too many bytes of requests at once"));
    }
    ticket.row.body_us = ticket.now();
    let body = Body::read(&sent.body).map_err(|error| bad(&error.to_string()))?;
    let dialect = detect::dialect(router).await;
    let dialect = dialect.map_err(|failure| failed("prefill", failure, Kv::None))?;
    dialect.name().clone_into(&mut ticket.row.dialect);
    let cannot =
        |why: disagg::Unsupported| own(StatusCode::BAD_REQUEST, "cannot-split", &why.to_string());
    dialect.check(&body).map_err(cannot)?;
    let asked = Asked {
        router,
        dialect,
        body,
        sent: &sent,
        id,
    };
    match dialect.order() {
        Order::PrefillFirst => asked.one_after_the_other(ticket).await,
        Order::Both => asked.both(ticket).await,
    }
}

impl Asked<'_> {
    fn engines(&self) -> (Vec<Arc<Peer>>, Vec<Arc<Peer>>) {
        let prompt = self
            .body
            .raw("prompt")
            .or_else(|| self.body.raw("messages"));
        self.router.chosen(prompt)
    }

    /// Prefill, and with what it hands over decode.
    async fn one_after_the_other(&self, ticket: &mut Ticket) -> Outcome {
        let (prefills, decodes) = self.engines();
        let names = self.router.names(Some(self.id));
        let mut refusal = failed("prefill", Failure::Refused, Kv::None);
        for peer in prefills {
            let Ok(exchange) = peer.open().await else {
                continue;
            };
            let bootstrap = peer.bootstrap();
            let leg = names.leg(&peer, &bootstrap);
            let Some(ask) = self.dialect.prefill(&self.body, &leg) else {
                continue;
            };
            ticket.stage = Stage::Prefill;
            prefill_sent(ticket, &peer);
            let request = self.sent.plain(&peer, ask);
            let reply = legs::whole(exchange, request, self.router.timeout).await;
            let reply = match reply {
                Ok(reply) => reply,
                Err(Failure::Refused) => continue,
                Err(failure) => return Err(failed("prefill", failure, Kv::Closed)),
            };
            if !reply.status.is_success() {
                let is_last = !reply.is_refusal();
                refusal = answered("prefill", reply, Kv::None);
                if is_last {
                    break;
                }
                continue;
            }
            ticket.row.prefill_reply_us = ticket.now();
            let handed = Body::read(&reply.body).map(|reply| self.dialect.handover(&reply));
            let Ok(Ok(Some(handover))) = handed else {
                let none = disagg::Unsupported::NoHandover.to_string();
                return Err(own(StatusCode::BAD_GATEWAY, "no-hand-over", &none));
            };
            ticket.row.prompt_tokens = handover.prompt_tokens;
            // What is still held when this ends is given back, whatever the last engine said.
            ticket.held = Some(Held {
                handover,
                sent: self.sent.clone(),
                names: names.clone(),
                prefill: Arc::clone(&peer),
            });
            return self.handed_on(ticket, decodes, &leg).await;
        }
        Err(refusal)
    }

    /// Decode engines one after the other, with what a prefill engine holds.
    async fn handed_on(
        &self,
        ticket: &mut Ticket,
        decodes: Vec<Arc<Peer>>,
        leg: &disagg::Leg<'_>,
    ) -> Outcome {
        let mut refusal = failed("decode", Failure::Refused, Kv::Lease);
        for peer in decodes {
            let Ok(mut exchange) = peer.open().await else {
                continue;
            };
            if is_expired(ticket.held.as_ref()) {
                ticket.held = None;
                return Err(own(
                    StatusCode::GATEWAY_TIMEOUT,
                    "expired",
                    "the prefill engine's lease ended before a decode engine was asked",
                ));
            }
            let handover = ticket.held.as_ref().map(|held| &held.handover);
            let ask = self.dialect.decode(&self.body, leg, handover);
            // A client that goes away now closes the decode engine's request, whose abort frees the prefill engine's blocks.
            let held = ticket.held.take();
            decode_sent(ticket, &peer);
            let request = self.sent.request(&peer, ask);
            let reply = legs::head(&mut exchange, request, self.router.timeout).await;
            match reply {
                Ok(response) if response.status().is_success() => {
                    return Ok(Ready {
                        exchange,
                        response,
                        beside: None,
                    });
                }
                Ok(response) => {
                    let reply = legs::rest(exchange, response, self.router.timeout).await;
                    ticket.held = held;
                    let reply = reply.map_err(|_| failed("decode", Failure::Broke, Kv::Lease))?;
                    let is_last = !reply.is_refusal();
                    refusal = answered("decode", reply, Kv::Lease);
                    if is_last {
                        break;
                    }
                }
                Err(Failure::Silent) => {
                    return Err(failed("decode", Failure::Silent, Kv::Closed));
                }
                Err(failure) => {
                    ticket.held = held;
                    refusal = failed("decode", failure, Kv::Lease);
                    if failure == Failure::Broke {
                        break;
                    }
                }
            }
        }
        Err(refusal)
    }

    /// Prefill and decode at once.
    async fn both(&self, ticket: &mut Ticket) -> Outcome {
        let (prefills, decodes) = self.engines();
        let mut refusal = failed("prefill", Failure::Refused, Kv::None);
        for peer in prefills {
            let Ok(prefill) = peer.open().await else {
                continue;
            };
            if self.dialect.needs_engine_id() && detect::engine_id(&peer).await.is_none() {
                continue;
            }
            // Both are reached before either is asked.
            let mut remaining = decodes.iter();
            let decode = reached(&mut remaining).await;
            let none = || failed("decode", Failure::Refused, Kv::None);
            let decode = decode.ok_or_else(none)?;
            let names = self.router.names(Some(self.id));
            let bootstrap = peer.bootstrap();
            let leg = names.leg(&peer, &bootstrap);
            let Some(ask) = self.dialect.prefill(&self.body, &leg) else {
                continue;
            };
            prefill_sent(ticket, &peer);
            let request = self.sent.plain(&peer, ask);
            let beside = legs::whole(prefill, request, self.router.timeout);
            let beside = Beside(tokio::spawn(beside));
            match self.beside(ticket, beside, decode, remaining, &leg).await {
                Ok(ready) => return Ok(ready),
                Err((next, is_last)) => {
                    refusal = next;
                    // An engine that was started again has another name.
                    peer.set_engine_id(None);
                    if is_last {
                        break;
                    }
                }
            }
        }
        Err(refusal)
    }

    /// Decode engines while a prefill engine works; whether the refusal is the last word.
    async fn beside(
        &self,
        ticket: &mut Ticket,
        mut beside: Beside,
        first: Exchange,
        mut remaining: std::slice::Iter<'_, Arc<Peer>>,
        leg: &disagg::Leg<'_>,
    ) -> Result<Ready, (Refusal, bool)> {
        let mut next = Some(first);
        let mut is_prefilled = false;
        let mut refusal = failed("decode", Failure::Refused, Kv::None);
        while let Some(mut exchange) = next.take() {
            let peer = Arc::clone(&exchange.peer);
            decode_sent(ticket, &peer);
            let request = self
                .sent
                .request(&peer, self.dialect.decode(&self.body, leg, None));
            let mut asking = Box::pin(legs::head(&mut exchange, request, self.router.timeout));
            let reply = loop {
                tokio::select! {
                    reply = &mut asking => break reply,
                    prefilled = &mut beside.0, if !is_prefilled => {
                        match prefilled.unwrap_or(Err(Failure::Broke)) {
                            Ok(whole) if whole.status.is_success() => {
                                is_prefilled = true;
                                ticket.row.prefill_reply_us = ticket.now();
                            }
                            Ok(whole) => {
                                let is_last = !whole.is_refusal();
                                return Err((answered("prefill", whole, Kv::None), is_last));
                            }
                            Err(failure) => {
                                let is_last = failure != Failure::Refused;
                                return Err((failed("prefill", failure, Kv::Closed), is_last));
                            }
                        }
                    }
                }
            };
            drop(asking);
            // What a prefill engine that is done holds is freed by nobody where only the lease does.
            let kv = match is_prefilled {
                true => ticket.closed(),
                false => Kv::Closed,
            };
            match reply {
                Ok(response) if response.status().is_success() => {
                    return Ok(Ready {
                        exchange,
                        response,
                        beside: (!is_prefilled).then_some(beside),
                    });
                }
                Ok(response) => {
                    let reply = legs::rest(exchange, response, self.router.timeout).await;
                    let broke = |_| (failed("decode", Failure::Broke, kv), true);
                    let reply = reply.map_err(broke)?;
                    let is_last = !reply.is_refusal();
                    refusal = answered("decode", reply, kv);
                    if is_last {
                        break;
                    }
                }
                // Without the prefill engine's work it has nothing to say.
                Err(Failure::Silent) if !is_prefilled => {
                    refusal = failed("prefill", Failure::Silent, kv);
                    break;
                }
                Err(failure) => {
                    refusal = failed("decode", failure, kv);
                    if failure != Failure::Refused {
                        break;
                    }
                }
            }
            next = reached(&mut remaining).await;
        }
        Err((refusal, true))
    }
}

/// The reply on its way to the client.
fn relayed(router: &Router, mut ticket: Ticket, ready: Ready) -> Response<Reply> {
    ticket.row.decode_head_us = ticket.now();
    let (mut head, body) = ready.response.into_parts();
    head.headers = legs::kept(&head.headers, None);
    let kind = head
        .headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let is_events = kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
        && !head.headers.contains_key(CONTENT_ENCODING);
    let (exchange, beside) = (ready.exchange, ready.beside);
    let relay = Relay::new(body, exchange, ticket, beside, is_events, router.timeout);
    Response::from_parts(head, relay.boxed_unsync())
}

fn prefill_sent(ticket: &mut Ticket, peer: &Peer) {
    ticket.row.prefill = Some(peer.name.clone());
    ticket.row.asked += 1;
    ticket.row.prefill_sent_us = ticket.now();
}

fn decode_sent(ticket: &mut Ticket, peer: &Peer) {
    ticket.stage = Stage::Decode;
    ticket.row.decode = Some(peer.name.clone());
    ticket.row.asked += 1;
    ticket.row.decode_sent_us = ticket.now();
}

/// The next of these engines that can be reached.
async fn reached(peers: &mut std::slice::Iter<'_, Arc<Peer>>) -> Option<Exchange> {
    for peer in peers {
        if let Ok(exchange) = peer.open().await {
            return Some(exchange);
        }
    }
    None
}

fn is_expired(held: Option<&Held>) -> bool {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let expires = held.and_then(|held| held.handover.expires_s);
    expires.is_some_and(|at| now.is_ok_and(|now| now.as_secs_f64() > at))
}

/// A refusal of the router's own.
fn own(status: StatusCode, code: &str, message: &str) -> Refusal {
    Refusal {
        response: answer::error(status, code, message),
        code: code.to_owned(),
        kv: Kv::None,
    }
}

/// An engine that gave no reply.
fn failed(who: &str, failure: Failure, kv: Kv) -> Refusal {
    let code = format!("{who}-{}", failure.code());
    let message = match failure {
        Failure::Refused => format!("no {who} engine can be reached"),
        Failure::Silent => format!("the {who} engine said nothing for too long"),
        Failure::Broke => format!("the {who} engine broke the connection off"),
    };
    Refusal {
        response: answer::error(failure.status(), &code, &message),
        code,
        kv,
    }
}

/// An engine's own reply that is no success, as it came.
fn answered(who: &str, reply: Whole, kv: Kv) -> Refusal {
    let mut response = answer::whole(reply.status, "application/json", reply.body);
    *response.headers_mut() = reply.headers;
    Refusal {
        code: format!("{who}-{}", reply.status.as_u16()),
        response,
        kv,
    }
}
