//! What the test program does as a run of its own, as the program of a step, and as a server.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use record::{Header, Line, Provenance, ResultFolder, SCHEMA, Status};

/// Plays a role and gives the exit code.
pub(crate) fn play(words: &[String]) -> u8 {
    let of = |at: usize| Path::new(words.get(at).map_or("", String::as_str));
    let out = words.iter().position(|word| word == "--out");
    let out = of(out.map_or(words.len(), |at| at + 1));
    match words[0].as_str() {
        "run" => {
            let steps = super::steps(of(2));
            drop(super::told(of(1), &steps, 1));
        }
        "record" => record(out, || {}),
        "record-after" => record(out, || {
            super::wait_until("the gate", || of(1).exists());
        }),
        "load" => {
            let answers = runner::server::answers(&words[1]);
            std::fs::create_dir_all(out).unwrap();
            std::fs::write(out.join("answered"), answers.to_string()).unwrap();
        }
        "serve" => serve(&words[1], of(2)),
        "hang" => {
            // SIGTERM (15) is caught and passed over.
            let passed_over = Arc::new(AtomicBool::new(false));
            signal_hook::flag::register(15, passed_over).unwrap();
            with_child(of(1));
            loop {
                std::thread::sleep(Duration::from_secs(1000));
            }
        }
        other => panic!("no role {other}"),
    }
    0
}

/// Writes a whole record; `between` its header and its end.
fn record(out: &Path, between: impl FnOnce()) {
    let folder = ResultFolder::create(out).unwrap();
    let mut journal = folder.begin_journal().unwrap();
    let header = Header {
        schema: SCHEMA,
        program: "p2p-bw".to_owned(),
        version: String::new(),
        simulated: None,
        provenance: Provenance::default(),
    };
    let header = Box::new(header);
    journal.append(&Line::Header { header }).unwrap();
    between();
    let (status, exit_code) = (Status::Complete, 0);
    journal.append(&Line::End { status, exit_code }).unwrap();
    std::io::stdout().write_all(b"measured\n").unwrap();
}

/// Starts a child in a session of its own, and writes both ids into a file.
fn with_child(pids: &Path) {
    let child = Command::new("setsid").args(["sleep", "1000"]).spawn();
    let child = child.unwrap().id();
    let mut options = OpenOptions::new();
    let mut file = options.create(true).append(true).open(pids).unwrap();
    writeln!(file, "{}\n{child}", std::process::id()).unwrap();
}

/// Says that it is ready to whoever asks.
fn serve(port: &str, pids: &Path) {
    with_child(pids);
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).unwrap();
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        // One that hangs up early is its own matter.
        let _ = stream.read(&mut [0; 1024]);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    }
}
