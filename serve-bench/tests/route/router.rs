//! A router of its own for a test, and clients of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A client's body; what it does not name stays as it is.
pub(crate) const BODY: &str =
    r#"{"model":"m","prompt":"a b c","max_tokens":16,"stream":true,"x_own": [1.50, "y"]}"#;

/// A running router.
pub(crate) struct Router {
    child: Child,
    pub(crate) address: String,
    journal: PathBuf,
}

/// A reply as bytes.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    /// With the marks of chunks.
    pub(crate) body: String,
}

impl Router {
    pub(crate) fn start(arguments: &[String]) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::SeqCst);
        let journal = format!("serve-bench-route-{}-{number}.jsonl", std::process::id());
        let journal = std::env::temp_dir().join(journal);
        // An engine that hangs is not waited for longer.
        let is_set = arguments
            .iter()
            .any(|argument| argument.starts_with("--timeout"));
        let timeout = (!is_set).then_some("--timeout=1");
        let mut child = built::named("serve-bench")
            .args(["route", "--port", "0", "--journal"])
            .arg(&journal)
            .args(timeout)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut first = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut first).unwrap();
        let address = first.trim_end().strip_prefix("listening on http://");
        Self {
            address: address.unwrap_or_else(|| panic!("{first}")).to_owned(),
            child,
            journal,
        }
    }

    /// Sends a request and leaves its connection open.
    pub(crate) fn ask(&self, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        let head = "POST /v1/completions?x=1 HTTP/1.1\r\nHost: router\r\nAuthorization: Bearer secret\r\nX-Request-Id: r1\r\nX-Own: kept\r\nContent-Type: application/json\r\nConnection: close";
        write!(stream, "{head}\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
        stream
    }

    /// Sends a request and reads the whole reply.
    pub(crate) fn reply(&self, body: &str) -> Reply {
        read(self.ask(body))
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: router\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        read(stream)
    }

    pub(crate) fn terminate(&self) {
        let pid = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
    }

    /// Ends it and gives the lines of its journal.
    pub(crate) fn end(self) -> Vec<Value> {
        let journal = self.journal();
        let text = std::fs::read_to_string(&journal).unwrap();
        std::fs::remove_file(&journal).unwrap();
        let lines = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        // Engines' counters stand among the requests.
        lines.filter(|line| line["engine"].is_null()).collect()
    }

    /// Ends it and gives its journal's file.
    pub(crate) fn journal(mut self) -> PathBuf {
        self.terminate();
        assert_eq!(self.child.wait().unwrap().code(), Some(143));
        self.journal
    }
}

pub(crate) fn read(mut stream: TcpStream) -> Reply {
    let mut bytes = Vec::new();
    // A connection that was broken off is told by what came before.
    drop(stream.read_to_end(&mut bytes));
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head
        .split_whitespace()
        .nth(1)
        .and_then(|word| word.parse().ok());
    Reply {
        status: status.unwrap_or(0),
        head: head.to_ascii_lowercase(),
        body: body.to_owned(),
    }
}

/// A port at which nobody listens.
pub(crate) fn nobody() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}
