//! The router from its first line to the signal that ends it, and which path is which answer.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::{Method, Request, Response, StatusCode};
use program::{Stop, say};
use record::exit;
use runner::Interrupt;
use tokio::sync::watch;

use super::args::Args;
use super::engines;
use super::flow;
use super::peer::{Failure, Peer, passed_on};
use super::questions::{self, write_counters};
use super::relay::error;
use super::router::Router;
use crate::listener::{self, METRICS, Reply, listening, signalled, whole};

/// How long engines' protocol and counters may take before the first request.
const COUNTERS: Duration = Duration::from_secs(2);

/// How often is looked whether no request is under way.
const IDLE: Duration = Duration::from_millis(20);

/// How often is looked whether all requests have ended.
const LOOK: Duration = Duration::from_millis(10);

/// Routes until SIGINT, SIGTERM or SIGHUP and returns the exit code: 130, 143 or 129 then, 4 for a journal that could not be written.
///
/// # Errors
/// The command line cannot be used, or an engine does not start.
pub(crate) fn run(args: &Args, interrupt: &Interrupt) -> Result<u8, Stop> {
    let (args, _servers) = engines::started(args, interrupt)?;
    let router = Arc::new(Router::of(args).map_err(Stop::Usage)?);
    let code = listener::run(routed(&router, interrupt));
    Ok(match router.journal.is_whole() || code == exit::USAGE {
        true => code,
        false => exit::INTERNAL,
    })
}

async fn routed(router: &Arc<Router>, interrupt: &Interrupt) -> anyhow::Result<u8> {
    let args = &router.args;
    let listener = listening(&args.host, args.port).await?;
    // What can be asked now no request waits for; an engine that does not answer yet is asked by the first.
    let asked = async {
        let _ = questions::dialect(router).await;
        write_counters(router, false).await;
    };
    let _ = tokio::time::timeout(COUNTERS, asked).await;
    let (ending, heard) = watch::channel(false);
    let shared = Arc::clone(router);
    let respond = move |request| {
        let router = Arc::clone(&shared);
        async move { respond(&router, request).await }
    };
    let code = tokio::select! {
        signal = signalled(interrupt) => signal.exit_code(),
        () = listener::accept(&listener, &heard, respond) => exit::INTERNAL,
        () = look_when_idle(router) => exit::INTERNAL,
    };
    drop(listener);
    router.is_ending.store(true, Relaxed);
    let _ = ending.send(true);
    let left = || router.metrics.in_flight.load(Relaxed);
    let drained = async {
        while left() > 0 {
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::select! {
        () = drained => {}
        () = tokio::time::sleep(args.grace) => say!("{} requests cut off after --grace", left()),
    }
    write_counters(router, true).await;
    Ok(code)
}

/// Writes engines' counters whenever all requests have ended: engines may end before the router. Ends only when it is dropped.
async fn look_when_idle(router: &Router) {
    let mut written = 0;
    loop {
        tokio::time::sleep(IDLE).await;
        let begun = router.turn.load(Relaxed);
        if begun != written && router.metrics.in_flight.load(Relaxed) == 0 {
            written = begun;
            write_counters(router, true).await;
        }
    }
}

async fn respond(router: &Arc<Router>, request: Request<Incoming>) -> Response<Reply> {
    let path = request.uri().path().to_owned();
    let method = match &*path {
        "/v1/completions" | "/v1/chat/completions" => Method::POST,
        "/health" | "/metrics" | "/v1/models" | "/version" => Method::GET,
        _ => return error(StatusCode::NOT_FOUND, "path", "the router has no such path"),
    };
    match &*path {
        _ if request.method() != method => {
            let message = "this path has another method";
            error(StatusCode::METHOD_NOT_ALLOWED, "method", message)
        }
        "/health" => health(router),
        "/metrics" => whole(StatusCode::OK, METRICS, router.metrics.text()),
        "/v1/models" | "/version" => decode_answer(router, &path).await,
        _ => flow::generate(router, request).await,
    }
}

/// Whether an engine of each kind could be reached when it was tried last.
fn health(router: &Router) -> Response<Reply> {
    let some = |peers: &[Arc<Peer>]| peers.iter().any(|peer| peer.is_up());
    let is_ending = router.is_ending.load(Relaxed);
    let status = match !is_ending && some(&router.prefills) && some(&router.decodes) {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    whole(status, "text/plain", "")
}

/// What the first decode engine that answers says.
async fn decode_answer(router: &Router, path: &str) -> Response<Reply> {
    for peer in &router.decodes {
        if let Ok(reply) | Err(Failure::Answered(reply)) = questions::get(router, peer, path).await
        {
            return passed_on(reply);
        }
    }
    let message = "no decode engine can be reached";
    error(StatusCode::SERVICE_UNAVAILABLE, "decode-refused", message)
}
