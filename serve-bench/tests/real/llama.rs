//! The engine as a child, and runs of the load generator against it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use record::{Payload, Serve, load};

/// Tells which Python has the engine; `cargo xtask test` installs it.
const PYTHON: &str = "TPLENS_LLAMA_PYTHON";

/// What its start never takes, also on a busy machine.
const LONG: Duration = Duration::from_secs(120);

/// A running engine with its folder; it ends with the value.
pub(crate) struct Llama {
    child: Child,
    pub(crate) folder: PathBuf,
    address: String,
}

impl Llama {
    /// Starts one and waits until it answers; where there is none, the test is noted as skipped.
    pub(crate) fn start() -> Option<Self> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let Some(python) = std::env::var_os(PYTHON) else {
            skipped(
                "loads on a real engine need a Python with xllamacpp; `cargo xtask test` installs it",
            );
            return None;
        };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("serve-bench-real-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        // Free now; that another takes it before the server does is not likely.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/llama/serve.py");
        let child = Command::new(python)
            .arg(script)
            .arg(port.to_string())
            .arg(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let llama = Self {
            child,
            folder,
            address: format!("127.0.0.1:{port}"),
        };
        // While it reads its model it answers 503.
        let began = Instant::now();
        while !llama
            .get("/health")
            .is_some_and(|reply| reply.starts_with("HTTP/1.1 200"))
        {
            assert!(began.elapsed() < LONG, "llama.cpp's server does not start");
            std::thread::yield_now();
        }
        Some(llama)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Runs a load through this address and gives what was recorded of it; no request may fail.
    #[track_caller]
    pub(crate) fn run(&self, url: &str, more: &[&str]) -> Serve {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let out = self.folder.join(format!("run-{number}"));
        let output = built::named("serve-bench")
            .args(["run", "--base-url", url, "--out"])
            .arg(&out)
            .args(["--num-warmups", "0", "--random-input-len", "12"])
            .args(more)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        // A busy machine may make a run invalid, which is code 3.
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 3)), "{more:?}: {code:?} {said}");
        let Payload::Serve(serve) = load(&out).unwrap().payload else {
            panic!("{more:?}: {said}")
        };
        for request in &serve.requests {
            assert_eq!(request.error, None, "{more:?}: {said}");
        }
        *serve
    }

    /// What a path answers, from its status line on; `None` where nothing does.
    fn get(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        let head = format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// A figure of the server's own.
    #[track_caller]
    pub(crate) fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics").unwrap();
        let line = text.lines().find(|line| {
            line.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(' '))
        });
        let line = line.unwrap_or_else(|| panic!("no {name} in {text}"));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    }
}

impl Drop for Llama {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Notes a test that cannot run here.
fn skipped(reason: &str) {
    let Some(log) = std::env::var_os("TPLENS_SKIP_LOG") else {
        return;
    };
    let file = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(log);
    writeln!(file.unwrap(), "{reason}").unwrap();
}
