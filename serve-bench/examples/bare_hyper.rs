//! A bare receiver on hyper, for `bench/serve/peers.sh`: what an HTTP client costs that does nothing with what it gets but count.
//!
//! `bare_hyper HOST:PORT STREAMS REQUESTS TOKENS` makes its connections, then sends its requests in a closed loop on one thread and
//! counts bytes and events. It parses no event, keeps no instant of a token and judges nothing.
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::cell::{Cell, RefCell};
use std::error::Error;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::{LocalSet, spawn_local};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What begins the data of an event.
const DATA: &[u8] = b"data:";

/// What was counted.
#[derive(Default)]
struct Counted {
    bytes: Cell<usize>,
    events: Cell<usize>,
    firsts: RefCell<Vec<Duration>>,
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [server, numbers @ ..] = &arguments[..] else {
        return Err("usage: bare_hyper HOST:PORT STREAMS REQUESTS TOKENS".into());
    };
    let numbers: Vec<u32> = numbers
        .iter()
        .map(|text| text.parse())
        .collect::<std::result::Result<_, _>>()?;
    let [streams, requests, tokens] = numbers[..] else {
        return Err("usage: bare_hyper HOST:PORT STREAMS REQUESTS TOKENS".into());
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let work = load(server.clone(), streams, requests, tokens);
    runtime.block_on(LocalSet::new().run_until(work))
}

async fn load(server: String, streams: u32, requests: u32, tokens: u32) -> Result<()> {
    let body = Bytes::from(format!(
        r#"{{"model":"known-schedule","prompt":"a b c d","max_tokens":{tokens},"stream":true,"stream_options":{{"include_usage":true}},"ignore_eos":true}}"#
    ));
    let mut senders = Vec::new();
    for _ in 0..streams.min(requests) {
        let stream = TcpStream::connect(&server).await?;
        stream.set_nodelay(true)?;
        let (sender, driver) = handshake(TokioIo::new(stream)).await?;
        spawn_local(async move { drop(driver.await) });
        senders.push(sender);
    }
    let counted = Rc::new(Counted::default());
    let left = Rc::new(Cell::new(requests));
    let start = Instant::now();
    let tasks: Vec<_> = senders
        .into_iter()
        .map(|sender| {
            let (left, counted) = (Rc::clone(&left), Rc::clone(&counted));
            spawn_local(stream(sender, server.clone(), body.clone(), left, counted))
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    let seconds = start.elapsed().as_secs_f64();
    // The end mark is an event, and so is the usage.
    let events = counted.events.get() - 2 * requests as usize;
    let mut firsts = counted.firsts.take();
    firsts.sort_unstable();
    println!(
        "{events} events, {} bytes, {seconds:.3} s, {:.0} events/s, time to the first event: p99 {:.2} ms, mean {:.2} ms",
        counted.bytes.get(),
        events as f64 / seconds,
        firsts[(firsts.len() - 1) * 99 / 100].as_secs_f64() * 1e3,
        firsts.iter().sum::<Duration>().as_secs_f64() * 1e3 / firsts.len() as f64
    );
    Ok(())
}

/// Sends requests one after the other while there are any left.
async fn stream(
    mut sender: SendRequest<Full<Bytes>>,
    server: String,
    body: Bytes,
    left: Rc<Cell<u32>>,
    counted: Rc<Counted>,
) -> std::result::Result<(), hyper::Error> {
    while let Some(rest) = left.get().checked_sub(1) {
        left.set(rest);
        let mut request = Request::new(Full::new(body.clone()));
        *request.method_mut() = hyper::Method::POST;
        *request.uri_mut() = hyper::Uri::from_static("/v1/completions");
        for (name, value) in [
            ("host", server.as_str()),
            ("content-type", "application/json"),
        ] {
            if let (Ok(name), Ok(value)) = (
                hyper::header::HeaderName::try_from(name),
                hyper::header::HeaderValue::try_from(value),
            ) {
                request.headers_mut().insert(name, value);
            }
        }
        let sent = Instant::now();
        sender.ready().await?;
        let mut incoming = sender.send_request(request).await?.into_body();
        let mut is_first = true;
        while let Some(frame) = incoming.frame().await {
            if let Ok(data) = frame?.into_data() {
                if std::mem::take(&mut is_first) {
                    counted.firsts.borrow_mut().push(sent.elapsed());
                }
                counted.bytes.set(counted.bytes.get() + data.len());
                counted.events.set(counted.events.get() + events(&data));
            }
        }
    }
    Ok(())
}

/// Events that begin in these bytes; the server writes none in two parts.
fn events(mut bytes: &[u8]) -> usize {
    let mut count = 0;
    while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
        count += usize::from(bytes.starts_with(DATA));
        bytes = &bytes[end + 1..];
    }
    count
}
