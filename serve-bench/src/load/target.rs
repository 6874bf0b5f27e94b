//! The server before the load: its address, its model, and what it says of itself.

use std::net::{SocketAddr, ToSocketAddrs};
use std::time::{Duration, Instant};

use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderValue, SERVER};
use hyper::{Method, StatusCode, Uri};
use openai::{Head, words};
use record::{RequestError, RequestErrorKind as Kind};
use serde_json::Value;

use super::SOFT_BOX_HEADER;
use super::args::Args;
use super::broke::failed;
use super::connection::Connection;
use super::intake::{Intake, broken};
use super::key::authorization;
use super::slot::head;
use super::tls::Trust;

/// How long a question before the load may take at most.
const PATIENCE: Duration = Duration::from_secs(30);

/// Bytes of an answer that are read.
const MAX_ANSWER_BYTES: usize = 4 << 20;

/// Models that are named at most.
pub(super) const MODELS: usize = 3;

/// `Server` headers that name a web framework and not an engine.
const FRAMEWORKS: [&str; 3] = ["uvicorn", "hypercorn", "nginx"];

/// A base URL, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BaseUrl {
    /// Whether it is an `https://` address.
    is_https: bool,
    host: String,
    port: u16,
    /// Path before `/v1`, without a slash at its end.
    prefix: String,
}

impl BaseUrl {
    /// Takes a URL apart.
    ///
    /// # Errors
    /// In words: not a URL, neither http nor https, or with credentials, which would end in the record.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let uri: Uri = text.parse().map_err(|error| {
            // The text is not repeated: a URL that is wrong may still hold a password.
            format!("--base-url is not a URL ({error}); it looks like http://127.0.0.1:8000")
        })?;
        let is_https = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err("--base-url needs http:// or https:// at its beginning".to_owned()),
        };
        let authority = uri
            .authority()
            .ok_or("--base-url names no host; it looks like http://127.0.0.1:8000")?;
        if authority.as_str().contains('@') {
            return Err(
                "--base-url holds credentials, which would be recorded; use --api-key-env, --api-key-file or --header"
                    .to_owned(),
            );
        }
        if uri.query().is_some() {
            return Err("--base-url has a query; it ends with a path".to_owned());
        }
        let path = uri.path().trim_end_matches('/');
        let usual = if is_https { 443 } else { 80 };
        let host = authority.host();
        let told = authority.as_str().strip_prefix(host).unwrap_or_default();
        let port = match told.strip_prefix(':') {
            None => usual,
            Some(port) => port
                .parse()
                .ok()
                .filter(|port| *port > 0)
                .ok_or_else(|| format!("--base-url: `{port}` is no port from 1 to 65535"))?,
        };
        Ok(Self {
            is_https,
            host: authority.host().to_owned(),
            port,
            prefix: path
                .strip_suffix("/v1")
                .unwrap_or(path)
                .trim_end_matches('/')
                .to_owned(),
        })
    }

    /// A path below it.
    pub(super) fn path(&self, path: &str) -> Result<Uri, String> {
        let path = format!("{}{path}", self.prefix);
        path.parse()
            .map_err(|error| format!("--base-url: {path} is not a path: {error}"))
    }

    /// What connections to it are secured with; `None` where its address says that they are not.
    ///
    /// # Errors
    /// In words: nothing to check a certificate with.
    pub(super) fn trust(&self, args: &Args) -> Result<Option<Trust>, String> {
        self.is_https
            .then(|| Trust::of(self.bare_host(), args.ca_file.as_deref(), args.insecure))
            .transpose()
    }

    fn addresses(&self) -> std::io::Result<Vec<SocketAddr>> {
        Ok((self.bare_host(), self.port).to_socket_addrs()?.collect())
    }

    /// The host without the brackets of an IPv6 address.
    fn bare_host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }
}

impl std::fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.is_https { "https" } else { "http" };
        write!(f, "{scheme}://{}:{}{}", self.host, self.port, self.prefix)
    }
}

/// Headers of every request: the host, and what the user asked for.
///
/// # Errors
/// In words: a key that is not there or that others can read, or a value that no header can hold.
pub(super) fn headers(args: &Args, base: &BaseUrl) -> Result<HeaderMap<HeaderValue>, String> {
    let mut headers = HeaderMap::new();
    let host = HeaderValue::try_from(format!("{}:{}", base.host, base.port))
        .map_err(|_| "--base-url: the host is not one".to_owned())?;
    headers.insert(HOST, host);
    if let Some(key) = authorization(args.api_key_env.as_deref(), args.api_key_file.as_deref())? {
        headers.insert(AUTHORIZATION, key);
    }
    for (name, value) in &args.header {
        // A request has one host (RFC 9112, section 3.2).
        if name == HOST {
            headers.insert(name, value.clone());
            continue;
        }
        headers.append(name, value.clone());
    }
    Ok(headers)
}

/// What a server says of itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answers {
    /// The address that answered.
    pub(super) address: Option<SocketAddr>,
    /// Models by name, in its order.
    pub(super) models: Vec<String>,
    /// Why there are none.
    pub(super) no_models: Option<String>,
    /// Engine and version, where told.
    pub(super) server: Option<String>,
    /// The simulated machine that it plays.
    pub(super) soft_box: Option<String>,
}

/// Asks a server for its models and its version; each question may take `timeout`, and half a minute at most.
///
/// # Errors
/// In words: no answer at all.
pub(super) async fn ask(
    base: &BaseUrl,
    trust: Option<&Trust>,
    headers: &HeaderMap<HeaderValue>,
    timeout: Duration,
) -> Result<Answers, String> {
    // Of TLS the reason says what to do.
    let hint = match base.is_https {
        true => "",
        false => "; is the server started, and is this its address?",
    };
    let no_answer = |why: String| format!("no answer from {base}: {why}{hint}");
    let addresses = base
        .addresses()
        .map_err(|error| no_answer(error.to_string()))?;
    let mut answers = Answers::default();
    let server = Server {
        addresses,
        base,
        trust,
        headers,
        patience: PATIENCE.min(timeout),
    };
    let models = server
        .get("/v1/models", &mut answers)
        .await
        .map_err(no_answer)?;
    let mut owner = None;
    match models {
        (StatusCode::OK, Some(list)) => {
            let list = list["data"].as_array().cloned().unwrap_or_default();
            let name = |model: &Value| model["id"].as_str().map(str::to_owned);
            answers.models = list.iter().filter_map(name).collect();
            owner = list
                .first()
                .and_then(|model| model["owned_by"].as_str().map(words));
            if answers.models.is_empty() {
                answers.no_models = Some("it lists none".to_owned());
            }
        }
        (StatusCode::OK, None) => {
            answers.no_models = Some("its answer is not JSON".to_owned());
        }
        (status, _) => answers.no_models = Some(format!("it answers {status}")),
    }
    // Only some engines have it, so a failure here says nothing.
    let version = server.get("/version", &mut answers).await;
    let version = match version {
        Ok((StatusCode::OK, Some(version))) => {
            if let Some(name) = version["tplens_soft_box"].as_str() {
                answers.soft_box = Some(words(name));
            }
            version["version"].as_str().map(words)
        }
        _ => None,
    };
    answers.server = match (owner.or(answers.server.take()), version) {
        (Some(engine), Some(version)) => Some(format!("{engine} {version}")),
        (Some(engine), None) => Some(engine),
        (None, version) => version,
    };
    Ok(answers)
}

/// Where and how questions before the load are asked.
struct Server<'a> {
    addresses: Vec<SocketAddr>,
    base: &'a BaseUrl,
    trust: Option<&'a Trust>,
    headers: &'a HeaderMap<HeaderValue>,
    /// How long one question may take.
    patience: Duration,
}

impl Server<'_> {
    /// Gets one path; notes address, engine and simulated machine from connection and headers.
    async fn get(
        &self,
        path: &str,
        answers: &mut Answers,
    ) -> Result<(StatusCode, Option<Value>), String> {
        let exchange = async {
            let connection = Connection::open(&self.addresses, self.trust)
                .await
                .map_err(|error| error.to_string())?;
            answers.address = connection.peer();
            let request = head(&Method::GET, &self.base.path(path)?, self.headers);
            let (head, body) = answer(&connection, &request)
                .await
                .map_err(|broke| format!("{path}: {}", broke.seen))?;
            if let Some(name) = head.header(SOFT_BOX_HEADER) {
                answers.soft_box = Some(words(name));
            }
            answers.server = head
                .header(SERVER.as_str())
                .filter(|name| {
                    !FRAMEWORKS
                        .iter()
                        .any(|framework| name.starts_with(framework))
                })
                .map(words)
                .or(answers.server.take());
            let status = StatusCode::from_u16(head.status)
                .map_err(|_| format!("{path} answers with the status {}", head.status))?;
            Ok((status, serde_json::from_slice(&body).ok()))
        };
        match tokio::time::timeout(self.patience, exchange).await {
            Ok(answer) => answer,
            Err(_) => Err(format!(
                "{path} took longer than {} s",
                self.patience.as_secs_f64()
            )),
        }
    }
}

/// Sends a request without a body and reads the answer to it.
async fn answer(connection: &Connection, request: &[u8]) -> Result<(Head, Vec<u8>), RequestError> {
    let mut sent = Instant::now();
    let parts = [request, b"\r\n", b""];
    let written = connection.send(parts, &mut sent).await;
    written.map_err(|error| broken(&error))?;
    let mut intake = Intake::default();
    let mut body = Vec::new();
    loop {
        let received = connection.receive(|bytes, _| {
            intake.take(bytes, |_, part| {
                body.extend_from_slice(part);
                if body.len() > MAX_ANSWER_BYTES {
                    return Err(failed(Kind::Garbled, "the answer is larger than 4 MiB"));
                }
                Ok(())
            })
        });
        let end = match received.await.map_err(|error| broken(&error))? {
            Some(taken) => taken?,
            None => Some(intake.closed()?),
        };
        if end.is_some() {
            return intake
                .into_head()
                .map(|head| (head, body))
                .ok_or_else(|| failed(Kind::Garbled, "the answer has no head"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_is_taken_with_and_without_v1() {
        for (text, shown, path) in [
            (
                "http://127.0.0.1:8000",
                "http://127.0.0.1:8000",
                "/v1/models",
            ),
            ("http://box:8000/v1/", "http://box:8000", "/v1/models"),
            ("http://box/a/b/v1", "http://box:80/a/b", "/a/b/v1/models"),
            ("http://[::1]:1/", "http://[::1]:1", "/v1/models"),
            ("https://box/v1", "https://box:443", "/v1/models"),
        ] {
            let base = BaseUrl::parse(text).unwrap();
            assert_eq!(base.to_string(), shown);
            assert_eq!(base.path("/v1/models").unwrap().to_string(), path);
        }
    }

    #[test]
    fn a_base_url_that_cannot_be_asked_is_refused_without_its_secret() {
        for (text, says) in [
            ("box:8000", "needs http://"),
            ("https://user:canary@box", "credentials"),
            ("http://user:canary@box", "credentials"),
            ("http://box/?key=canary", "query"),
            ("http://", "not a URL"),
            ("http://box:99999", "`99999` is no port"),
            ("http://[::1]:0/v1", "`0` is no port"),
        ] {
            let refusal = BaseUrl::parse(text).unwrap_err();
            assert!(refusal.contains(says), "{text}: {refusal}");
            assert!(!refusal.contains("canary"), "{refusal}");
        }
    }
}
