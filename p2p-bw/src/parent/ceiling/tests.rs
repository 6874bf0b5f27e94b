//! Ceilings of hand-made boxes. Gen4 x16 with a payload of 256 B carries 16 GT/s x 16 lanes x 128/130 / 8 = 31.51 GB/s raw,
//! of which 256 of 280 B are payload: 28.81 GB/s. Gen4 x8 has half of it: 14.40 GB/s.

use record::plan::StopReason;
use record::quantity::{Gate, Quantity, TimeSource, Timing, Unit};
use record::unit::ByteCount;
use record::{LinkDevice, LinkReading, PairPath};
use topology::PcieLink;

use super::*;
use crate::cases;
use crate::parent::plan::plan;

const X16: f64 = 28.81;
const X8: f64 = 14.40;

fn device(number: usize, width: u8) -> LinkDevice {
    let link = PcieLink::new(4, width).ok();
    let loaded = LinkReading {
        slot: link,
        card: link,
        readings: 2,
        ..LinkReading::default()
    };
    LinkDevice {
        label: format!("GPU{number}"),
        ordinal: number,
        name: "a device of a test".to_owned(),
        uuid: None,
        address: format!("{}1:00.0", number + 1).parse().ok(),
        node: None,
        memory_bytes: None,
        mig: None,
        idle: None,
        loaded: Some(loaded),
        max_payload_bytes: Some(256),
        busy: None,
    }
}

/// Devices of these widths with the same path between all of them.
fn links(widths: &[u8], path: PathType) -> Links {
    let pairs = (0..widths.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
    Links {
        devices: (0..)
            .zip(widths)
            .map(|(n, width)| device(n, *width))
            .collect(),
        paths: pairs.map(|(a, b)| PairPath { a, b, path }).collect(),
        ..Links::default()
    }
}

fn named(name: &str, value: f64, unit: Unit) -> NamedQuantity {
    let timing = Timing {
        source: TimeSource::DeviceEvent,
        gate: Gate::None,
        copies_per_sample: 1,
        warmup_copies: 1,
    };
    let quantity = Quantity::from_samples(vec![value; 6], unit, timing, StopReason::MaxSamples);
    NamedQuantity {
        name: name.to_owned(),
        quantity: quantity.unwrap(),
    }
}

/// The first point of a case, all of whose streams carry the same, and their sum in `total`.
fn used(key: &str, links: &Links, each: f64) -> LinkUse {
    let point = first(key, links);
    let streams = point.streams();
    let names = streams.iter().map(|stream| (stream.name.as_str(), each));
    let mut numbers: Vec<(&str, f64)> = names.collect();
    if streams.len() > 1 {
        #[expect(clippy::cast_precision_loss, reason = "a handful of streams")]
        numbers.push(("total", each * streams.len() as f64));
    }
    let quantities: Vec<NamedQuantity> = numbers
        .into_iter()
        .map(|(name, value)| named(name, value, Unit::GbPerS))
        .collect();
    let readings = Readings::new();
    let links = BoxLinks {
        links,
        readings: &readings,
        nvlink_gb_per_s: Some(26.562),
    };
    links.used(&point, &quantities)
}

fn first(key: &str, links: &Links) -> Planned {
    let case = cases::matching(key).unwrap();
    plan(&case, links.devices.len(), &[ByteCount(1 << 20)])[0]
}

fn is_near(found: Option<f64>, expected: f64) {
    let found = found.unwrap();
    assert!(
        (found / expected - 1.0).abs() < 0.001,
        "{found} for {expected}"
    );
}

#[test]
fn a_share_has_its_devices_ceiling_and_the_total_from_the_host_their_sum() {
    let links = links(&[16, 8], PathType::Phb);
    let found = used("host_to_all_ce", &links, 10.0);
    assert_eq!(found.ceiling_gb_per_s, None);
    is_near(found.ceiling("share_0"), X16);
    is_near(found.ceiling("share_1"), X8);
    is_near(found.ceiling("total"), X16 + X8);
    is_near(found.fraction.get("share_1").copied(), 10.0 / X8);
}

#[test]
fn a_path_of_another_kind_has_no_ceiling() {
    for (path, says) in [
        (PathType::Sys, "socket"),
        (PathType::Mx, "MetaXLink"),
        (PathType::Unknown, "unknown"),
    ] {
        let found = used("d2d_read_sm", &links(&[16, 16], path), 10.0);
        assert_eq!(found.ceiling_gb_per_s, None);
        assert!(found.basis.contains(says), "{}", found.basis);
        let ring = used("ring_sm", &links(&[16, 16], path), 10.0);
        assert!(ring.basis.contains(says) && ring.ceilings_gb_per_s.is_empty());
    }
}

#[test]
fn nvlinks_carry_what_those_that_are_up_carry_together() {
    let links = links(&[16, 16], PathType::Nv(17));
    // 17 of 26.562 GB/s are 451.554, whatever PCI Express is; 370 of them are 81.9%.
    let used = used("d2d_write_ce", &links, 370.0);
    is_near(used.ceiling_gb_per_s, 451.554);
    is_near(used.fraction.values().next().copied(), 0.8194);
}
