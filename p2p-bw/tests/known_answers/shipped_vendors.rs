//! The built-in boxes of AMD and MetaX and the one with NVLink, without their noise: every case against the solver, and what
//! each box is there to show against arithmetic that stands here.

use boxfile::BoxFile;
use record::Endpoint::{All, Device, Host};
use record::{Links, Outcome, PeerVerdict};

use super::errors::{Comparison, assert_within};
use super::expected::{Asked, CASES};
use super::program::{compared, measured, number, points, verdict};

/// Nothing varies, so what is left is rounding: event times are single-precision milliseconds, 6e-8.
const EXACT: f64 = 1e-6;

/// Bytes of `--sizes 1M`.
const MIB: f64 = 1_048_576.0;

/// A box, measured by every case, and its numbers within rounding of the solver's.
fn every_case(name: &str, args: &[&str]) -> (Links, Vec<Comparison>) {
    let mut described = BoxFile::builtin(name).unwrap();
    described.noise = None;
    let always = ["--sizes", "1M", "--cases", "all"];
    let links = measured(&described, &[&always, args].concat());
    let asked = Asked {
        described: &described,
        links: &links,
        no_peer: false,
    };
    asked.assert_complete(&CASES);
    let all = compared(&described, &links);
    assert_within(&all, EXACT);
    (links, all)
}

fn assert_number(found: f64, expected: f64) {
    assert!(
        (found / expected - 1.0).abs() < EXACT,
        "{found} found, {expected} expected"
    );
}

/// GB/s of copies that run alone: 1 GB/s is 1 byte a nanosecond.
fn alone(latency_us: f64, gbps: f64) -> f64 {
    MIB / (latency_us * 1e3 + MIB / gbps)
}

/// The link of a device's slot under load, and the ceiling of copies from the host to it.
fn slot(links: &Links, device: usize) -> (String, f64) {
    let loaded = links.devices[device].loaded.as_ref().unwrap();
    let mut of_case = points(links, "h2d_pinned_ce");
    let point = of_case.find(|point| point.to == Device(device)).unwrap();
    let Outcome::Measured { link, .. } = &point.outcome else {
        panic!("{point:?}");
    };
    (
        loaded.slot.unwrap().to_string(),
        link.ceiling_gb_per_s.unwrap(),
    )
}

#[test]
fn an_r9700_in_8_lanes_is_told_from_one_in_16_though_the_card_says_16_in_both() {
    let (narrow, _) = every_case("r9700-x8", &[]);
    let (wide, _) = every_case("r9700-x16", &[]);
    // 32 GT/s a lane, 128 of 130 bits, 8 bits a byte, and of each packet 256 bytes of 280.
    let ceiling = |lanes: f64| 32.0 * lanes * 128.0 / 130.0 / 8.0 * 256.0 / 280.0;
    for device in [0, 1] {
        for (links, name, lanes) in [(&narrow, "Gen5 x8", 8.0), (&wide, "Gen5 x16", 16.0)] {
            let (found, limit) = slot(links, device);
            assert_eq!(found, name);
            assert_number(limit, ceiling(lanes));
        }
    }
    // The copy engine 25.3 GB/s after 8 us, the kernel 23.0 after 6; half of the 50.6 of the host's segment is 25.3 again.
    let share = |case, name, ends: [_; 2]| number(&narrow, case, ends[0], ends[1], name);
    let to_first = [Host, Device(0)];
    assert_number(
        share("h2d_pinned_ce", "bandwidth", to_first),
        alone(8.0, 25.3),
    );
    assert_number(
        share("h2d_pinned_sm", "bandwidth", to_first),
        alone(6.0, 23.0),
    );
    assert_number(
        share("host_to_all_ce", "share_1", [Host, All]),
        alone(8.0, 25.3),
    );
    assert_number(
        share("host_to_all_ce", "total", [Host, All]),
        2.0 * alone(8.0, 25.3),
    );
    // 16383 loads of 1300 ns after 6 us.
    let latency = share("host_chase_sm", "latency", to_first);
    assert_number(latency, 1300.0 + 6000.0 / 16_383.0);
    // 16 bytes at 25.3 GB/s after 8 us.
    let pace = share("small_copy_h2d_ce", "pace", to_first);
    assert_number(pace, 8.0 + 16.0 / 25.3 / 1e3);
}

#[test]
fn the_metax_box_goes_over_its_own_links_and_says_that_no_kernel_runs() {
    let (links, _) = every_case("mxc500x4", &[]);
    for (a, b) in (0..4).flat_map(|a| (0..4).map(move |b| (a, b))) {
        if a == b {
            continue;
        }
        assert_eq!(links.path(a, b).name(), "MX");
        assert_eq!(verdict(&links, a, b), PeerVerdict::Direct);
        // 100 GB/s after 10 us: more than the 48 of a card's slot.
        let found = number(&links, "d2d_write_ce", Device(a), Device(b), "bandwidth");
        assert_number(found, alone(10.0, 100.0));
    }
    // Four at once want 4 x 48 of the node's 96 GB/s: 24 each.
    for device in 0..4 {
        let name = format!("share_{device}");
        let found = number(&links, "host_to_all_ce", Host, All, &name);
        assert_number(found, alone(10.0, 24.0));
    }
    for case in CASES.into_iter().filter(|case| case.ends_with("_sm")) {
        assert!(points(&links, case).count() > 0, "{case}");
        for point in points(&links, case) {
            let Outcome::Skipped { reason } = &point.outcome else {
                panic!("{point:?}");
            };
            assert!(reason.contains("no compiler"), "{reason}");
        }
    }
}

#[test]
fn eight_gpus_with_nvlink_are_measured_all_at_once() {
    // Pairs of three of the eight, in any order: the others are like them.
    let (links, all) = every_case("h200x8", &["--gpus", "6,1,3"]);
    assert!(all.len() > 150, "{}", all.len());
    let found = number(&links, "d2d_read_sm", Device(0), Device(2), "bandwidth");
    let path = BoxFile::builtin("h200x8").unwrap().peer_path(6, 3);
    // The kernel is the destination's, 360 GB/s after its launch and the pair's latency.
    let launch = BoxFile::builtin("h200x8").unwrap().device[3]
        .kernels
        .clone();
    let latency = launch.unwrap().launch_us.value + path.latency_us.unwrap();
    assert_number(found, alone(latency, 360.0));
}

#[test]
fn every_case_of_the_other_boxes_is_the_solver_s() {
    for (name, gpus) in [
        ("l40x4", "3,0,1"),
        ("rtxpro6000-bare", "0,1"),
        ("rtxpro6000-mig", "1,0"),
    ] {
        let (_, all) = every_case(name, &["--gpus", gpus]);
        assert!(all.len() > 40, "{name}: {}", all.len());
    }
}
