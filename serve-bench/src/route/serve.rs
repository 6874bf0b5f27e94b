//! Connections of clients, and which path is which answer.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::answer::{self, Reply};
use super::peer::Peer;
use super::router::Router;
use super::{detect, flow};

/// Serves one connection to its end; when `ending` changes, to the end of its request.
pub(super) async fn connection(
    socket: TcpStream,
    router: Arc<Router>,
    mut ending: watch::Receiver<bool>,
) {
    let service = service_fn(|request| {
        let router = Arc::clone(&router);
        async move { Ok::<_, Infallible>(respond(&router, request).await) }
    });
    let serving = http1::Builder::new().serve_connection(TokioIo::new(socket), service);
    tokio::pin!(serving);
    // A client that breaks off is no error; its requests are closed with their futures and bodies.
    tokio::select! {
        _ = serving.as_mut() => return,
        _ = ending.wait_for(|ending| *ending) => serving.as_mut().graceful_shutdown(),
    }
    drop(serving.await);
}

async fn respond(router: &Arc<Router>, request: Request<Incoming>) -> Response<Reply> {
    let get = request.method() == Method::GET;
    let post = request.method() == Method::POST;
    match request.uri().path() {
        "/v1/completions" | "/v1/chat/completions" if post => flow::generate(router, request).await,
        "/health" if get => health(router),
        "/metrics" if get => answer::whole(
            StatusCode::OK,
            "text/plain; version=0.0.4; charset=utf-8",
            router.metrics.text(),
        ),
        path @ ("/v1/models" | "/version") if get => decode_answer(router, path).await,
        "/v1/completions"
        | "/v1/chat/completions"
        | "/health"
        | "/metrics"
        | "/v1/models"
        | "/version" => answer::error(
            StatusCode::METHOD_NOT_ALLOWED,
            "method",
            "this path has another method",
        ),
        _ => answer::error(StatusCode::NOT_FOUND, "path", "the router has no such path"),
    }
}

/// Whether an engine of each kind could be reached when it was tried last.
fn health(router: &Router) -> Response<Reply> {
    let some = |peers: &[Arc<Peer>]| peers.iter().any(|peer| peer.is_up());
    let is_well =
        !router.is_ending.load(Relaxed) && some(&router.prefills) && some(&router.decodes);
    let status = if is_well {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    answer::whole(status, "text/plain", "")
}

/// What the first decode engine that answers says.
async fn decode_answer(router: &Arc<Router>, path: &str) -> Response<Reply> {
    for peer in &router.decodes {
        if let Ok(reply) = detect::get(router, peer, path).await {
            let mut response = answer::whole(reply.status, "application/json", reply.body);
            *response.headers_mut() = reply.headers;
            return response;
        }
    }
    answer::error(
        StatusCode::SERVICE_UNAVAILABLE,
        "decode-refused",
        "no decode engine can be reached",
    )
}
