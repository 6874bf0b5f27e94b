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
use super::router::{Held, Names, Router, Stage, Ticket};

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

type Outcome = Result<Response<Reply>, (Ticket, Refusal)>;

/// Answers a request for tokens.
pub(super) async fn generate(router: &Arc<Router>, request: Request<Incoming>) -> Response<Reply> {
    let (head, incoming) = request.into_parts();
    let own = head
        .headers
        .get(&REQUEST_ID)
        .and_then(|id| id.to_str().ok());
    let id = own.map_or_else(|| router.names(None).request_id, str::to_owned);
    let ticket = Ticket::begun(router, &id);
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
    match served(router, ticket, sent, incoming, &id).await {
        Ok(response) => response,
        Err((mut ticket, refusal)) => {
            ticket.end(refusal.code, refusal.kv);
            refusal.response
        }
    }
}

async fn served(
    router: &Arc<Router>,
    mut ticket: Ticket,
    mut sent: Sent,
    incoming: Incoming,
    id: &str,
) -> Outcome {
    use std::sync::atomic::Ordering::Relaxed;
    let busy = router.metrics.in_flight.load(Relaxed) > router.max_requests;
    if busy || router.is_ending.load(Relaxed) {
        return Err((
            ticket,
            own(
                StatusCode::SERVICE_UNAVAILABLE,
                "busy",
                "too many requests at once",
            ),
        ));
    }
    let read = Limited::new(incoming, LARGEST_BODY).collect();
    sent.body = match tokio::time::timeout(router.timeout, read).await {
        Ok(Ok(body)) => body.to_bytes(),
        _ => {
            return Err((
                ticket,
                own(
                    StatusCode::BAD_REQUEST,
                    "bad-body",
                    "the body cannot be read, or is above 32 MiB",
                ),
            ));
        }
    };
    if !ticket.holds(sent.body.len(), ALL_BODIES) {
        return Err((
            ticket,
            own(
                StatusCode::SERVICE_UNAVAILABLE,
                "busy",
                "too many bytes of requests at once",
            ),
        ));
    }
    ticket.row.body_us = ticket.now();
    let body = match Body::read(&sent.body) {
        Ok(body) => body,
        Err(error) => {
            return Err((
                ticket,
                own(StatusCode::BAD_REQUEST, "bad-body", &error.to_string()),
            ));
        }
    };
    let dialect = match detect::dialect(router).await {
        Ok(dialect) => dialect,
        Err(failure) => return Err((ticket, failed("prefill", failure, Kv::None))),
    };
    dialect.name().clone_into(&mut ticket.row.dialect);
    if let Err(unsupported) = dialect.check(&body) {
        return Err((
            ticket,
            own(
                StatusCode::BAD_REQUEST,
                "cannot-split",
                &unsupported.to_string(),
            ),
        ));
    }
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
        Order::DecodeOnly => asked.decode_only(ticket).await,
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

    async fn one_after_the_other(&self, mut ticket: Ticket) -> Outcome {
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
            ticket.row.prefill = Some(peer.name.clone());
            ticket.row.asked += 1;
            ticket.row.prefill_sent_us = ticket.now();
            let request = self.sent.plain(&peer, ask);
            let reply = legs::whole(exchange, request, self.router.timeout).await;
            let reply = match reply {
                Ok(reply) => reply,
                Err(Failure::Refused) => continue,
                Err(failure) => return Err((ticket, failed("prefill", failure, Kv::Closed))),
            };
            if !reply.status.is_success() {
                let is_last = !reply.is_refusal();
                refusal = answered("prefill", reply, Kv::None);
                if is_last {
                    return Err((ticket, refusal));
                }
                continue;
            }
            ticket.row.prefill_reply_us = ticket.now();
            let handed = Body::read(&reply.body).map(|reply| self.dialect.handover(&reply));
            let handover = match handed {
                Ok(Ok(Some(handover))) => handover,
                _ => {
                    let none = disagg::Unsupported::NoHandover.to_string();
                    return Err((ticket, own(StatusCode::BAD_GATEWAY, "no-hand-over", &none)));
                }
            };
            ticket.row.prompt_tokens = handover.prompt_tokens;
            ticket.held = Some(Held {
                handover,
                sent: self.sent.clone(),
                names: names.clone(),
                prefill: Arc::clone(&peer),
            });
            return self.handed_on(ticket, decodes, &names, &peer).await;
        }
        Err((ticket, refusal))
    }

    /// Asks decode engines with what a prefill engine handed over, until one takes it.
    async fn handed_on(
        &self,
        mut ticket: Ticket,
        decodes: Vec<Arc<Peer>>,
        names: &Names,
        prefill: &Arc<Peer>,
    ) -> Outcome {
        let bootstrap = prefill.bootstrap();
        let leg = names.leg(prefill, &bootstrap);
        // What is still held when this ends is given back, whatever the last engine said.
        let mut refusal = failed("decode", Failure::Refused, Kv::Lease);
        for peer in decodes {
            let Ok(mut exchange) = peer.open().await else {
                continue;
            };
            if is_expired(ticket.held.as_ref()) {
                ticket.held = None;
                return Err((
                    ticket,
                    own(
                        StatusCode::GATEWAY_TIMEOUT,
                        "expired",
                        "the prefill engine's lease ended before a decode engine was asked",
                    ),
                ));
            }
            let handover = ticket.held.as_ref().map(|held| &held.handover);
            let ask = self.dialect.decode(&self.body, &leg, handover);
            let held = ticket.held.take();
            sent_to(&mut ticket, &peer);
            let request = self.sent.request(&peer, ask);
            // A client that goes away now closes the decode engine's request, whose abort frees the prefill engine's blocks.
            let reply = legs::head(&mut exchange, request, self.router.timeout).await;
            match reply {
                Ok(response) if response.status().is_success() => {
                    return Ok(self.relayed(ticket, exchange, response, None));
                }
                Ok(response) => {
                    let reply = legs::rest(exchange, response, self.router.timeout).await;
                    ticket.held = held;
                    let Ok(reply) = reply else {
                        return Err((ticket, failed("decode", Failure::Broke, Kv::Lease)));
                    };
                    let is_last = !reply.is_refusal();
                    refusal = answered("decode", reply, Kv::Lease);
                    if is_last {
                        return Err((ticket, refusal));
                    }
                }
                Err(Failure::Silent) => {
                    return Err((ticket, failed("decode", Failure::Silent, Kv::Closed)));
                }
                Err(failure) => {
                    ticket.held = held;
                    refusal = failed("decode", failure, Kv::Lease);
                    if failure == Failure::Broke {
                        return Err((ticket, refusal));
                    }
                }
            }
        }
        Err((ticket, refusal))
    }

    /// Asks both at once. A decode engine that refuses is replaced while the prefill engine goes on.
    async fn both(&self, mut ticket: Ticket) -> Outcome {
        let (prefills, decodes) = self.engines();
        let mut refusal = failed("prefill", Failure::Refused, Kv::None);
        for peer in prefills {
            // Both are reached before either is asked.
            let Ok(prefill) = peer.open().await else {
                continue;
            };
            if self.dialect.needs_engine_id() && detect::engine_id(&peer).await.is_none() {
                continue;
            }
            let mut remaining = decodes.iter();
            let Some(decode) = reached(&mut remaining).await else {
                return Err((ticket, failed("decode", Failure::Refused, Kv::None)));
            };
            let names = self.router.names(Some(self.id));
            let bootstrap = peer.bootstrap();
            let leg = names.leg(&peer, &bootstrap);
            let Some(ask) = self.dialect.prefill(&self.body, &leg) else {
                continue;
            };
            ticket.row.prefill = Some(peer.name.clone());
            ticket.row.asked += 1;
            ticket.row.prefill_sent_us = ticket.now();
            let request = self.sent.plain(&peer, ask);
            let beside = legs::whole(prefill, request, self.router.timeout);
            let beside = Beside(tokio::spawn(beside));
            match self.beside(ticket, beside, decode, remaining, &leg).await {
                Ok(response) => return Ok(response),
                Err((back, next, is_last)) => {
                    ticket = back;
                    refusal = next;
                    // An engine that was started again has another name.
                    peer.set_engine_id(None);
                    if is_last {
                        break;
                    }
                }
            }
        }
        Err((ticket, refusal))
    }

    /// Asks decode engines while the prefill engine works. The flag of an error says whether another prefill engine must not be asked.
    async fn beside(
        &self,
        mut ticket: Ticket,
        mut beside: Beside,
        first: Exchange,
        mut remaining: std::slice::Iter<'_, Arc<Peer>>,
        leg: &disagg::Leg<'_>,
    ) -> Result<Response<Reply>, (Ticket, Refusal, bool)> {
        let mut next = Some(first);
        let mut is_prefilled = false;
        let mut refusal = failed("decode", Failure::Refused, Kv::None);
        while let Some(mut exchange) = next.take() {
            let peer = Arc::clone(&exchange.peer);
            sent_to(&mut ticket, &peer);
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
                                return Err((ticket, answered("prefill", whole, Kv::None), is_last));
                            }
                            Err(failure) => {
                                let kv = Kv::Closed;
                                return Err((ticket, failed("prefill", failure, kv), failure != Failure::Refused));
                            }
                        }
                    }
                }
            };
            drop(asking);
            // What a prefill engine that is done holds is freed by nobody where only the lease does.
            let kv = if is_prefilled {
                ticket.closed()
            } else {
                Kv::Closed
            };
            match reply {
                Ok(response) if response.status().is_success() => {
                    let beside = (!is_prefilled).then_some(beside);
                    return Ok(self.relayed(ticket, exchange, response, beside));
                }
                Ok(response) => {
                    let reply = legs::rest(exchange, response, self.router.timeout).await;
                    let Ok(reply) = reply else {
                        return Err((ticket, failed("decode", Failure::Broke, kv), true));
                    };
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
        Err((ticket, refusal, true))
    }

    /// Asks a decode engine's sidecar, which asks the prefill engine that is named.
    async fn decode_only(&self, mut ticket: Ticket) -> Outcome {
        let (prefills, decodes) = self.engines();
        let names = self.router.names(Some(self.id));
        let mut refusal = failed("decode", Failure::Refused, Kv::None);
        let Some(prefill) = prefills.first() else {
            return Err((ticket, failed("prefill", Failure::Refused, Kv::None)));
        };
        ticket.row.prefill = Some(prefill.name.clone());
        let bootstrap = prefill.bootstrap();
        let leg = names.leg(prefill, &bootstrap);
        for peer in decodes {
            let Ok(mut exchange) = peer.open().await else {
                continue;
            };
            sent_to(&mut ticket, &peer);
            let request = self
                .sent
                .request(&peer, self.dialect.decode(&self.body, &leg, None));
            match legs::head(&mut exchange, request, self.router.timeout).await {
                Ok(response) if response.status().is_success() => {
                    return Ok(self.relayed(ticket, exchange, response, None));
                }
                Ok(response) => {
                    let reply = legs::rest(exchange, response, self.router.timeout).await;
                    let Ok(reply) = reply else {
                        return Err((ticket, failed("decode", Failure::Broke, Kv::Closed)));
                    };
                    // 502 and 504 are a sidecar's word on the prefill engine: it may have computed the prompt.
                    let is_last = reply.status != StatusCode::SERVICE_UNAVAILABLE;
                    refusal = answered("decode", reply, Kv::None);
                    if is_last {
                        return Err((ticket, refusal));
                    }
                }
                Err(Failure::Refused) => {}
                Err(failure) => return Err((ticket, failed("decode", failure, Kv::Closed))),
            }
        }
        Err((ticket, refusal))
    }

    /// The decode engine's reply for the client.
    fn relayed(
        &self,
        mut ticket: Ticket,
        exchange: Exchange,
        response: Response<Incoming>,
        beside: Option<Beside>,
    ) -> Response<Reply> {
        ticket.row.decode_head_us = ticket.now();
        let (mut head, body) = response.into_parts();
        head.headers = legs::kept(&head.headers, None);
        let kind = head
            .headers
            .get(CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok());
        let is_events = kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
            && !head.headers.contains_key(CONTENT_ENCODING);
        let timeout = self.router.timeout;
        let relay = Relay::new(body, exchange, ticket, beside, is_events, timeout);
        Response::from_parts(head, relay.boxed_unsync())
    }
}

fn sent_to(ticket: &mut Ticket, peer: &Peer) {
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
