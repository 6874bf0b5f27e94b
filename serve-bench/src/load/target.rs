//! The server before the load: its address, its model, and what it says of itself.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use hyper::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, SERVER,
};
use hyper::{Method, StatusCode};
use openai::{Head, words};
use record::{RequestError, RequestErrorKind as Kind};
use serde_json::Value;

use super::SOFT_BOX_HEADER;
use super::args::Args;
use super::budget::Budget;
use super::connection::Connection;
use super::intake::{Intake, broken, failed};
use super::key::authorization;
use super::slot::{Destination, head};
use super::tls::Trust;
use crate::address::Address;

/// How long a question before the load may take at most.
const PATIENCE: Duration = Duration::from_secs(30);

/// Bytes of an answer that are read.
const MAX_ANSWER_BYTES: usize = 4 << 20;

/// `Server` headers that name a web framework and not an engine.
const FRAMEWORKS: [&str; 3] = ["uvicorn", "hypercorn", "nginx"];

/// Where requests go, with the headers of each: the host, and what the user asked for.
///
/// # Errors
/// In words: a key that is not there or that others can read, a value that no header can hold, a host without an address, or nothing
/// to check a certificate with.
pub(super) fn destination(
    args: &Args,
    base: &Address,
    budget: Budget,
) -> Result<Destination, String> {
    let mut headers = HeaderMap::new();
    let host = HeaderValue::try_from(base.authority())
        .map_err(|_| "--base-url: the host is not one".to_owned())?;
    headers.insert(HOST, host);
    if let Some(key) = authorization(args.api_key_env.as_deref(), args.api_key_file.as_deref())? {
        headers.insert(AUTHORIZATION, key);
    }
    for (name, value) in &args.header {
        // A request has one host (RFC 9112, section 3.2).
        if name == HOST {
            headers.remove(HOST);
        }
        headers.append(name, value.clone());
    }
    let mut with_body = headers.clone();
    with_body.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    with_body.remove(CONTENT_LENGTH);
    let path = base.path(args.endpoint().into());
    let mut head = head(&Method::POST, &path, &with_body);
    head.extend_from_slice(b"content-length: ");
    let trust = (base.0.scheme() == "https")
        .then(|| Trust::of(base.host(), args.ca_file.as_deref(), args.insecure));
    Ok(Destination {
        addresses: Vec::new(),
        head,
        headers,
        trust: trust.transpose()?,
        timeout: args.timeout,
        budget,
    })
}

/// What a server says of itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answers {
    /// The address that answered.
    pub(super) address: Option<SocketAddr>,
    /// Models by name, in its order.
    pub(super) models: Vec<String>,
    /// Why there are none, where there are none.
    pub(super) no_models: String,
    /// Engine and version, where told.
    pub(super) server: Option<String>,
    /// The simulated machine that it plays.
    pub(super) soft_box: Option<String>,
}

/// Asks a server for its models and its version; each question may take `timeout`, and half a minute at most.
///
/// # Errors
/// In words: no answer at all.
pub(super) async fn ask(base: &Address, to: &Destination) -> Result<Answers, String> {
    let patience = PATIENCE.min(to.timeout);
    let mut answers = Answers::default();
    let get = async |path: &str, answers: &mut Answers| {
        let question = get(base, path, to, answers);
        let answer = tokio::time::timeout(patience, question).await;
        let late = |_| format!("{path} took longer than {} s", patience.as_secs_f64());
        answer.map_err(late)?
    };
    let models = get("/v1/models", &mut answers).await;
    let (status, list) = models.map_err(|why| {
        // Of TLS the reason says what to do.
        let hint = match to.trust {
            Some(_) => "",
            None => "; is the server started, and is this its address?",
        };
        format!("no answer from {base}: {why}{hint}")
    })?;
    let list = list["data"].as_array().filter(|_| status == StatusCode::OK);
    let list = list.map_or(&[][..], Vec::as_slice);
    let text = |of: &Value, key: &str| of[key].as_str().map(str::to_owned);
    answers.models = list.iter().filter_map(|one| text(one, "id")).collect();
    answers.no_models = match status {
        StatusCode::OK => "it lists none".to_owned(),
        status => format!("it answers {status}"),
    };
    let owner = list.first().and_then(|one| text(one, "owned_by"));
    // Only some engines have it, so a failure here says nothing.
    let version = match get("/version", &mut answers).await {
        Ok((StatusCode::OK, version)) => version,
        _ => Value::Null,
    };
    let soft_box = text(&version, "tplens_soft_box").map(|name| words(&name));
    answers.soft_box = soft_box.or(answers.soft_box.take());
    let server = [owner.or(answers.server.take()), text(&version, "version")];
    let server: Vec<String> = server.iter().flatten().map(|name| words(name)).collect();
    answers.server = (!server.is_empty()).then(|| server.join(" "));
    Ok(answers)
}

/// Gets one path; notes address, engine and simulated machine from connection and headers. What is not JSON is null.
async fn get(
    base: &Address,
    path: &str,
    to: &Destination,
    answers: &mut Answers,
) -> Result<(StatusCode, Value), String> {
    let told = |error: io::Error| error.to_string();
    let addresses = base.0.socket_addrs(|| None).map_err(told)?;
    let connection = Connection::open(&addresses, to.trust.as_ref())
        .await
        .map_err(told)?;
    answers.address = connection.peer();
    let request = head(&Method::GET, &base.path(path), &to.headers);
    let (head, body) = answer(&connection, &request)
        .await
        .map_err(|broke| format!("{path}: {}", broke.seen))?;
    if let Some(name) = head.header(SOFT_BOX_HEADER) {
        answers.soft_box = Some(words(name));
    }
    let is_engine = |name: &&str| {
        !FRAMEWORKS
            .iter()
            .any(|framework| name.starts_with(framework))
    };
    let engine = head.header(SERVER.as_str()).filter(is_engine);
    answers.server = engine.map(str::to_owned).or(answers.server.take());
    let status = StatusCode::from_u16(head.status)
        .map_err(|_| format!("{path} answers with the status {}", head.status))?;
    Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
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
            let head = intake.under_way.map(|(head, _)| (head, body));
            return head.ok_or_else(|| failed(Kind::Garbled, "the answer has no head"));
        }
    }
}
