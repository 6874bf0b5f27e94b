//! No server holds the client or fills its memory: what is endless is given up at the limit that `--help` states.
//!
//! The client gets 1 GiB of addresses, which is less than each of these servers offers: one that kept all would be ended by its own
//! failed allocation.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::Arc;

use record::RequestErrorKind as Kind;
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::load::common::{Ran, Scratch};
use crate::load::mock::{Mock, Step, good, send};

/// Addresses that the client may have, bytes.
const ROOM: u64 = 1 << 30;

/// Pieces of 1 MiB that a server offers: more than fits.
const OFFERED: usize = 1100;

/// Runs a load in little memory.
pub(crate) fn run(scratch: &Scratch, url: &str, more: &[&str]) -> Ran {
    let child = scratch
        .load(url, more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let room = Rlimit {
        current: Some(ROOM),
        maximum: Some(ROOM),
    };
    prlimit(Some(Pid::from_child(&child)), Resource::As, room).unwrap();
    Ran::of(child.wait_with_output().unwrap(), &scratch.join("out"))
}

/// A beginning, and then the same piece again and again.
fn endless(beginning: &str, piece: &[u8]) -> Vec<Step> {
    let piece: Arc<[u8]> = piece.repeat((1 << 20) / piece.len()).into();
    vec![send(beginning), Step::Repeat(piece, OFFERED)]
}

#[test]
fn what_has_no_end_is_given_up_in_little_memory() {
    let ok = "HTTP/1.1 200 OK\r\n";
    let cases: [(&str, &[u8], Kind, &str); 6] = [
        // One line of a stream: more than 1 GB without its end.
        ("\r\ndata: ", b"x", Kind::Garbled, "longer than 16 MiB"),
        // One event of many lines.
        (
            "\r\n",
            b"data: xxxxxxxx\n",
            Kind::Garbled,
            "longer than 16 MiB",
        ),
        (
            "\r\n{\"error\": \"",
            b"x",
            Kind::Garbled,
            "one object and is longer than 16 MiB",
        ),
        ("x-long: ", b"x", Kind::Garbled, "64 KiB"),
        ("", b"x-many: 1\r\n", Kind::Garbled, ""),
        (
            "transfer-encoding: chunked\r\n\r\n5;",
            b"x",
            Kind::Garbled,
            "",
        ),
    ];
    for (beginning, piece, kind, says) in cases {
        let beginning = format!("{ok}{beginning}");
        let piece = piece.to_vec();
        let mock = Mock::playing(move |asked| match asked.number {
            0 => endless(&beginning, &piece),
            _ => good(),
        });
        let ran = run(&Scratch::new(), &mock.url, &[]);
        ran.expect(3);
        assert_eq!(ran.kinds(), [Some(kind), None], "{says}: {}", ran.stderr);
        let seen = ran.serve().requests[0].error.clone().unwrap().seen;
        assert!(seen.contains(says), "{seen}");
    }
}

#[test]
fn the_body_of_an_error_has_an_end() {
    let mock = Mock::playing(|asked| match asked.number {
        0 => endless("HTTP/1.1 500 Internal Server Error\r\n\r\nbroken ", b"x"),
        _ => good(),
    });
    let ran = run(&Scratch::new(), &mock.url, &[]);
    ran.expect(3);
    assert_eq!(ran.kinds(), [Some(Kind::Status), None]);
    let seen = ran.serve().requests[0].error.clone().unwrap().seen;
    assert!(
        seen.starts_with("500 Internal Server Error: broken xxx"),
        "{seen}"
    );
}

#[test]
fn an_endless_answer_before_the_load_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            drop(stream.read(&mut [0; 4096]));
            drop(stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n"));
            let piece = vec![b'['; 1 << 20];
            while stream.write_all(&piece).is_ok() {}
        }
    });
    let ran = run(&Scratch::new(), &url, &[]);
    ran.expect(3);
    assert!(ran.stderr.contains("larger than 4 MiB"), "{}", ran.stderr);
}

#[test]
fn a_server_that_takes_connections_and_never_answers_is_not_waited_for_longer_than_the_time_out() {
    // Connections wait in the listener's queue; nobody takes them.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let ran = run(&Scratch::new(), &url, &["--timeout", "0.5"]);
    ran.expect(3);
    assert!(
        ran.stderr.contains("/v1/models took longer than 0.5 s"),
        "{}",
        ran.stderr
    );
}
