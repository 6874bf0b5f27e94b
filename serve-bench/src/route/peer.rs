//! One engine: its address, its idle connections, and one request to it: its head, its reply, and how it can fail. It gets what the
//! client sent but what is of one connection or named by the protocol.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use disagg::{Ask, Bootstrap};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue,
};
use hyper::rt::{Read, Write};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use crate::address::Address;
use crate::listener::Reply;
use crate::load::Trust;

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(10);

/// How long an engine that could not be reached is asked last.
const SET_BACK: Duration = Duration::from_secs(2);

/// Idle connections that are kept.
const IDLE: usize = 1024;

/// Bytes of a whole reply that are read.
const LARGEST_REPLY: usize = 16 << 20;

/// Headers of one connection (RFC 9110, section 7.6.1), and those that are written anew.
const HOP: &str = "connection content-length expect host keep-alive proxy-authenticate proxy-connection te trailer \
    transfer-encoding upgrade";

/// The bootstrap server's port where none is given, vLLM's and SGLang's.
const BOOTSTRAP_PORT: u16 = 8998;

/// An engine.
pub(crate) struct Peer {
    /// `host:port`.
    pub(crate) name: String,
    address: Address,
    trust: Option<Trust>,
    bootstrap: Mutex<Bootstrap>,
    idle: Mutex<Vec<Wire>>,
    /// Requests of this router that it works on.
    pub(crate) busy: AtomicUsize,
    set_back: Mutex<Option<Instant>>,
}

/// A connection. Dropping it closes the socket at once.
struct Wire {
    sender: SendRequest<Full<Bytes>>,
    task: JoinHandle<()>,
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Peer {
    /// An engine at a flag's address, with the port of its bootstrap server behind `#`.
    ///
    /// # Errors
    /// In words: no address, or one with credentials, or certificates that cannot be used.
    pub(crate) fn parse(
        flag: &str,
        text: &str,
        trusted: impl Fn(&str) -> Result<Trust, String>,
    ) -> Result<Self, String> {
        let (url, port) = match text.split_once('#') {
            Some((url, port)) => (url, port.parse().ok()),
            None => (text, Some(BOOTSTRAP_PORT)),
        };
        let port = port.ok_or_else(|| format!("{flag}: what stands behind # is no port"))?;
        let address = Address::parse(flag, url)?;
        let host = address.host().to_owned();
        let trust = (address.0.scheme() == "https").then(|| trusted(&host));
        Ok(Self {
            name: address.authority(),
            trust: trust.transpose().map_err(|why| format!("{flag}: {why}"))?,
            bootstrap: Mutex::new(Bootstrap {
                host,
                port,
                engine_id: None,
            }),
            address,
            idle: Mutex::default(),
            busy: AtomicUsize::new(0),
            set_back: Mutex::default(),
        })
    }

    /// What is known of its bootstrap server.
    pub(crate) fn bootstrap(&self) -> Bootstrap {
        locked(&self.bootstrap).clone()
    }

    /// Keeps the engine's name, or forgets it.
    pub(crate) fn set_engine_id(&self, engine_id: Option<String>) {
        locked(&self.bootstrap).engine_id = engine_id;
    }

    /// Whether it could be reached when it was tried last, or that was long ago.
    pub(crate) fn is_up(&self) -> bool {
        locked(&self.set_back).is_none_or(|since| since.elapsed() > SET_BACK)
    }

    /// Takes a connection for a request, an idle or a new one. The request is counted from now on.
    ///
    /// # Errors
    /// [`Failure::Refused`].
    pub(crate) async fn open(self: &Arc<Self>) -> Result<Exchange, Failure> {
        self.busy.fetch_add(1, Relaxed);
        let mut exchange = Exchange {
            peer: Arc::clone(self),
            wire: None,
        };
        loop {
            let idle = locked(&self.idle).pop();
            let Some(mut wire) = idle else { break };
            if wire.sender.ready().await.is_ok() {
                exchange.wire = Some(wire);
                return Ok(exchange);
            }
        }
        let wire = self.connect().await.map_err(|_| Failure::Refused)?;
        exchange.wire = Some(wire);
        Ok(exchange)
    }

    async fn connect(&self) -> io::Result<Wire> {
        let connected = tokio::time::timeout(CONNECT, self.dial()).await;
        let outcome = connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        *locked(&self.set_back) = outcome.is_err().then(Instant::now);
        outcome
    }

    async fn dial(&self) -> io::Result<Wire> {
        let stream = TcpStream::connect((self.address.host(), self.address.port())).await?;
        stream.set_nodelay(true)?;
        match &self.trust {
            None => wired(TokioIo::new(stream)).await,
            Some(trust) => {
                let connector = TlsConnector::from(Arc::clone(&trust.config));
                let stream = connector.connect(trust.name.clone(), stream).await?;
                wired(TokioIo::new(stream)).await
            }
        }
    }
}

async fn wired<T>(io: T) -> io::Result<Wire>
where
    T: Read + Write + Unpin + Send + 'static,
{
    let (sender, connection) = handshake(io).await.map_err(io::Error::other)?;
    // A connection that breaks is seen by who waits for its reply.
    let task = tokio::spawn(async move { drop(connection.await) });
    Ok(Wire { sender, task })
}

/// Why an engine gave no reply, or none that is a success.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It could not be reached: nothing of the request was sent.
    Refused,
    /// It said nothing for the time that it has.
    Silent,
    /// The connection broke.
    Broke,
    /// Its reply says that it did not do it.
    Answered(Whole),
}

/// A reply that was read to its end.
pub(crate) type Whole = Response<Bytes>;

/// The same for a client.
pub(super) fn passed_on(reply: Whole) -> Response<Reply> {
    reply.map(|body| {
        Full::new(body)
            .map_err(|never| match never {})
            .boxed_unsync()
    })
}

/// A request that an engine works on. Dropping it before [`Exchange::finished`] closes the connection, which cancels it there.
pub(crate) struct Exchange {
    pub(crate) peer: Arc<Peer>,
    wire: Option<Wire>,
}

impl Exchange {
    /// The reply was read to its end: the connection can be used again.
    pub(crate) fn finished(mut self) {
        if let Some(wire) = self.wire.take().filter(|wire| !wire.sender.is_closed()) {
            let mut idle = locked(&self.peer.idle);
            if idle.len() < IDLE {
                idle.push(wire);
            }
        }
    }

    /// Sends a request and reads the whole reply.
    pub(crate) async fn whole(
        self,
        request: Request<Full<Bytes>>,
        patience: Duration,
    ) -> Result<Whole, Failure> {
        let (exchange, response) = self.begun(request, patience).await?;
        exchange.rest(response, patience).await
    }

    /// Sends a request and waits for the head of a reply that is a success.
    pub(crate) async fn begun(
        mut self,
        request: Request<Full<Bytes>>,
        patience: Duration,
    ) -> Result<(Self, Response<Incoming>), Failure> {
        let response = match tokio::time::timeout(patience, self.send(request)).await {
            Ok(response) => response?,
            Err(_) => return Err(Failure::Silent),
        };
        if response.status().is_success() {
            return Ok((self, response));
        }
        let reply = self.rest(response, patience).await;
        Err(reply.map_or(Failure::Broke, Failure::Answered))
    }

    /// An idle connection that the engine has closed meanwhile is replaced.
    async fn send(&mut self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Failure> {
        let mut request = request;
        for _ in 0..2 {
            let Some(wire) = &mut self.wire else { break };
            match wire.sender.try_send_request(request).await {
                Ok(response) => return Ok(response),
                Err(mut error) => {
                    // What gives it back has written nothing of it.
                    request = error.take_message().ok_or(Failure::Broke)?;
                    let connected = self.peer.connect().await;
                    self.wire = Some(connected.map_err(|_| Failure::Refused)?);
                }
            }
        }
        Err(Failure::Broke)
    }

    /// Reads a reply to its end, which frees the connection.
    async fn rest(
        self,
        response: Response<Incoming>,
        patience: Duration,
    ) -> Result<Whole, Failure> {
        let (mut head, body) = response.into_parts();
        let read = Limited::new(body, LARGEST_REPLY).collect();
        let read = tokio::time::timeout(patience, read).await;
        let body = read
            .map_err(|_| Failure::Silent)?
            .map_err(|_| Failure::Broke)?;
        self.finished();
        head.headers = kept(&head.headers, None);
        head.version = hyper::Version::HTTP_11;
        Ok(Response::from_parts(head, body.to_bytes()))
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.peer.busy.fetch_sub(1, Relaxed);
    }
}

/// Headers without those of one connection, and with a key where there is none.
pub(crate) fn kept(headers: &HeaderMap, key: Option<&HeaderValue>) -> HeaderMap {
    let mut kept = headers.clone();
    // What `Connection` names is of this connection, too.
    let named = headers.get_all(CONNECTION).iter();
    let named = named.filter_map(|value| value.to_str().ok());
    let named = named.flat_map(|names| names.split(',')).map(str::trim);
    named
        .chain(HOP.split(' '))
        .for_each(|name| drop(kept.remove(name)));
    if let Some(key) = key {
        kept.entry(AUTHORIZATION).or_insert_with(|| key.clone());
    }
    kept
}

/// What the client sent.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    /// Path and query.
    pub(super) path: String,
    /// Without those of its connection.
    pub(super) headers: HeaderMap,
    /// The body.
    pub(super) body: Bytes,
    /// The room that it takes.
    pub(super) _room: Arc<OwnedSemaphorePermit>,
}

impl Sent {
    /// The request that an engine gets.
    pub(super) fn request(&self, peer: &Peer, ask: Ask) -> Request<Full<Bytes>> {
        let body = ask.body.map_or_else(|| self.body.clone(), Bytes::from);
        let mut headers = self.headers.clone();
        for (name, value) in ask.headers {
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        addressed(Method::POST, peer, &self.path, headers, body)
    }

    /// As [`Sent::request`], where the reply is read here and must not be compressed.
    pub(super) fn plain(&self, peer: &Peer, ask: Ask) -> Request<Full<Bytes>> {
        let mut request = self.request(peer, ask);
        request.headers_mut().remove(ACCEPT_ENCODING);
        request
    }
}

/// A question without a body.
pub(crate) fn question(peer: &Peer, path: &str, headers: HeaderMap) -> Request<Full<Bytes>> {
    addressed(Method::GET, peer, path, headers, Bytes::new())
}

fn addressed(
    method: Method,
    peer: &Peer,
    path: &str,
    headers: HeaderMap,
    body: Bytes,
) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    *request.uri_mut() = peer.address.path(path).parse().unwrap_or_default();
    *request.headers_mut() = headers;
    if let Ok(host) = HeaderValue::try_from(peer.name.as_str()) {
        request.headers_mut().insert(HOST, host);
    }
    request
}
