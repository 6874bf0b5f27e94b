//! A server over plain sockets that does what a script says, byte by byte.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use serde_json::Value;

/// What to do with a request.
#[derive(Clone)]
pub(crate) enum Step {
    /// Write bytes.
    Send(Vec<u8>),
    /// Write bytes this many times.
    Repeat(Arc<[u8]>, usize),
    /// Play a server that takes this long, at least.
    Gap(Duration),
    /// Go on only when as many requests are here as the barrier wants.
    Meet(Arc<Barrier>),
    /// Close the connection.
    Close,
    /// Say nothing until the client goes away.
    Stall,
}

/// A request for tokens.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// Its number, from 0 in the order of arrival.
    pub(crate) number: usize,
    /// The connection that it came over, from 0.
    pub(crate) connection: usize,
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
}

/// What a server does with a request for tokens.
type Script = dyn Fn(&Asked) -> Vec<Step> + Send + Sync;

/// How a server answers.
pub(crate) struct Manner {
    /// The answer to `GET /v1/models`; `None` is 404.
    pub(crate) models: Option<&'static str>,
    /// The answer to `GET /version`; `None` is 404.
    pub(crate) version: Option<&'static str>,
    /// A header line for every answer to a GET, with its line end.
    pub(crate) header: &'static str,
    /// What to do with `GET /metrics` after so many requests for tokens.
    pub(crate) metrics: Box<dyn Fn(usize) -> Vec<Step> + Send + Sync>,
    /// What to do with a request for tokens.
    pub(crate) script: Box<Script>,
}

impl Manner {
    pub(crate) fn of(script: impl Fn(&Asked) -> Vec<Step> + Send + Sync + 'static) -> Self {
        Self {
            models: Some(r#"{"data":[{"id":"mock-model","owned_by":"mock"}]}"#),
            version: None,
            header: "",
            metrics: Box::new(|_| vec![whole("404 Not Found", "")]),
            script: Box::new(script),
        }
    }
}

/// A running server; it ends with the test's process.
pub(crate) struct Mock {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    scraped: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    arrived: Receiver<usize>,
}

impl Mock {
    /// Starts a server that does one thing with every request.
    pub(crate) fn playing(script: impl Fn(&Asked) -> Vec<Step> + Send + Sync + 'static) -> Self {
        Self::start(Manner::of(script))
    }

    pub(crate) fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (tell, arrived) = channel();
        let shared = Shared {
            manner: Arc::new(manner),
            asked: Arc::default(),
            scraped: Arc::default(),
            in_flight: Arc::default(),
            most: Arc::default(),
            tell,
        };
        let (asked, most) = (Arc::clone(&shared.asked), Arc::clone(&shared.most));
        let scraped = Arc::clone(&shared.scraped);
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let (shared, stream) = (shared.clone(), stream.unwrap());
                // A client that goes away ends its thread, not the test.
                std::thread::spawn(move || drop(shared.serve(number, &stream)));
            }
        });
        Self {
            url,
            asked,
            scraped,
            most,
            arrived,
        }
    }

    /// The requests for tokens so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// How often its counters were asked for.
    pub(crate) fn scraped(&self) -> usize {
        self.scraped.load(Ordering::SeqCst)
    }

    /// The connections that requests for tokens came over, one entry a request.
    pub(crate) fn connections(&self) -> Vec<usize> {
        self.asked().iter().map(|asked| asked.connection).collect()
    }

    /// The most requests that were answered at once.
    pub(crate) fn most_in_flight(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }

    /// Waits until the request with this number is here.
    pub(crate) fn wait_for(&self, number: usize) {
        while self.arrived.recv_timeout(Duration::from_secs(60)).unwrap() != number {}
    }
}

#[derive(Clone)]
struct Shared {
    manner: Arc<Manner>,
    asked: Arc<Mutex<Vec<Asked>>>,
    scraped: Arc<AtomicUsize>,
    in_flight: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    tell: Sender<usize>,
}

impl Shared {
    fn serve(&self, connection: usize, mut stream: &TcpStream) -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream);
        while let Some((method, path, headers, body)) = request(&mut reader)? {
            if path == "/metrics" {
                self.scraped.fetch_add(1, Ordering::SeqCst);
                let asked = self.asked.lock().unwrap().len();
                self.in_flight.fetch_add(1, Ordering::SeqCst);
                if !self.play(stream, (self.manner.metrics)(asked))? {
                    return Ok(());
                }
                continue;
            }
            if method == "GET" {
                let answer = match path.as_str() {
                    "/v1/models" => self.manner.models,
                    "/version" => self.manner.version,
                    "/health" => Some(""),
                    _ => None,
                };
                let status = if answer.is_some() {
                    "200 OK"
                } else {
                    "404 Not Found"
                };
                let body = answer.unwrap_or_default();
                let (header, length) = (self.manner.header, body.len());
                write!(
                    stream,
                    "HTTP/1.1 {status}\r\n{header}content-length: {length}\r\n\r\n{body}"
                )?;
                continue;
            }
            let asked = {
                let mut all = self.asked.lock().unwrap();
                let asked = Asked {
                    number: all.len(),
                    connection,
                    path,
                    headers,
                    body: serde_json::from_slice(&body).unwrap(),
                };
                all.push(asked.clone());
                asked
            };
            let now = self.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(now, Ordering::SeqCst);
            // Whether the test still listens does not matter.
            let _ = self.tell.send(asked.number);
            let open = self.play(stream, (self.manner.script)(&asked));
            if !open? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether the connection stays open. The last step counts as done before its bytes are gone, so that the next request
    /// is never counted beside this one.
    fn play(&self, mut stream: &TcpStream, steps: Vec<Step>) -> std::io::Result<bool> {
        let last = steps.iter().rposition(|step| matches!(step, Step::Send(_)));
        let mut left = false;
        let mut leave = || {
            if !std::mem::replace(&mut left, true) {
                self.in_flight.fetch_sub(1, Ordering::SeqCst);
            }
        };
        for (index, step) in steps.into_iter().enumerate() {
            match step {
                Step::Send(bytes) => {
                    if Some(index) == last {
                        leave();
                    }
                    stream.write_all(&bytes)?;
                }
                Step::Repeat(bytes, times) => {
                    for _ in 0..times {
                        stream.write_all(&bytes)?;
                    }
                }
                Step::Gap(gap) => std::thread::sleep(gap),
                Step::Meet(barrier) => drop(barrier.wait()),
                Step::Close => {
                    leave();
                    stream.shutdown(std::net::Shutdown::Both)?;
                    return Ok(false);
                }
                Step::Stall => {
                    drop(stream.read_to_end(&mut Vec::new()));
                    leave();
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

type Request = (String, String, BTreeMap<String, String>, Vec<u8>);

fn request(reader: &mut BufReader<&TcpStream>) -> std::io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers
        .get("content-length")
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some((method, path, headers, body)))
}

/// The head of a streamed reply.
pub(crate) fn head() -> Step {
    send("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
}

/// One HTTP chunk.
pub(crate) fn part(bytes: impl AsRef<[u8]>) -> Step {
    let bytes = bytes.as_ref();
    let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
    framed.extend_from_slice(bytes);
    framed.extend_from_slice(b"\r\n");
    Step::Send(framed)
}

/// The end of a streamed reply.
pub(crate) fn end() -> Step {
    send("0\r\n\r\n")
}

/// Bytes as they are.
pub(crate) fn send(text: &str) -> Step {
    Step::Send(text.as_bytes().to_vec())
}

pub(crate) fn gap(ms: u64) -> Step {
    Step::Gap(Duration::from_millis(ms))
}

/// An event with a JSON object.
pub(crate) fn event(json: &str) -> String {
    format!("data: {json}\n\n")
}

/// A completions chunk with this text.
pub(crate) fn text(text: &str) -> String {
    event(&format!(
        r#"{{"choices":[{{"index":0,"text":"{text}","finish_reason":null}}]}}"#
    ))
}

/// What vLLM sends after the last token: the count, and the end mark.
pub(crate) fn usage_and_done(prompt: u32, completion: u32) -> String {
    let usage = format!(
        r#"{{"choices":[],"usage":{{"prompt_tokens":{prompt},"completion_tokens":{completion}}}}}"#
    );
    format!("{}data: [DONE]\n\n", event(&usage))
}

/// A whole good stream of two tokens for a prompt of eight.
pub(crate) fn good() -> Vec<Step> {
    vec![
        head(),
        part(text("a")),
        part(text("b")),
        part(usage_and_done(8, 2)),
        end(),
    ]
}

/// A whole reply with a length.
pub(crate) fn whole(status: &str, body: &str) -> Step {
    send(&format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    ))
}
