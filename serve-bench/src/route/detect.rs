//! Which protocol the engines speak, and what a bootstrap server calls its engine.

use std::sync::Arc;
use std::time::Duration;

use disagg::{Body, Dialect, by_name};
use hyper::header::HeaderMap;

use super::legs::{self, Failure, Whole};
use super::peer::Peer;
use super::router::Router;

/// How long a question may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// The protocol; asked of the first prefill engine that answers, and kept.
pub(super) async fn dialect(router: &Router) -> Result<&'static dyn Dialect, Failure> {
    let found = router.dialect.get_or_try_init(|| async {
        for peer in &router.prefills {
            // vLLM has no such path. SGLang tells its mode there (http_server.py).
            match get(router, peer, "/server_info").await {
                Ok(reply) => return spoken(peer, &reply).await.ok_or(Failure::Broke),
                Err(_) => continue,
            }
        }
        Err(Failure::Refused)
    });
    found.await.copied()
}

async fn spoken(peer: &Arc<Peer>, server: &Whole) -> Option<&'static dyn Dialect> {
    let told = Body::read(&server.body).ok();
    let mode = told.and_then(|told| told.string("disaggregation_mode"));
    let name = match mode.as_deref() {
        Some("prefill") if server.status.is_success() => "sglang",
        _ if engine_id(peer).await.is_some() => "mooncake",
        _ => "nixl",
    };
    program::say!("protocol of the engines: {name}");
    by_name(name)
}

/// What Mooncake's bootstrap server calls the engine at data-parallel rank 0, and keeps it.
pub(super) async fn engine_id(peer: &Arc<Peer>) -> Option<String> {
    if let Some(known) = peer.bootstrap().engine_id {
        return Some(known);
    }
    let bootstrap = peer.bootstrap();
    let url = format!("http://{}:{}", bootstrap.host, bootstrap.port);
    let server = Peer::parse(&url, |_| Err(String::new())).ok()?;
    let server = Arc::new(server);
    let exchange = server.open().await.ok()?;
    let request = legs::question(&server, "/query", HeaderMap::new());
    let reply = legs::whole(exchange, request, PATIENCE).await.ok()?;
    let told = Body::read(&reply.body)
        .ok()
        .filter(|_| reply.status.is_success())?;
    let id = Body::read(told.raw("0")?.as_bytes())
        .ok()?
        .string("engine_id")?;
    peer.set_engine_id(Some(id.clone()));
    Some(id)
}

/// An engine's answer to a question.
pub(super) async fn get(router: &Router, peer: &Arc<Peer>, path: &str) -> Result<Whole, Failure> {
    let exchange = peer.open().await.map_err(|_| Failure::Refused)?;
    let headers = legs::kept(&HeaderMap::new(), router.key.as_ref());
    legs::whole(exchange, legs::question(peer, path, headers), PATIENCE).await
}
