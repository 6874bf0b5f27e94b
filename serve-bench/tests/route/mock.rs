//! An engine that does what a script says, and writes down what it was asked and when its client left.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What an engine does with a request.
#[derive(Debug, Clone)]
pub(super) enum Act {
    /// A whole reply.
    Reply(u16, String),
    /// A whole reply, late.
    Late(u16, String),
    /// Nothing until the client goes away.
    Hang,
    /// So many tokens, and then the end, nothing, or a broken connection.
    Stream(usize, Then),
}

/// How a stream ends.
#[derive(Debug, Clone, Copy)]
pub(super) enum Then {
    End,
    Hang,
    Break,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) path: String,
    /// Names in lower case, in the order in which they came.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Call {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// What several engines were asked, in the order of events: `P`, `D`, `D one-token`, `P closed` and so on.
pub(super) type Log = Arc<Mutex<Vec<String>>>;

type Script = dyn Fn(&Call) -> Act + Send + Sync;

/// A running engine; it ends with the test's process.
pub(super) struct Engine {
    pub(super) port: u16,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl Engine {
    pub(super) fn start(
        name: &'static str,
        log: &Log,
        script: impl Fn(&Call) -> Act + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let calls = Arc::default();
        let shared = Shared {
            name,
            log: Arc::clone(log),
            calls: Arc::clone(&calls),
            script: Arc::new(script),
        };
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (shared, stream) = (shared.clone(), stream.unwrap());
                std::thread::spawn(move || drop(shared.serve(&stream)));
            }
        });
        Self { port, calls }
    }

    pub(super) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }
}

/// Waits until the log has these events, in whatever order.
pub(super) fn wait_for(log: &Log, events: &[&str]) {
    let begun = Instant::now();
    loop {
        let now = log.lock().unwrap().clone();
        let missing = events
            .iter()
            .find(|event| !now.iter().any(|known| known == *event));
        let Some(missing) = missing else { return };
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "no {missing} in {now:?}"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[derive(Clone)]
struct Shared {
    name: &'static str,
    log: Log,
    calls: Arc<Mutex<Vec<Call>>>,
    script: Arc<Script>,
}

impl Shared {
    fn serve(&self, mut stream: &TcpStream) -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream);
        while let Some((method, call)) = request(&mut reader)? {
            if method == "GET" {
                let (status, body) = match call.path.as_str() {
                    // As Mooncake's bootstrap server.
                    "/query" => (
                        200,
                        r#"{"0":{"engine_id":"e1","worker_addr":{"0":{"0":"tcp://h:1"}}}}"#,
                    ),
                    "/v1/models" => (200, r#"{"data":[{"id":"m"}]}"#),
                    _ => (404, "{}"),
                };
                whole(stream, status, body)?;
                continue;
            }
            let act = (self.script)(&call);
            let is_one = self.name == "D" && call.body.contains("\"max_tokens\":1,");
            let event = if is_one { "D one-token" } else { self.name };
            self.calls.lock().unwrap().push(call);
            self.log.lock().unwrap().push(event.to_owned());
            match act {
                Act::Reply(status, body) => whole(stream, status, &body)?,
                Act::Late(status, body) => {
                    std::thread::sleep(Duration::from_millis(150));
                    whole(stream, status, &body)?;
                }
                Act::Hang => return self.left(&mut reader),
                Act::Stream(tokens, then) => {
                    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-engine: d\r\ntransfer-encoding: chunked\r\n\r\n")?;
                    for token in 0..tokens {
                        chunk(stream, &format!("data: {{\"token\":{token}}}\n\n"))?;
                    }
                    match then {
                        Then::End => {
                            chunk(stream, "data: [DONE]\n\n")?;
                            stream.write_all(b"0\r\n\r\n")?;
                        }
                        Then::Hang => return self.left(&mut reader),
                        Then::Break => {
                            // In the middle of an event.
                            chunk(stream, "data: {\"tok")?;
                            return Ok(());
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Waits until the client has gone.
    fn left(&self, reader: &mut BufReader<&TcpStream>) -> std::io::Result<()> {
        let mut rest = Vec::new();
        // A reset is a client that went away, too.
        drop(reader.read_to_end(&mut rest));
        self.log
            .lock()
            .unwrap()
            .push(format!("{} closed", self.name));
        Ok(())
    }
}

fn whole(mut stream: &TcpStream, status: u16, body: &str) -> std::io::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

fn chunk(mut stream: &TcpStream, text: &str) -> std::io::Result<()> {
    write!(stream, "{:x}\r\n{text}\r\n", text.len())
}

/// Reads one request; `None` at the end of the connection.
fn request(reader: &mut BufReader<&TcpStream>) -> std::io::Result<Option<(String, Call)>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let mut headers = Vec::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        let (name, value) = (name.to_ascii_lowercase(), value.trim().to_owned());
        if name == "content-length" {
            length = value.parse().unwrap();
        }
        headers.push((name, value));
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = String::from_utf8(body).unwrap();
    Ok(Some((
        method,
        Call {
            path,
            headers,
            body,
        },
    )))
}
