//! An engine as a child of the test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};

/// A running engine; it ends with the value.
pub(crate) struct Served {
    child: Child,
    pub(crate) url: String,
}

impl Served {
    /// Starts one on a free port, so many times faster than its box.
    pub(crate) fn start(speed: u32, arguments: &[&str]) -> Self {
        let speed = speed.to_string();
        Self::with(&[&["--speed", &speed], arguments].concat())
    }

    /// Starts one on a free port.
    pub(crate) fn with(arguments: &[&str]) -> Self {
        let mut child = built::named("serve-bench")
            .args([
                "engine",
                "--box",
                "rtxpro6000-mig",
                "--model",
                "llama-3.1-8b",
                "--port",
                "0",
            ])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut first)
            .unwrap();
        let url = first.trim_end().strip_prefix("listening on ");
        let url = url.unwrap_or_else(|| panic!("{arguments:?}: {first}"));
        Self {
            url: url.to_owned(),
            child,
        }
    }

    /// Its port.
    pub(crate) fn port(&self) -> &str {
        self.url.rsplit(':').next().unwrap()
    }

    /// Gets a path and gives status line, headers and body as they came.
    pub(crate) fn get(&self, path: &str) -> String {
        let address = self.url.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply
    }

    /// The value of a metric, whatever its labels.
    #[track_caller]
    pub(crate) fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics");
        let is_it = |line: &&str| {
            line.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(['{', ' ']))
        };
        let line = text.lines().find(is_it);
        let line = line.unwrap_or_else(|| panic!("no {name} in {text}"));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}
