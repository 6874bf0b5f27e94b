//! The filter against rustls' own server, in memory: however records are cut, what is in them comes out whole and with the instant
//! of the bytes that completed it.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection};

use super::{Filter, Trust};
use crate::load::clock::Arrival;

fn server() -> ServerConnection {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["box".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    ServerConnection::new(Arc::new(config)).unwrap()
}

fn at(read: Instant) -> Arrival {
    Arrival {
        read,
        received: None,
    }
}

/// What a server has to write.
fn written(server: &mut ServerConnection) -> Vec<u8> {
    let mut bytes = Vec::new();
    while server.wants_write() {
        server.write_tls(&mut bytes).unwrap();
    }
    bytes
}

/// Gives a server what was written to it; gives what was in it.
fn told(server: &mut ServerConnection, bytes: &[u8]) -> Vec<u8> {
    let (mut rest, mut plain) = (bytes, Vec::new());
    while !rest.is_empty() {
        server.read_tls(&mut rest).unwrap();
        server.process_new_packets().unwrap();
        drop(server.reader().read_to_end(&mut plain));
    }
    plain
}

fn connected() -> (Filter, ServerConnection) {
    let mut filter = Filter::begin(&Trust::of("box", None, true).unwrap()).unwrap();
    let mut server = server();
    while filter.is_shaking_hands() || server.is_handshaking() {
        let bytes = filter.outgoing().unwrap();
        assert!(told(&mut server, &bytes).is_empty());
        let bytes = written(&mut server);
        filter.decrypt(&bytes, at(Instant::now())).unwrap();
    }
    (filter, server)
}

#[test]
fn a_record_comes_out_with_the_instant_of_its_last_byte() {
    let (mut filter, mut server) = connected();
    // Tickets behind the handshake are nothing to be read.
    assert!(filter.arrival.is_none() && filter.take().is_none());
    let request = filter.encrypt([b"one ", b"two ", b"three"]).unwrap();
    assert_eq!(told(&mut server, &request), b"one two three");
    server.writer().write_all(b"a token").unwrap();
    let bytes = written(&mut server);
    let begun = Instant::now();
    for (index, byte) in (0_u32..).zip(&bytes) {
        assert!(
            filter.arrival.is_none(),
            "before byte {index} of {}",
            bytes.len()
        );
        let arrival = at(begun + Duration::from_millis(1) * index);
        filter.decrypt(&[*byte], arrival).unwrap();
    }
    let (plain, arrival) = filter.take().unwrap();
    assert_eq!(plain, b"a token");
    // The first byte came at 0 ms, so the last of n at n - 1.
    let last = u32::try_from(bytes.len()).unwrap() - 1;
    assert_eq!(arrival.at() - begun, Duration::from_millis(1) * last);
    assert!(filter.arrival.is_none() && !filter.closed);
}

#[test]
fn many_records_of_one_read_come_out_together_and_an_end_is_seen() {
    let (mut filter, mut server) = connected();
    // 100 kB are seven records of at most 16 KiB.
    let sent: Vec<u8> = (0..100_000_u32).map(|n| (n % 251) as u8).collect();
    server.set_buffer_limit(None);
    server.writer().write_all(&sent).unwrap();
    server.send_close_notify();
    let bytes = written(&mut server);
    filter.decrypt(&bytes, at(Instant::now())).unwrap();
    assert!(filter.closed && filter.arrival.is_some());
    assert_eq!(filter.take().unwrap().0, sent);
    assert!(filter.take().is_none());
}
