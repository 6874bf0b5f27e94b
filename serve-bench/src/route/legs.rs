//! What the client sent as engines get it: all of it but what is of one connection or named by the protocol.

use bytes::Bytes;
use disagg::Ask;
use http_body_util::Full;
use hyper::header::{ACCEPT_ENCODING, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request};

use super::peer::Peer;

/// What the client sent.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    /// Path and query.
    pub(super) path: String,
    /// Without those of its connection.
    pub(super) headers: HeaderMap,
    /// The body.
    pub(super) body: Bytes,
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
    *request.uri_mut() = peer.path(path).parse().unwrap_or_default();
    *request.headers_mut() = headers;
    if let Ok(host) = HeaderValue::try_from(peer.name.as_str()) {
        request.headers_mut().insert(HOST, host);
    }
    request
}
