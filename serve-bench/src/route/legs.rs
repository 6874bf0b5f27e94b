//! One request to one engine: its head, its reply, and how it can fail.

use std::time::Duration;

use bytes::Bytes;
use disagg::Ask;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderMap,
    HeaderName, HeaderValue, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use hyper::{Method, Request, Response, StatusCode};

use super::peer::{Exchange, Peer};

/// Bytes of a whole reply that are read.
const LARGEST_REPLY: usize = 16 << 20;

/// Headers of one connection (RFC 9110, section 7.6.1), and those that are written anew.
const HOP: [HeaderName; 8] = [
    CONNECTION,
    CONTENT_LENGTH,
    EXPECT,
    HOST,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Others of one connection, which have no constant.
const HOP_TOO: [&str; 3] = ["keep-alive", "proxy-connection", "proxy-authenticate"];

/// Why an engine gave no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It could not be reached: nothing of the request was sent.
    Refused,
    /// It said nothing for the time that it has.
    Silent,
    /// The connection broke.
    Broke,
}

impl Failure {
    /// Its code.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Silent => "silent",
            Self::Broke => "broke",
        }
    }

    /// The status that a client gets.
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::Refused => StatusCode::SERVICE_UNAVAILABLE,
            Self::Silent => StatusCode::GATEWAY_TIMEOUT,
            Self::Broke => StatusCode::BAD_GATEWAY,
        }
    }
}

/// A reply that was read to its end.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Whole {
    /// Whether another engine may be asked the same: this one says that it cannot now.
    pub(crate) fn is_refusal(&self) -> bool {
        is_refusal(self.status)
    }
}

/// Whether a status says that the engine did nothing with the request.
pub(crate) fn is_refusal(status: StatusCode) -> bool {
    matches!(status.as_u16(), 502..=504)
}

/// What the client sent, as engines get it.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    /// Path and query.
    pub(crate) path: String,
    /// Without those of its connection.
    pub(crate) headers: HeaderMap,
    /// The body.
    pub(crate) body: Bytes,
}

impl Sent {
    /// The request that an engine gets.
    pub(crate) fn request(&self, peer: &Peer, ask: Ask) -> Request<Full<Bytes>> {
        let body = ask.body.map_or_else(|| self.body.clone(), Bytes::from);
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.headers_mut() = self.headers.clone();
        for (name, value) in ask.headers {
            if let Ok(value) = HeaderValue::try_from(value) {
                request
                    .headers_mut()
                    .insert(HeaderName::from_static(name), value);
            }
        }
        address(&mut request, peer, &self.path);
        request
    }

    /// As [`Sent::request`], where the reply is read here and must not be compressed.
    pub(crate) fn plain(&self, peer: &Peer, ask: Ask) -> Request<Full<Bytes>> {
        let mut request = self.request(peer, ask);
        request.headers_mut().remove(ACCEPT_ENCODING);
        request
    }
}

/// Headers without those of one connection, and with a key where there is none.
pub(crate) fn kept(headers: &HeaderMap, key: Option<&HeaderValue>) -> HeaderMap {
    let mut kept = headers.clone();
    // What `Connection` names is of this connection, too.
    let named = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok());
    for name in named.flat_map(|names| names.split(',')) {
        kept.remove(name.trim());
    }
    for name in HOP {
        kept.remove(name);
    }
    for name in HOP_TOO {
        kept.remove(name);
    }
    if let Some(key) = key
        && !kept.contains_key(AUTHORIZATION)
    {
        kept.insert(AUTHORIZATION, key.clone());
    }
    kept
}

/// A question without a body.
pub(crate) fn question(peer: &Peer, path: &str, headers: HeaderMap) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::default());
    *request.headers_mut() = headers;
    address(&mut request, peer, path);
    request
}

fn address(request: &mut Request<Full<Bytes>>, peer: &Peer, path: &str) {
    if let Ok(uri) = peer.path(path).parse() {
        *request.uri_mut() = uri;
    }
    if let Ok(host) = HeaderValue::try_from(peer.name.as_str()) {
        request.headers_mut().insert(HOST, host);
    }
}

/// Waits for the head of a reply.
pub(crate) async fn head(
    exchange: &mut Exchange,
    request: Request<Full<Bytes>>,
    patience: Duration,
) -> Result<Response<Incoming>, Failure> {
    match tokio::time::timeout(patience, exchange.send(request)).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            Err(Failure::Refused)
        }
        Ok(Err(_)) => Err(Failure::Broke),
        Err(_) => Err(Failure::Silent),
    }
}

/// Reads a reply to its end, which frees the connection.
pub(crate) async fn rest(
    exchange: Exchange,
    response: Response<Incoming>,
    patience: Duration,
) -> Result<Whole, Failure> {
    let (head, body) = response.into_parts();
    let read = Limited::new(body, LARGEST_REPLY).collect();
    match tokio::time::timeout(patience, read).await {
        Ok(Ok(body)) => {
            exchange.finished();
            Ok(Whole {
                status: head.status,
                headers: kept(&head.headers, None),
                body: body.to_bytes(),
            })
        }
        Ok(Err(_)) => Err(Failure::Broke),
        Err(_) => Err(Failure::Silent),
    }
}

/// Sends a request and reads the whole reply.
pub(crate) async fn whole(
    mut exchange: Exchange,
    request: Request<Full<Bytes>>,
    patience: Duration,
) -> Result<Whole, Failure> {
    let response = head(&mut exchange, request, patience).await?;
    rest(exchange, response, patience).await
}
