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
    "core,host_bidir_pinned_ce,d2d_read_*,d2d_bidir_*_ce,d2d_driver_staged_ce,host_to_all_ce,all_to_host_ce,all_pairs_ce",
];

/// GB/s of copies that run alone, each with its latency: bytes / (latency + bytes / rate), and 1 GB/s is 1 byte a nanosecond.
fn alone(bytes: f64, latency_us: f64, gbps: f64) -> f64 {
    bytes / (latency_us * 1e3 + bytes / gbps)
}

fn assert_number(
    links: &Links,
    case: &str,
    ends: [record::Endpoint; 2],
    name: &str,
    expected: f64,
) {
    let found = number(links, case, ends[0], ends[1], name);
    let relative = (found / expected - 1.0).abs();
    assert!(
        relative < EXACT,
        "{case} {ends:?} {name}: {found} found, {expected} expected"
    );
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

    for gpu in 0..4 {
        let (down, up) = ([Host, Device(gpu)], [Device(gpu), Host]);
        assert_number(
            &links,
            "h2d_pinned_ce",
            down,
            "bandwidth",
            alone(SIXTEEN, 2.0, 25.6),
        );
        assert_number(
            &links,
            "d2h_pinned_ce",
            up,
            "bandwidth",
            alone(SIXTEEN, 2.0, 25.9),
        );
        assert_number(
            &links,
            "h2d_pageable_ce",
            down,
            "bandwidth",
            alone(SIXTEEN, 2.0, 9.0),
        );
        assert_number(
            &links,
            "d2h_pageable_ce",
            up,
            "bandwidth",
            alone(SIXTEEN, 2.0, 8.0),
        );
        assert_number(
            &links,
            "local_ce",
            [Device(gpu); 2],
            "bandwidth",
            alone(SIXTEEN, 2.0, 330.0),
        );
        // Two engines, links and a socket of 90 GB/s each way: the directions do not meet. In all, twice the slower one.
        let (there, back) = (alone(SIXTEEN, 2.0, 25.6), alone(SIXTEEN, 2.0, 25.9));
        assert_number(&links, "host_bidir_pinned_ce", down, "forward", there);
        assert_number(&links, "host_bidir_pinned_ce", down, "back", back);
        assert_number(&links, "host_bidir_pinned_ce", down, "total", 2.0 * there);
    }
    for a in 0..4 {
        for b in (0..4).filter(|b| *b != a) {
            assert_eq!(verdict(&links, a, b), PeerVerdict::Direct);
            // 25 within a socket; 22 across, below the 60 between the sockets, each way.
            let expected = alone(SIXTEEN, 2.5, if a / 2 == b / 2 { 25.0 } else { 22.0 });
            let ends = [Device(a), Device(b)];
            assert_number(&links, "d2d_write_ce", ends, "bandwidth", expected);
            assert_number(&links, "d2d_read_ce", ends, "bandwidth", expected);
            if a < b {
                for case in ["d2d_bidir_write_ce", "d2d_bidir_read_ce"] {
                    assert_number(&links, case, ends, "forward", expected);
                    assert_number(&links, case, ends, "back", expected);
                    assert_number(&links, case, ends, "total", 2.0 * expected);
                }
            }
        }
    }
    for case in ["d2d_staged_ce", "d2d_driver_staged_ce"] {
        let refused = points(&links, case)
            .all(|point| matches!(point.outcome, Outcome::NotApplicable { .. }));
        assert!(refused && points(&links, case).count() == 12, "{case}");
    }
}

#[test]
fn without_peer_access_the_l40_box_is_staged() {
    let described = quiet("l40x4");
    let links = measured(
        &described,
        &["--sizes", "16M", "--no-peer", "--cases", "d2d_*"],
    );
    let all = compared(&described, &links);
    assert_eq!(all.len(), 2 * 12); // two cases on 12 ordered pairs; those that need access do not apply
    assert_within(&all, EXACT);
    // Half of the slower host link, 25.6; the latency of both devices, 2 us each.
    let driver = alone(SIXTEEN, 4.0, 12.8);
    // 16 pieces of 1 MiB in a copy, each 2 us + 1048576 B at 25.9 up and at 25.6 down. Down is slower and sets the pace,
    // after the first piece went up. One copy is 730 us, so 2 fill the window of 1 ms: 32 pieces.
    let (up, down) = (2e3 + 1_048_576.0 / 25.9, 2e3 + 1_048_576.0 / 25.6);
    let ours = 2.0 * SIXTEEN / (up + 32.0 * down);
    for a in 0..4 {
        for b in (0..4).filter(|b| *b != a) {
            assert_number(
                &links,
                "d2d_driver_staged_ce",
                [Device(a), Device(b)],
                "bandwidth",
                driver,
            );
            assert_number(
                &links,
                "d2d_staged_ce",
                [Device(a), Device(b)],
                "bandwidth",
                ours,
            );
        }
    }
}

#[test]
fn the_mig_box_shows_its_instances_denied_and_staged() {
    let described = quiet("rtxpro6000-mig");
    let links = measured(&described, &WITH_GROUPS);
    let all = compared(&described, &links);
    // As above on 2 devices; 2 ordered pairs x 2 staged cases; 2 shares and a total x (host to all, all to host).
    assert_eq!(all.len(), 2 * 9 + 2 * 2 + (2 + 1) * 2);
    assert_within(&all, EXACT);

    let labels: Vec<&str> = links
        .devices
        .iter()
        .map(|device| device.label.as_str())
        .collect();
    assert_eq!(labels, ["MIG0", "MIG1"]);
    for (index, device) in (1..).zip(&links.devices) {
        let mig = device.mig.as_ref().unwrap();
        assert_eq!(mig.profile.as_deref(), Some("4g.96gb"));
        assert_eq!(
            mig.parent_uuid,
            Some(format!("GPU-00000000-0000-4000-8000-00000000000{index}"))
        );
        assert_eq!(
            device.uuid,
            Some(format!("MIG-00000000-0000-5000-8000-00000000000{index}"))
        );
        let loaded = device.loaded.as_ref().and_then(|reading| reading.slot);
        assert_eq!(loaded, None, "a guest reads no slot link");
    }
    // 48 down, 50 up, 2 us; 24 = half of 48 by the driver, in 4 us.
    assert_number(
        &links,
        "h2d_pinned_ce",
        [Host, Device(1)],
        "bandwidth",
        alone(SIXTEEN, 2.0, 48.0),
    );
    assert_number(
        &links,
        "d2h_pageable_ce",
        [Device(0), Host],
        "bandwidth",
        alone(SIXTEEN, 2.0, 10.0),
    );
    // 16 pieces of 1 MiB in a copy of 404 us, so 3 copies: 48 pieces, down at 48 the slower.
    let (up, down) = (2e3 + 1_048_576.0 / 50.0, 2e3 + 1_048_576.0 / 48.0);
    let ours = 3.0 * SIXTEEN / (up + 48.0 * down);
    for (a, b) in [(0, 1), (1, 0)] {
        assert_eq!(verdict(&links, a, b), PeerVerdict::Denied);
        let ends = [Device(a), Device(b)];
        assert_number(
            &links,
            "d2d_driver_staged_ce",
            ends,
            "bandwidth",
            alone(SIXTEEN, 4.0, 24.0),
        );
        assert_number(&links, "d2d_staged_ce", ends, "bandwidth", ours);
    }
    for case in [
        "d2d_write_ce",
        "d2d_read_ce",
        "d2d_bidir_write_ce",
        "d2d_bidir_read_ce",
    ] {
        let denied = |outcome: &Outcome| matches!(outcome, Outcome::NotApplicable { reason } if reason.contains("denied"));
        assert!(
            points(&links, case).all(|point| denied(&point.outcome)),
            "{case}"
        );
    }
}
