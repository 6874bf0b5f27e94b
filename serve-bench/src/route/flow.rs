//! From a client's request to engines and back: who is asked in which order, and what happens when one fails.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use bytes::Bytes;
use disagg::{Body, Dialect, Order};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body as _, Incoming};
use hyper::{Request, Response, StatusCode};
use tokio::sync::OwnedSemaphorePermit;

use super::journal::Kv;
use super::peer::{Exchange, Failure, Peer, Sent, kept, passed_on};
use super::questions;
use super::relay::{Begun, Beside, error};
use super::router::{Held, Router, Ticket};
use crate::listener::Reply;

/// The largest body, bytes.
const LARGEST_BODY: usize = 32 << 20;

/// What a client is told of an engine that gave no reply.
const UNREACHED: StatusCode = StatusCode::SERVICE_UNAVAILABLE;
const SILENT: StatusCode = StatusCode::GATEWAY_TIMEOUT;
const BROKE: StatusCode = StatusCode::BAD_GATEWAY;

/// What ends a request that gets no stream: the reply, how the journal calls it, and where its keys and values are.
struct Fault {
    response: Response<Reply>,
    code: String,
    kv: Kv,
    /// Whether another engine may be asked: this one did nothing with the request.
    is_passing: bool,
}

impl Fault {
    /// The router's own.
    fn own(status: StatusCode, code: &str, message: &str) -> Self {
        Self {
            response: error(status, code, message),
            code: code.to_owned(),
            kv: Kv::None,
            is_passing: false,
        }
    }

    /// An engine's. What it answers goes to the client as it came.
    fn of(who: &str, failure: Failure, kv: Kv) -> Self {
        let (status, code, message) = match failure {
            Failure::Answered(reply) => {
                let status = reply.status();
                return Self {
                    code: format!("{who}-{}", status.as_u16()),
                    response: passed_on(reply),
                    kv,
                    // Of a decode engine 502 and 504 are somebody's word on it, or a sidecar's on the prefill engine.
                    is_passing: match who {
                        "prefill" => matches!(status.as_u16(), 502..=504),
                        _ => status == UNREACHED,
                    },
                };
            }
            Failure::Refused => (UNREACHED, "refused", "no such engine can be reached"),
            Failure::Silent => (SILENT, "silent", "it said nothing for too long"),
            Failure::Broke => (BROKE, "broke", "it broke the connection off"),
        };
        let code = format!("{who}-{code}");
        Self {
            response: error(status, &code, &format!("{who} engine: {message}")),
            code,
            kv,
            is_passing: status == UNREACHED,
        }
    }
}

/// A request that is understood.
struct Asked<'a> {
    router: &'a Arc<Router>,
    dialect: &'static Dialect,
    body: Body<'a>,
    sent: &'a Sent,
    /// The client's own id.
    id: &'a str,
}

/// Answers a request for tokens.
pub(super) async fn generate(router: &Arc<Router>, request: Request<Incoming>) -> Response<Reply> {
    let (head, incoming) = request.into_parts();
    let own = head.headers.get("x-request-id");
    let names = router.names(own.and_then(|id| id.to_str().ok()));
    let mut ticket = Ticket::begun(router, &names.request_id);
    let path = head.uri.path_and_query();
    let sent = |(body, room)| Sent {
        _room: room,
        path: path.map_or("/", |path| path.as_str()).to_owned(),
        headers: kept(&head.headers, router.key.as_ref()),
        body,
    };
    let outcome = match read(router, &mut ticket, incoming).await {
        Ok(body) => served(router, &mut ticket, &sent(body), &names.request_id).await,
        Err(fault) => Err(fault),
    };
    match outcome {
        Ok(begun) => begun.relayed(ticket, router.args.timeout),
        Err(fault) => {
            ticket.end(fault.code, fault.kv);
            fault.response
        }
    }
}

/// The whole body, where there is room for it.
async fn read(
    router: &Router,
    ticket: &mut Ticket,
    body: Incoming,
) -> Result<(Bytes, Arc<OwnedSemaphorePermit>), Fault> {
    let in_flight = router.metrics.in_flight.load(Relaxed);
    if in_flight > router.args.max_requests as usize || router.is_ending.load(Relaxed) {
        let message = "too many requests at once";
        return Err(Fault::own(UNREACHED, "busy", message));
    }
    let most = body.size_hint().upper().unwrap_or(u64::MAX);
    let room =
        Arc::clone(&router.room).try_acquire_many_owned(most.min(LARGEST_BODY as u64) as u32);
    let full = |_| Fault::own(UNREACHED, "busy", "too many bytes of requests at once");
    let mut room = room.map_err(full)?;
    let reading = Limited::new(body, LARGEST_BODY).collect();
    let Ok(Ok(body)) = tokio::time::timeout(router.args.timeout, reading).await else {
        let message = "the body cannot be read, or is above 32 MiB";
        return Err(Fault::own(StatusCode::BAD_REQUEST, "bad-body", message));
    };
    ticket.row.body_us = ticket.now();
    let body = body.to_bytes();
    drop(room.split(room.num_permits().saturating_sub(body.len())));
    Ok((body, Arc::new(room)))
}

/// Asks prefill engines in their order, until one is no longer to be replaced by the next.
async fn served(
    router: &Arc<Router>,
    ticket: &mut Ticket,
    sent: &Sent,
    id: &str,
) -> Result<Begun, Fault> {
    let bad = |code, message: String| Fault::own(StatusCode::BAD_REQUEST, code, &message);
    let body = Body::read(&sent.body).map_err(|error| bad("bad-body", error.to_string()))?;
    let dialect = questions::dialect(router).await;
    let dialect = dialect.map_err(|failure| Fault::of("prefill", failure, Kv::None))?;
    dialect.name.clone_into(&mut ticket.row.dialect);
    let checked = dialect.check(&body);
    checked.map_err(|unsupported| bad("cannot-split", unsupported.to_string()))?;
    let prompt = body.raw("prompt").or_else(|| body.raw("messages"));
    let (prefills, decodes) = router.chosen(prompt);
    let asked = Asked {
        router,
        dialect,
        body,
        sent,
        id,
    };
    let mut fault = Fault::of("prefill", Failure::Refused, Kv::None);
    for prefill in prefills {
        fault = match asked.through(ticket, &prefill, &decodes).await {
            Ok(begun) => return Ok(begun),
            Err(fault) => fault,
        };
        // An engine that was started again has another name.
        prefill.set_engine_id(None);
        if !fault.is_passing {
            break;
        }
    }
    Err(fault)
}

impl Asked<'_> {
    /// Has one prefill engine compute the prompt, and asks decode engines until one takes it.
    async fn through(
        &self,
        ticket: &mut Ticket,
        prefill: &Arc<Peer>,
        decodes: &[Arc<Peer>],
    ) -> Result<Begun, Fault> {
        let order = self.dialect.order;
        let of_prefill = |failure| {
            let kv = match failure {
                Failure::Refused | Failure::Answered(_) => Kv::None,
                Failure::Silent | Failure::Broke => Kv::Closed,
            };
            Fault::of("prefill", failure, kv)
        };
        let exchange = match order {
            Order::DecodeOnly => None,
            Order::PrefillFirst | Order::Both => Some(prefill.open().await.map_err(of_prefill)?),
        };
        if self.dialect.needs_engine_id() && questions::engine_id(prefill).await.is_none() {
            return Err(of_prefill(Failure::Refused));
        }
        let mut decodes = decodes.iter();
        // Where both work at once, both are reached before either is asked.
        let mut next = match order {
            Order::Both => reached(&mut decodes).await,
            Order::PrefillFirst | Order::DecodeOnly => None,
        };
        if order == Order::Both && next.is_none() {
            return Err(Fault {
                is_passing: false,
                ..Fault::of("decode", Failure::Refused, Kv::None)
            });
        }
        let names = self.router.names(Some(self.id));
        let bootstrap = prefill.bootstrap();
        let leg = names.leg(prefill, &bootstrap);
        ticket.row.prefill = Some(prefill.name.clone());
        let mut beside = None;
        if let Some((exchange, ask)) = exchange.zip(self.dialect.prefill(&self.body, &leg)) {
            ticket.row.asked += 1;
            ticket.row.prefill_sent_us = ticket.now();
            let asking = exchange.whole(self.sent.plain(prefill, ask), self.router.args.timeout);
            if order == Order::Both {
                beside = Some(Beside(tokio::spawn(asking)));
            } else {
                let reply = asking.await.map_err(of_prefill)?;
                ticket.row.prefill_reply_us = ticket.now();
                let handed = Body::read(reply.body()).map(|reply| self.dialect.handover(&reply));
                let Ok(Ok(Some(handover))) = handed else {
                    let none = disagg::Unsupported::NoHandover.to_string();
                    return Err(Fault::own(BROKE, "no-hand-over", &none));
                };
                ticket.row.prompt_tokens = handover.prompt_tokens;
                ticket.held = Some(Held {
                    handover,
                    sent: self.sent.clone(),
                    names: names.clone(),
                    prefill: Arc::clone(prefill),
                });
            }
        }
        let mut fault = Fault::of("decode", Failure::Refused, self.left(ticket, order));
        loop {
            let reached = match next.take() {
                None => reached(&mut decodes).await,
                first => first,
            };
            let Some(exchange) = reached else { break };
            if ticket.is_expired() {
                ticket.held = None;
                let message = "the prefill engine's lease ended before a decode engine was asked";
                return Err(Fault::own(StatusCode::GATEWAY_TIMEOUT, "expired", message));
            }
            // A client that goes away now closes the decode engine's request, whose abort frees the prefill engine's blocks.
            let held = ticket.held.take();
            let handover = held.as_ref().map(|held| &held.handover);
            let ask = self.dialect.decode(&self.body, &leg, handover);
            ticket.sent_to(&exchange.peer);
            let request = self.sent.request(&exchange.peer, ask);
            let mut asking = Box::pin(exchange.begun(request, self.router.args.timeout));
            let reply = loop {
                tokio::select! {
                    reply = &mut asking => break reply,
                    prefilled = done(&mut beside) => {
                        beside = None;
                        prefilled.map_err(of_prefill)?;
                        ticket.row.prefill_reply_us = ticket.now();
                    }
                }
            };
            let failure = match reply {
                Ok((exchange, response)) => return Ok(Begun(exchange, response, beside)),
                Err(failure) => failure,
            };
            let (mut who, mut kv) = ("decode", self.left(ticket, order));
            match (order, &failure) {
                // Without the prefill engine's work it has nothing to say.
                (Order::Both, Failure::Silent) if beside.is_some() => who = "prefill",
                (Order::DecodeOnly, Failure::Silent | Failure::Broke)
                | (Order::PrefillFirst, Failure::Silent) => kv = Kv::Closed,
                // What is still held when this ends is given back, whatever the last engine said.
                _ => ticket.held = held,
            }
            fault = Fault::of(who, failure, kv);
            if !fault.is_passing {
                break;
            }
        }
        Err(Fault {
            is_passing: false,
            ..fault
        })
    }

    /// Where keys and values are when no decode engine took them: of both at once what a prefill engine that is done holds is freed by
    /// nobody where only the lease does.
    fn left(&self, ticket: &Ticket, order: Order) -> Kv {
        match order {
            Order::PrefillFirst => Kv::Lease,
            Order::Both if ticket.row.prefill_reply_us.is_some() => ticket.closed(),
            Order::Both => Kv::Closed,
            Order::DecodeOnly => Kv::None,
        }
    }
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

/// Waits for a prefill engine that works beside; without one for ever.
async fn done(beside: &mut Option<Beside>) -> Result<(), Failure> {
    let Some(Beside(task)) = beside else {
        return std::future::pending().await;
    };
    task.await.unwrap_or(Err(Failure::Broke)).map(drop)
}
