//! What the router and the embedded engine share: a listener that a signal ends, connections, and whole responses.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use program::outputs::printed;
use program::say;
use record::exit;
use runner::{Interrupt, Signal};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// How long nothing is accepted when the process has no file descriptor left.
const OUT_OF_FILES: Duration = Duration::from_millis(20);

/// How often a signal is looked for.
const LOOK: Duration = Duration::from_millis(20);

/// The content type of JSON.
pub(crate) const JSON: &str = "application/json";

/// The content type of Prometheus' text format.
pub(crate) const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The body of any response.
pub(crate) type Reply = UnsyncBoxBody<Bytes, io::Error>;

/// Runs a server to its end on this thread, and gives its exit code; every error is one of the command line or of this machine.
pub(crate) fn run(serve: impl Future<Output = anyhow::Result<u8>>) -> u8 {
    raise_open_files();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let outcome = runtime.context("cannot start the runtime");
    let outcome = outcome.and_then(|runtime| {
        let outcome = runtime.block_on(serve);
        // Open connections end with the runtime; whoever still reads sees the stream cut short.
        runtime.shutdown_background();
        outcome
    });
    outcome.unwrap_or_else(|error| {
        say!("error: {error:#}");
        exit::USAGE
    })
}

/// Waits for a signal.
pub(crate) async fn signalled(interrupt: &Interrupt) -> Signal {
    loop {
        match interrupt.signal() {
            Some(signal) => return signal,
            None => tokio::time::sleep(LOOK).await,
        }
    }
}

/// Listens, and prints where.
///
/// # Errors
/// The address is taken, or none of this machine.
pub(crate) async fn listening(host: &str, port: u16) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind((host, port)).await;
    let listener = listener.with_context(|| format!("cannot listen on {host}:{port}"))?;
    // That nobody reads the line must not end the server.
    drop(printed(&format!(
        "listening on http://{}\n",
        listener.local_addr()?
    )));
    Ok(listener)
}

/// Accepts connections and serves each in a task of its own, to the end of its request when `ending` changes. Ends only when it is
/// dropped.
pub(crate) async fn accept<F, R>(listener: &TcpListener, ending: &watch::Receiver<bool>, respond: F)
where
    F: Fn(Request<Incoming>) -> R + Clone + Send + 'static,
    R: Future<Output = Response<Reply>> + Send + 'static,
{
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            // The client gave up, or there are too many files: the listener stays usable.
            tokio::time::sleep(OUT_OF_FILES).await;
            continue;
        };
        // A token must not wait for the acknowledgement of the one before it.
        let _ = socket.set_nodelay(true);
        tokio::spawn(connection(socket, ending.clone(), respond.clone()));
    }
}

async fn connection<R>(
    socket: TcpStream,
    mut ending: watch::Receiver<bool>,
    respond: impl Fn(Request<Incoming>) -> R,
) where
    R: Future<Output = Response<Reply>> + Send,
{
    let service = service_fn(move |request| {
        let response = respond(request);
        async move { Ok::<_, Infallible>(response.await) }
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

/// A whole response of a content type.
pub(crate) fn whole(
    status: StatusCode,
    kind: &'static str,
    body: impl Into<Bytes>,
) -> Response<Reply> {
    let body = Full::new(body.into()).map_err(|never| match never {});
    let mut response = Response::new(body.boxed_unsync());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    if status == StatusCode::SERVICE_UNAVAILABLE {
        headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// Raises the limit of open files to what the system allows.
pub(crate) fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    // Where it is refused, accepting waits for a free one, and a connection that cannot be made says so.
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    );
}
