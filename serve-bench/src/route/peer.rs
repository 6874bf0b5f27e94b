//! One engine: its address, its idle connections, and whether it can be reached.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use disagg::Bootstrap;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::rt::{Read, Write};
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use crate::load::Trust;

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(10);

/// How long an engine that could not be reached is asked last.
const SET_BACK: Duration = Duration::from_secs(2);

/// Idle connections that are kept.
const IDLE: usize = 1024;

/// The bootstrap server's port where none is given, vLLM's and SGLang's.
const BOOTSTRAP_PORT: u16 = 8998;

/// An engine.
pub(crate) struct Peer {
    /// `host:port`.
    pub(crate) name: String,
    host: String,
    port: u16,
    /// Path before `/v1`, without a slash at its end.
    prefix: String,
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

/// A request that an engine works on. Dropping it before [`Exchange::finished`] closes the connection, which cancels it there.
pub(crate) struct Exchange {
    pub(crate) peer: Arc<Peer>,
    wire: Option<Wire>,
}

impl Exchange {
    /// The reply was read to its end: the connection can be used again.
    pub(crate) fn finished(mut self) {
        if let Some(wire) = self.wire.take().filter(|wire| !wire.sender.is_closed()) {
            let mut idle = self
                .peer
                .idle
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if idle.len() < IDLE {
                idle.push(wire);
            }
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.peer.busy.fetch_sub(1, Relaxed);
    }
}

impl Peer {
    /// An engine at a URL, with the port of its bootstrap server behind `#`.
    ///
    /// # Errors
    /// In words: no URL, or one with credentials, or certificates that cannot be used.
    pub(crate) fn parse(
        text: &str,
        trusted: impl Fn(&str) -> Result<Trust, String>,
    ) -> Result<Self, String> {
        let (url, bootstrap) = match text.split_once('#') {
            Some((url, port)) => (
                url,
                port.parse()
                    .map_err(|_| "what stands behind # is no port".to_owned())?,
            ),
            None => (text, BOOTSTRAP_PORT),
        };
        let no_url = || "is no URL such as http://127.0.0.1:8100".to_owned();
        let uri: Uri = url.parse().map_err(|_| no_url())?;
        let authority = uri.authority().ok_or_else(no_url)?;
        if authority.as_str().contains('@') {
            return Err("has credentials in it; use --api-key-env".to_owned());
        }
        let is_https = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(no_url()),
        };
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        let port = authority
            .port_u16()
            .unwrap_or(if is_https { 443 } else { 80 });
        let path = uri.path().trim_end_matches('/');
        let prefix = path.strip_suffix("/v1").unwrap_or(path).to_owned();
        Ok(Self {
            name: format!("{}:{port}", authority.host()),
            trust: is_https.then(|| trusted(&host)).transpose()?,
            bootstrap: Mutex::new(Bootstrap {
                host: host.clone(),
                port: bootstrap,
                engine_id: None,
            }),
            host,
            port,
            prefix,
            idle: Mutex::default(),
            busy: AtomicUsize::new(0),
            set_back: Mutex::default(),
        })
    }

    /// What is known of its bootstrap server.
    pub(crate) fn bootstrap(&self) -> Bootstrap {
        self.bootstrap
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Keeps the engine's name, or forgets it.
    pub(crate) fn set_engine_id(&self, engine_id: Option<String>) {
        self.bootstrap
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .engine_id = engine_id;
    }

    /// The path of a request there.
    pub(crate) fn path(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }

    /// Whether it could be reached when it was tried last, or that was long ago.
    pub(crate) fn is_up(&self) -> bool {
        let since = *self.set_back.lock().unwrap_or_else(PoisonError::into_inner);
        since.is_none_or(|since| since.elapsed() > SET_BACK)
    }

    /// Takes a connection for a request, an idle or a new one. The request is counted from now on.
    ///
    /// # Errors
    /// It cannot be reached.
    pub(crate) async fn open(self: &Arc<Self>) -> io::Result<Exchange> {
        self.busy.fetch_add(1, Relaxed);
        let mut exchange = Exchange {
            peer: Arc::clone(self),
            wire: None,
        };
        loop {
            let idle = self
                .idle
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .pop();
            match idle {
                Some(mut wire) => {
                    if wire.sender.ready().await.is_ok() {
                        exchange.wire = Some(wire);
                        return Ok(exchange);
                    }
                }
                None => break,
            }
        }
        exchange.wire = Some(self.connect().await?);
        Ok(exchange)
    }

    async fn connect(&self) -> io::Result<Wire> {
        let connected = tokio::time::timeout(CONNECT, self.dial()).await;
        let outcome = connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let since = outcome.is_err().then(Instant::now);
        *self.set_back.lock().unwrap_or_else(PoisonError::into_inner) = since;
        outcome
    }

    async fn dial(&self) -> io::Result<Wire> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        stream.set_nodelay(true)?;
        match &self.trust {
            None => wired(TokioIo::new(stream)).await,
            Some(trust) => {
                let connector = TlsConnector::from(trust.config());
                let stream = connector.connect(trust.name(), stream).await?;
                wired(TokioIo::new(stream)).await
            }
        }
    }
}

impl Exchange {
    /// Sends a request and waits for the head of its reply. An idle connection that the engine has closed meanwhile is replaced.
    ///
    /// # Errors
    /// The connection broke, or a new one cannot be made.
    pub(crate) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> io::Result<Response<Incoming>> {
        let mut request = request;
        for _ in 0..2 {
            let Some(wire) = &mut self.wire else {
                self.wire = Some(self.peer.connect().await?);
                continue;
            };
            match wire.sender.try_send_request(request).await {
                Ok(response) => return Ok(response),
                Err(mut error) => match error.take_message() {
                    // Nothing of it was written.
                    Some(unsent) => {
                        request = unsent;
                        self.wire = Some(self.peer.connect().await?);
                    }
                    None => return Err(io::Error::other(error.into_error())),
                },
            }
        }
        Err(io::ErrorKind::ConnectionReset.into())
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
