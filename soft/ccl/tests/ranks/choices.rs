//! What the environment and the box let a call choose from: transports and protocols, by the times that calls then take.

use crate::libraries::{ALL, Tested};
use crate::processes::{Stage, after, is_child, plain, table};
use crate::rank::{F32, Rank};
use boxfile::{BoxFile, Collective, CollectiveKind, Fault, Protocol, Transport};

/// A table of the all-reduce that takes so many microseconds at every size up to 64 KiB.
fn of(tested: Tested, protocol: Protocol, transport: Transport, us: f64) -> Collective {
    Collective {
        protocol: Some(protocol),
        transport: Some(transport),
        points: vec![(8, us), (65536, us)],
        launch_us: None,
        ..table(tested, CollectiveKind::AllReduce, 2)
    }
}

/// Directly 10 us in LL and 20 us in Simple, through the host 30 us in LL and 50 us in Simple.
fn choices(tested: Tested) -> BoxFile {
    use {Protocol::Ll, Protocol::Simple, Transport::P2p, Transport::Shm};
    let rows = [
        (Ll, P2p, 10.0),
        (Simple, P2p, 20.0),
        (Ll, Shm, 30.0),
        (Simple, Shm, 50.0),
    ];
    let mut described = plain(tested);
    // Two of the same node, which have access to each other.
    described.collective = rows
        .map(|(protocol, transport, us)| of(tested, protocol, transport, us))
        .to_vec();
    described
}

/// The code and the microseconds, rounded, that the ranks of a test print on a box with these variables.
fn found(test: &str, tested: Tested, described: &BoxFile, variables: &[(&str, &str)]) -> String {
    let mut stage = Stage::new(test, tested, described);
    stage.variables = variables
        .iter()
        .map(|(name, value)| (format!("{}_{name}", tested.variables), (*value).to_owned()))
        .collect();
    let printed = stage.pass(test, 2);
    let found = printed.iter().map(|text| after(text, "found "));
    let found: Vec<String> = found.collect();
    assert_eq!(found[0], found[1]);
    found[0].clone()
}

/// What the all-reduce of a rank came to: its time, or the words of its refusal.
fn all_reduced() -> String {
    let rank = Rank::join();
    let memory = rank.allocate(4096);
    let mut code = 0;
    let time = rank.time_us(|| code = rank.try_all_reduce(memory, memory, 1024, F32));
    match code {
        0 => format!("{time:.1}"),
        code => rank.ccl.words(code).1,
    }
}

#[test]
fn variables_limit_transports_and_protocols() {
    if is_child() {
        println!("found {}", all_reduced());
        return;
    }
    let test = "choices::variables_limit_transports_and_protocols";
    for tested in ALL {
        let described = choices(tested);
        let of = |variables: &[(&str, &str)]| found(test, tested, &described, variables);
        assert_eq!(of(&[]), "10.0");
        assert_eq!(of(&[("PROTO", "Simple")]), "20.0");
        assert_eq!(of(&[("PROTO", "^LL")]), "20.0");
        assert_eq!(of(&[("PROTO", "LL128,Simple")]), "20.0");
        assert_eq!(of(&[("P2P_DISABLE", "1")]), "30.0");
        assert_eq!(of(&[("P2P_DISABLE", "0")]), "10.0");
        assert_eq!(of(&[("P2P_DISABLE", "1"), ("PROTO", "simple")]), "50.0");
        let words = of(&[("PROTO", "LL128"), ("P2P_DISABLE", "1")]);
        assert!(
            words.contains("AllReduce of 2 ranks through host memory in LL128; add a"),
            "{words}"
        );
    }
}

#[test]
fn devices_without_access_go_through_host_memory() {
    if is_child() {
        println!("found {}", all_reduced());
        return;
    }
    let test = "choices::devices_without_access_go_through_host_memory";
    for tested in ALL {
        let mut described = choices(tested);
        described.fault = vec![Fault::PeerDenied { pair: [1, 0] }];
        assert_eq!(found(test, tested, &described, &[]), "30.0");
        let mut described = choices(tested);
        let peers = described.peer_default.as_mut().expect("peers");
        peers.access = false;
        described.peer = Vec::new();
        assert_eq!(found(test, tested, &described, &[]), "30.0");
        // Tables through the host only are taken where nothing asks for them, too.
        let mut described = choices(tested);
        described
            .collective
            .retain(|table| table.transport == Some(Transport::Shm));
        assert_eq!(found(test, tested, &described, &[]), "30.0");
    }
}
