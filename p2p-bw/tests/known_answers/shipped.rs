//! The built-in boxes without their noise: every case against the solver, and where one flow is alone against arithmetic
//! that stands here.

use boxfile::BoxFile;
use record::Endpoint::{Device, Host};
use record::{Links, Outcome, PeerVerdict};

use super::errors::assert_within;
use super::program::{compared, measured, number, points, verdict};

/// Nothing varies, so what is left is rounding: CUDA gives event times as single-precision milliseconds, 6e-8.
const EXACT: f64 = 1e-6;

/// Bytes of `--sizes 16M`.
const SIXTEEN: f64 = 16_777_216.0;

fn quiet(name: &str) -> BoxFile {
    let mut described = BoxFile::builtin(name).unwrap();
    described.noise = None;
    described
}

/// Copies alone, both ways at once and of several devices at once, and chases.
const WITH_GROUPS: [&str; 4] = [
    "--sizes",
    "16M",
    "--cases",
    "core,host_bidir_pinned_ce,d2d_read_*,d2d_bidir_*_ce,host_to_all_ce,all_to_host_ce,all_pairs_ce",
];

/// GB/s of copies that run alone, each with its latency: bytes / (latency + bytes / rate), and 1 GB/s is 1 byte a nanosecond.
fn alone(bytes: f64, latency_us: f64, gbps: f64) -> f64 {
    bytes / (latency_us * 1e3 + bytes / gbps)
}

/// A number of a run, by case, ends and name, and what it must be.
type Expected = (&'static str, [record::Endpoint; 2], &'static str, f64);

fn assert_numbers(links: &Links, all: impl IntoIterator<Item = Expected>) {
    for (case, ends, name, expected) in all {
        let found = number(links, case, ends[0], ends[1], name);
        let relative = (found / expected - 1.0).abs();
        assert!(
            relative < EXACT,
            "{case} {ends:?} {name}: {found} found, {expected} expected"
        );
    }
}

/// Whether no point of a case applies, and there are so many.
fn is_left_out(links: &Links, case: &str, count: usize) -> bool {
    let is_out = |outcome: &Outcome| matches!(outcome, Outcome::NotApplicable { .. });
    points(links, case).all(|point| is_out(&point.outcome)) && points(links, case).count() == count
}

fn pairs(devices: usize) -> impl Iterator<Item = (usize, usize)> {
    let pairs = (0..devices).flat_map(move |a| (0..devices).map(move |b| (a, b)));
    pairs.filter(|(a, b)| a != b)
}

#[test]
fn the_l40_box_gives_its_file_s_figures() {
    let described = quiet("l40x4");
    let links = measured(&described, &WITH_GROUPS);
    let all = compared(&described, &links);
    // 4 devices x (4 one-way, 3 numbers both ways, 1 local, 1 chase), 12 ordered pairs x (write and read by engine and kernel, a
    // chase), 6 pairs x 3 x (write, read), 4 shares and a total x (host to all, all to host), 12 and a total for all pairs.
    assert_eq!(
        all.len(),
        4 * 9 + 12 * 5 + 6 * 3 * 2 + (4 + 1) * 2 + (12 + 1)
    );
    assert_within(&all, EXACT);

    let gbps = |gbps| alone(SIXTEEN, 2.0, gbps);
    for gpu in 0..4 {
        let (down, up) = ([Host, Device(gpu)], [Device(gpu), Host]);
        assert_numbers(
            &links,
            [
                ("h2d_pinned_ce", down, "bandwidth", gbps(25.6)),
                ("d2h_pinned_ce", up, "bandwidth", gbps(25.9)),
                ("h2d_pageable_ce", down, "bandwidth", gbps(9.0)),
                ("d2h_pageable_ce", up, "bandwidth", gbps(8.0)),
                ("local_ce", [Device(gpu); 2], "bandwidth", gbps(330.0)),
                // Two engines, links and a socket of 90 GB/s each way: the directions do not meet. In all, twice the slower one.
                ("host_bidir_pinned_ce", down, "forward", gbps(25.6)),
                ("host_bidir_pinned_ce", down, "back", gbps(25.9)),
                ("host_bidir_pinned_ce", down, "total", 2.0 * gbps(25.6)),
            ],
        );
    }
    for (a, b) in pairs(4) {
        assert_eq!(verdict(&links, a, b), PeerVerdict::Direct);
        // 25 within a socket; 22 across, below the 60 between the sockets, each way.
        let expected = alone(SIXTEEN, 2.5, if a / 2 == b / 2 { 25.0 } else { 22.0 });
        let ends = [Device(a), Device(b)];
        let one_way = ["d2d_write_ce", "d2d_read_ce"];
        assert_numbers(
            &links,
            one_way.map(|case| (case, ends, "bandwidth", expected)),
        );
        for case in ["d2d_bidir_write_ce", "d2d_bidir_read_ce"] {
            let total = (case, ends, "total", 2.0 * expected);
            assert_numbers(&links, [total].into_iter().filter(|_| a < b));
        }
    }
    assert!(is_left_out(&links, "d2d_staged_ce", 12));
}

#[test]
fn without_peer_access_the_l40_box_is_staged() {
    let described = quiet("l40x4");
    let staged = ["--sizes", "16M", "--no-peer", "--cases", "d2d_*"];
    let links = measured(&described, &staged);
    let all = compared(&described, &links);
    assert_eq!(all.len(), 12); // one case on 12 ordered pairs; those that need access do not apply
    assert_within(&all, EXACT);
    // 16 pieces of 1 MiB in a copy, each 2 us + 1048576 B at 25.9 up and at 25.6 down. Down is slower and sets the pace,
    // after the first piece went up. One copy is 730 us, so 2 fill the window of 1 ms: 32 pieces.
    let (up, down) = (2e3 + 1_048_576.0 / 25.9, 2e3 + 1_048_576.0 / 25.6);
    let ours = 2.0 * SIXTEEN / (up + 32.0 * down);
    for (a, b) in pairs(4) {
        let ends = [Device(a), Device(b)];
        assert_numbers(&links, [("d2d_staged_ce", ends, "bandwidth", ours)]);
    }
}

#[test]
fn the_mig_box_shows_its_instances_denied_and_staged() {
    let described = quiet("rtxpro6000-mig");
    let links = measured(&described, &WITH_GROUPS);
    let all = compared(&described, &links);
    // As above on 2 devices; 2 ordered pairs staged; 2 shares and a total x (host to all, all to host).
    assert_eq!(all.len(), 2 * 9 + 2 + (2 + 1) * 2);
    assert_within(&all, EXACT);
    for (index, device) in links.devices.iter().enumerate() {
        assert_eq!(device.label, format!("MIG{index}"));
        let mig = device.mig.as_ref().unwrap();
        assert_eq!(mig.profile.as_deref(), Some("4g.96gb"));
        let loaded = device.loaded.as_ref().and_then(|reading| reading.slot);
        assert_eq!(loaded, None, "a guest reads no slot link");
    }
    // 16 pieces of 1 MiB in a copy of 404 us, so 3 copies: 48 pieces, up at 50 GB/s after 2 us, down at 48 the slower.
    let (up, down) = (2e3 + 1_048_576.0 / 50.0, 2e3 + 1_048_576.0 / 48.0);
    let ours = 3.0 * SIXTEEN / (up + 48.0 * down);
    for (a, b) in pairs(2) {
        assert_eq!(verdict(&links, a, b), PeerVerdict::Denied);
        let ends = [Device(a), Device(b)];
        assert_numbers(&links, [("d2d_staged_ce", ends, "bandwidth", ours)]);
    }
    for (case, count) in [("d2d_write_ce", 2), ("d2d_bidir_read_ce", 1)] {
        assert!(is_left_out(&links, case, count), "{case}");
    }
}
