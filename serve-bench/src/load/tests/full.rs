//! A run that takes in more than its budget ends early, and what it measured is kept.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use clap::Parser;
use record::caveat::Caveat;
use record::{Payload, Record, RequestErrorKind, Serve, Status, load};
use runner::Interrupt;

use crate::load::args::Args;
use crate::load::budget::Budget;
use crate::load::session;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: Args,
}

/// A server whose replies have so many chunks by their number, from 0 on, warm-up included.
fn server(chunks: fn(usize) -> usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut asked = 0;
        for stream in listener.incoming() {
            // A client that goes away ends its connection, not the server.
            drop(answer(&stream.unwrap(), &mut asked, chunks));
        }
    });
    url
}

fn answer(
    mut stream: &TcpStream,
    asked: &mut usize,
    chunks: fn(usize) -> usize,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let (mut first, mut length) = (String::new(), 0);
        if reader.read_line(&mut first)? == 0 {
            return Ok(());
        }
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            match line.trim_end().split_once(": ") {
                Some(("content-length", value)) => length = value.parse().unwrap(),
                Some(_) => {}
                None => break,
            }
        }
        reader.read_exact(&mut vec![0; length])?;
        let (kind, body) = if first.starts_with("GET") {
            ("application/json", r#"{"data":[{"id":"m"}]}"#.to_owned())
        } else {
            let text = "data: {\"choices\":[{\"text\":\"a\",\"finish_reason\":null}]}\n\n";
            let text = text.repeat(chunks(*asked)) + "data: [DONE]\n\n";
            *asked += 1;
            ("text/event-stream", text)
        };
        let length = body.len();
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n");
        stream.write_all(format!("{head}\r\n{body}").as_bytes())?;
    }
}

/// Five requests one after the other behind a warm-up, within a budget; the record is read back from the folder.
fn ran(name: &str, url: &str, budget: u64, more: &[&str]) -> (Record, Serve) {
    let folder = std::env::temp_dir().join(format!("tplens-{name}-{}", std::process::id()));
    let out = folder.display().to_string();
    let fixed = ["run", "--base-url", url, "--out", &out, "--no-metrics"];
    let load_of = [
        "--concurrency",
        "1",
        "--requests",
        "5",
        "--num-warmups",
        "1",
    ];
    let lengths = ["--input-tokens", "8", "--output-tokens", "20"];
    let arguments = fixed.iter().chain(&load_of).chain(&lengths).chain(more);
    let line = Line::parse_from(arguments);
    let budget = Budget::of(budget);
    let ended = session::run(&line.args, &Interrupt::none(), &|_| {}, budget).unwrap();
    assert!(ended.failed.is_none(), "{:?}", ended.failed);
    let record = load(&folder).unwrap();
    assert_eq!(record, ended.record);
    assert_eq!(record, load(&folder.join("record.json")).unwrap());
    std::fs::remove_dir_all(&folder).unwrap();
    match record.payload.clone() {
        Payload::Serve(serve) => (record, *serve),
        other => panic!("{}", other.kind()),
    }
}

#[test]
fn a_run_ends_with_its_budget_and_what_ended_is_kept() {
    // Of 50 chunks the first two replies take 40, and the third goes beyond them; the 20 of the warm-up are not counted.
    let url = server(|_| 20);
    let (record, serve) = ran("spent", &url, 50, &[]);
    assert_eq!((&record.status, record.exit_code), (&Status::Complete, 3));
    let chunks = |serve: &Serve| {
        let of = serve.requests.iter().map(|one| one.token_chunks_ms.len());
        of.collect::<Vec<_>>()
    };
    assert_eq!(chunks(&serve), [20, 20]);
    assert!(serve.caveats.contains(&Caveat::RecordFull { requests: 2 }));
    assert_eq!(serve.summary.map(|summary| summary.completed), Some(2));
    // All of five requests fit into a hundred.
    let (record, serve) = ran("enough", &url, 100, &[]);
    assert_eq!(record.exit_code, 0);
    assert_eq!(chunks(&serve), [20; 5]);
}

#[test]
fn a_budget_counts_what_came_and_not_what_was_asked_for() {
    // 20 tokens are asked for, and 10 chunks come.
    let (record, serve) = ran("short", &server(|_| 10), 50, &["--no-ignore-eos"]);
    assert_eq!((record.exit_code, serve.requests.len()), (0, 5));
}

#[test]
fn a_reply_of_four_chunks_a_token_stands_and_one_more_is_too_long() {
    // The second reply is the first measured one.
    let chunks = |number| if number == 1 { 81 } else { 80 };
    let (record, serve) = ran("long", &server(chunks), 1000, &[]);
    let kinds = serve
        .requests
        .iter()
        .map(|one| one.error.as_ref().map(|error| error.kind));
    let mut expected = [None; 5];
    expected[0] = Some(RequestErrorKind::ReplyTooLong);
    assert_eq!(kinds.collect::<Vec<_>>(), expected);
    assert_eq!(record.exit_code, 3);
}

#[test]
fn a_warm_up_beyond_the_budget_measures_nothing() {
    let (record, serve) = ran("warm", &server(|_| 20), 10, &[]);
    assert!(
        matches!(record.status, Status::Refused { .. }),
        "{:?}",
        record.status
    );
    assert_eq!((record.exit_code, serve.requests.len()), (3, 0));
}
