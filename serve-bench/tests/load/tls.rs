//! Servers at `https://` addresses: who is believed, why another is not, and that streams are what they are without TLS. The
//! certificates are made here; the TLS of the servers is rustls', as that of the program.

mod front;

use record::RequestErrorKind as Kind;
use rustls::version::{TLS12, TLS13};

use self::front::{Authority, Front, server};
use crate::load::common::{Ran, Scratch};
use crate::load::mock::{Mock, Step, end, good, head, part, send, text, usage_and_done};

const HOST: &str = "127.0.0.1";

/// Runs a load that trusts what stands in this PEM text; the system's certificates are those of nobody.
fn run(scratch: &Scratch, url: &str, pem: &str, more: &[&str]) -> Ran {
    std::fs::write(scratch.join("ca.pem"), pem).unwrap();
    let flags = [&["--ca-file", "ca.pem"][..], more].concat();
    with_system(scratch, url, "", &flags)
}

/// Runs a load on a system that trusts what stands in this PEM text.
fn with_system(scratch: &Scratch, url: &str, pem: &str, more: &[&str]) -> Ran {
    let file = scratch.join("system.pem");
    std::fs::write(&file, pem).unwrap();
    let output = scratch
        .load(url, more)
        .env("SSL_CERT_FILE", file)
        .env_remove("SSL_CERT_DIR")
        .output()
        .unwrap();
    Ran::of(output, &scratch.join("out"))
}

/// Nobody was believed, and why.
#[track_caller]
fn refused(ran: &Ran, says: &[&str]) {
    ran.expect(3);
    for says in says {
        assert!(ran.stderr.contains(says), "no `{says}` in {}", ran.stderr);
    }
    assert!(ran.stderr.contains("no answer from https://127.0.0.1:"));
}

#[test]
fn a_server_whose_ca_is_named_is_loaded_over_kept_connections() {
    for version in [&TLS12, &TLS13] {
        let mock = Mock::playing(|_| good());
        let authority = Authority::new();
        let front = Front::start(&mock, server(&authority.leaf(HOST), version));
        let scratch = Scratch::new();
        let ran = run(&scratch, &front.url, &authority.pem(), &["--requests", "5"]);
        ran.expect(0);
        assert_eq!(ran.kinds(), [None; 5]);
        let serve = ran.serve();
        let target = serve.target.as_ref().unwrap();
        assert!(target.base_url.starts_with("https://"), "{target:?}");
        for request in &serve.requests {
            assert_eq!(request.output_tokens, Some(2));
            assert_eq!(request.token_chunks_ms.len(), 2);
        }
        // What comes behind a handshake, such as tickets, is no reason to connect anew.
        assert_eq!(serve.client.as_ref().unwrap().reconnects, 0);
        let connections = mock.connections();
        assert_eq!(connections, [connections[0]; 5]);
    }
}

#[test]
fn a_ca_of_the_system_is_believed_and_one_that_nobody_named_is_not() {
    let mock = Mock::playing(|_| good());
    let authority = Authority::new();
    let front = Front::start(&mock, server(&authority.leaf(HOST), &TLS13));
    let ran = with_system(&Scratch::new(), &front.url, &authority.pem(), &[]);
    ran.expect(0);
    let ran = with_system(&Scratch::new(), &front.url, &Authority::new().pem(), &[]);
    refused(
        &ran,
        &["nobody who is trusted here has signed it", "--ca-file"],
    );
    assert!(
        !ran.stderr.contains("is the server started"),
        "{}",
        ran.stderr
    );
    // An empty system cannot check anything.
    let ran = with_system(&Scratch::new(), &front.url, "", &[]);
    ran.expect(2);
    assert!(ran.stderr.contains("ca-certificates"), "{}", ran.stderr);
}

#[test]
fn an_unchecked_certificate_is_a_reservation_of_the_result() {
    let mock = Mock::playing(|_| good());
    let front = Front::start(&mock, server(&Authority::new().leaf("elsewhere"), &TLS13));
    let ran = with_system(&Scratch::new(), &front.url, "", &["--insecure"]);
    ran.expect(0);
    assert!(ran.caveats().contains("certificate-unchecked"));
}

#[test]
fn a_certificate_of_another_host_or_another_time_is_refused_with_the_reason() {
    let mock = Mock::playing(|_| good());
    let authority = Authority::new();
    let other = Front::start(&mock, server(&authority.leaf("elsewhere"), &TLS13));
    let ran = run(&Scratch::new(), &other.url, &authority.pem(), &[]);
    refused(&ran, &["not valid for name"]);
    let old = authority.leaf_until(HOST, 2000);
    let old = Front::start(&mock, server(&old, &TLS13));
    let ran = run(&Scratch::new(), &old.url, &authority.pem(), &[]);
    refused(&ran, &["expired"]);
    assert!(mock.asked().is_empty());
}

#[test]
fn a_certificate_that_signed_itself_is_believed_where_it_is_named() {
    let mock = Mock::playing(|_| good());
    // It says that it is a CA's, as those of `openssl req -x509` do.
    let own = Authority::of(HOST);
    let front = Front::start(&mock, server(&own.itself(), &TLS13));
    run(&Scratch::new(), &front.url, &own.pem(), &[]).expect(0);
    let other = Authority::of(HOST);
    let ran = run(&Scratch::new(), &front.url, &other.pem(), &[]);
    refused(&ran, &["the server's certificate is refused"]);
}

#[test]
fn a_certificate_that_changes_within_a_run_fails_requests_as_connections() {
    // The server closes behind each reply, so that every request but those over connections made before needs a handshake.
    let mock = Mock::playing(|_| {
        let mut steps = good();
        steps.push(Step::Close);
        steps
    });
    let (good, bad) = (Authority::new(), Authority::new());
    let certificates = [good.leaf(HOST), bad.leaf(HOST)];
    // Two questions and the connection made before the first request; what is made behind it meets the other certificate.
    let configs = certificates.map(|certificate| server(&certificate, &TLS13));
    let front = Front::choosing(&mock, move |number| {
        configs[usize::from(number >= 3)].clone()
    });
    let ran = run(
        &Scratch::new(),
        &front.url,
        &good.pem(),
        &["--requests", "3"],
    );
    ran.expect(3);
    let kinds = ran.kinds();
    assert_eq!(kinds[1..], [Some(Kind::Connect); 2], "{kinds:?}");
    let error = ran.serve().requests[2].error.clone().unwrap();
    assert!(
        error.seen.contains("certificate is refused"),
        "{}",
        error.seen
    );
}

#[test]
fn a_prompt_larger_than_any_buffer_and_a_chunk_of_many_records_go_through() {
    // 4 MiB up and, in chunks of 200 kB, more than a TLS record (16 KiB, RFC 8446 section 5.1) down.
    let long = "b".repeat(200_000);
    let mock = Mock::playing(move |_| {
        vec![
            head(),
            part(text(&long)),
            part(text(&long)),
            part(usage_and_done(8, 2)),
            end(),
        ]
    });
    let authority = Authority::new();
    let front = Front::start(&mock, server(&authority.leaf(HOST), &TLS13));
    let scratch = Scratch::new();
    let prompt = "a".repeat(4 << 20);
    let line = format!("{{\"prompt\": \"{prompt}\", \"output_tokens\": 2}}\n");
    std::fs::write(scratch.join("data.jsonl"), line).unwrap();
    let data = [
        "--dataset-name",
        "custom",
        "--dataset-path",
        "data.jsonl",
        "--requests",
        "1",
    ];
    let ran = run(&scratch, &front.url, &authority.pem(), &data);
    ran.expect(0);
    assert_eq!(mock.asked()[0].body["prompt"], prompt.as_str());
    assert_eq!(ran.serve().requests[0].token_chunks_ms.len(), 2);
}

#[test]
fn errors_and_cut_streams_are_the_same_kinds_behind_tls() {
    let mock = Mock::playing(|asked| match asked.number {
        0 => vec![head(), part(text("a")), Step::Close],
        1 => vec![send("HTTP/1.1 503 Busy\r\ncontent-length: 4\r\n\r\nbusy")],
        2 => vec![head(), part(text("a")), Step::Stall],
        _ => good(),
    });
    let authority = Authority::new();
    let front = Front::start(&mock, server(&authority.leaf(HOST), &TLS13));
    let more = ["--requests", "4", "--timeout", "2"];
    let ran = run(&Scratch::new(), &front.url, &authority.pem(), &more);
    ran.expect(3);
    let kinds = [Kind::CutShort, Kind::Status, Kind::TimedOut].map(Some);
    assert_eq!(ran.kinds()[..3], kinds);
    let seen = ran.serve().requests[2].error.clone().unwrap().seen;
    assert!(seen.contains("not done after 2 s (--timeout)"), "{seen}");
}

#[test]
fn a_router_believes_engines_as_a_load_does() {
    use crate::route::router::{BODY, Router};
    let mock = Mock::playing(|_| good());
    let authority = Authority::new();
    let front = Front::start(&mock, server(&authority.leaf(HOST), &TLS13));
    let scratch = Scratch::new();
    for (pem, status, outcome) in [
        (authority.pem(), 200, "done"),
        (Authority::new().pem(), 503, "prefill-refused"),
    ] {
        let file = scratch.join("ca.pem");
        std::fs::write(&file, pem).unwrap();
        let router = Router::start(&[
            format!("--prefill={}", front.url),
            format!("--decode={}", front.url),
            "--dialect=sglang".to_owned(),
            format!("--ca-file={}", file.display()),
        ]);
        assert_eq!(router.reply(BODY).status, status);
        assert_eq!(router.end()[0]["outcome"], outcome);
    }
    // A router that trusts nobody asked nothing.
    assert_eq!(mock.asked().len(), 2);
}
