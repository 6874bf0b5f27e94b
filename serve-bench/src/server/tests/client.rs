//! A client of a few lines, so that no HTTP library stands between the test and the bytes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// What nothing here takes, also on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// A connection with a request on its way.
pub(super) struct Connection(BufReader<TcpStream>);

/// A response's head.
pub(super) struct Head {
    pub(super) status: u16,
    /// Names in lower case, with their values.
    headers: Vec<(String, String)>,
}

impl Head {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl Connection {
    pub(super) fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        Self(BufReader::new(stream))
    }

    pub(super) fn send(&mut self, method: &str, path: &str, body: &str) {
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: test\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        self.0.get_mut().write_all(request.as_bytes()).unwrap();
    }

    pub(super) fn head(&mut self) -> Head {
        let status = self.line();
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            let Some((name, value)) = line.split_once(": ") else {
                assert_eq!(line, "");
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        Head {
            status: status.split(' ').nth(1).unwrap().parse().unwrap(),
            headers,
        }
    }

    /// The next part of a chunked body; empty at its end.
    pub(super) fn chunk(&mut self) -> String {
        let length = usize::from_str_radix(&self.line(), 16).unwrap();
        let mut bytes = vec![0; length + 2];
        self.0.read_exact(&mut bytes).unwrap();
        bytes.truncate(length);
        String::from_utf8(bytes).unwrap()
    }

    pub(super) fn body(&mut self, head: &Head) -> String {
        if let Some(length) = head.header("content-length") {
            let mut bytes = vec![0; length.parse().unwrap()];
            self.0.read_exact(&mut bytes).unwrap();
            return String::from_utf8(bytes).unwrap();
        }
        assert_eq!(head.header("transfer-encoding"), Some("chunked"));
        let mut body = String::new();
        loop {
            let chunk = self.chunk();
            if chunk.is_empty() {
                return body;
            }
            body += &chunk;
        }
    }

    /// Whether the server ends the connection, or says nothing for a while.
    pub(super) fn is_closed(&mut self) -> bool {
        let soon = Some(Duration::from_millis(200));
        self.0.get_mut().set_read_timeout(soon).unwrap();
        self.0.read(&mut [0; 1]).is_ok_and(|read| read == 0)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

/// One request on a connection of its own.
pub(super) fn ask(address: SocketAddr, method: &str, path: &str, body: &str) -> (Head, String) {
    let mut connection = Connection::open(address);
    connection.send(method, path, body);
    let head = connection.head();
    let body = connection.body(&head);
    (head, body)
}

/// The value of a metric.
pub(super) fn metric(address: SocketAddr, name: &str) -> f64 {
    let (_, text) = ask(address, "GET", "/metrics", "");
    let line = text
        .lines()
        .find(|line| line.starts_with(&format!("{name}{{")))
        .unwrap();
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

/// A body whose `created` is replaced by 0, for comparison.
pub(super) fn timeless(body: &str) -> String {
    let mut parts = body.split("\"created\":");
    let mut out = parts.next().unwrap().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        assert!(part.len() - rest.len() >= 10, "not seconds since 1970");
        out += "\"created\":0";
        out += rest;
    }
    out
}
