//! `tplens numa` on the built-in boxes: every place, kind of memory and direction against arithmetic over the box file that stands here.

use boxfile::{BoxFile, Fault, Figure};
use record::near::penalties;
use record::{self, Numa, NumaPoint, Outcome, Payload, Status};

use super::program::Folder;

/// Whether every machine is played, which takes long.
fn full() -> bool {
    std::env::var_os("TPLENS_FULL").is_some()
}

/// The boxes that `--sim` knows by name.
const BOXES: [&str; 7] = [
    "l40x4",
    "rtxpro6000-mig",
    "rtxpro6000-bare",
    "r9700-x8",
    "r9700-x16",
    "mxc500x4",
    "h200x8",
];

fn quiet(name: &str) -> BoxFile {
    let mut described = BoxFile::builtin(name).unwrap();
    described.noise = None;
    described
}

/// Runs `tplens numa` on a box; what it keeps, its exit code and what it prints.
fn ran(described: &BoxFile, args: &[&str]) -> (Numa, i32, String) {
    let folder = Folder::new();
    let (file, out) = (folder.path().join("box.toml"), folder.path().join("out"));
    std::fs::write(&file, described.to_toml().unwrap()).unwrap();
    let output = built::named("p2p-bw")
        .arg("numa")
        .arg("--sim")
        .arg(&file)
        .arg("--out")
        .arg(&out)
        .args(["--deadline", "300"])
        .args(args)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let record = record::load(&out).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert_eq!(record.status, Status::Complete, "{said}");
    assert_eq!(record.header.program, "p2p-bw numa");
    let Payload::Numa(numa) = record.payload else {
        panic!("not numa");
    };
    let text = String::from_utf8(output.stdout).unwrap();
    (*numa, output.status.code().unwrap(), text)
}

/// Direction and kind of a case.
fn direction_and_kind(case: &str) -> (&str, &str) {
    let key = case.strip_prefix("small_copy_").unwrap_or(case);
    let key = key.strip_suffix("_ce").unwrap();
    key.split_once('_').unwrap_or((key, "pinned"))
}

/// The near rate in GB/s by the machine file.
fn near_rate(described: &BoxFile, physical: usize, case: &str, bytes: u64) -> f64 {
    let device = &described.device[physical];
    let (direction, kind) = direction_and_kind(case);
    let either = |down: &Figure, up: &Figure| {
        if direction == "h2d" {
            down.value
        } else {
            up.value
        }
    };
    match kind {
        "pinned" => either(&device.h2d_pinned, &device.d2h_pinned),
        "pageable" => match &device.pageable_up_to {
            Some(staged) if bytes <= staged.bytes => either(&staged.h2d, &staged.d2h),
            _ => either(&device.h2d_pageable, &device.d2h_pageable),
        },
        other => panic!("no kind {other}"),
    }
}

/// Nanoseconds of one copy alone.
fn expected_ns(described: &BoxFile, physical: usize, point: &NumaPoint) -> f64 {
    let device = &described.device[physical];
    let (direction, kind) = direction_and_kind(&point.case);
    let mut rate = near_rate(described, physical, &point.case, point.bytes);
    let mut latency_us = device.copy_latency_us.value;
    let mut segments: Vec<&str> = device.host_segments.iter().map(String::as_str).collect();
    let (home, memory) = (device.node, point.memory_node);
    let far = |from: Option<u32>, to: Option<u32>| described.far(from?, to?);
    if let Some(far) = far(home, memory) {
        let part = match (direction, kind) {
            ("h2d", "pageable") => &far.h2d_pageable,
            (_, "pageable") => &far.d2h_pageable,
            ("h2d", _) => &far.h2d,
            _ => &far.d2h,
        };
        rate *= part.value;
        latency_us += far.latency_us.value;
        segments.extend(far.segments.iter().map(String::as_str));
    }
    let thread = point.thread_node.or(home);
    if let ("pageable", Some(far)) = (kind, far(thread, memory)) {
        rate *= far.pageable_thread.value;
    }
    let capacity = |name: &&str| {
        let segment = described
            .segment
            .iter()
            .find(|segment| segment.id == **name);
        segment.unwrap().gbps.value
    };
    let rate = segments.iter().map(capacity).fold(rate, f64::min);
    latency_us * 1e3 + point.bytes as f64 / rate
}

/// Compares every number with the arithmetic; how many there were, and the greatest relative difference.
fn compared(described: &BoxFile, numa: &Numa) -> (usize, f64) {
    let (mut count, mut worst) = (0, 0.0_f64);
    for point in &numa.points {
        assert!(
            matches!(point.outcome, Outcome::Measured { .. }),
            "{}: {point:?}",
            described.name
        );
        assert!(point.is_proven(), "{}: {point:?}", described.name);
        let address = numa.devices[point.device].address.unwrap().to_string();
        let is_it = |device: &boxfile::Device| device.address == address;
        let physical = described.device.iter().position(is_it).unwrap();
        let ns = expected_ns(described, physical, point);
        let (found, expected) = match point.number("pace") {
            Some(pace) => (pace.value, ns / 1e3),
            None => (
                point.number("bandwidth").unwrap().value,
                point.bytes as f64 / ns,
            ),
        };
        let off = (found / expected - 1.0).abs();
        assert!(
            off < 0.02,
            "{} {} memory {:?} thread {:?} {} B: {found} found, {expected} expected",
            described.name,
            point.case,
            point.memory_node,
            point.thread_node,
            point.bytes
        );
        (count, worst) = (count + 1, worst.max(off));
    }
    (count, worst)
}

#[test]
fn every_box_gives_its_file_s_figures_for_near_and_far() {
    let few = if full() { BOXES.len() } else { 3 };
    for name in BOXES.into_iter().take(few) {
        let described = quiet(name);
        let all = (0..described.device.len().min(2))
            .map(|gpu| gpu.to_string())
            .collect::<Vec<_>>()
            .join(",");
        let (numa, code, _) = ran(
            &described,
            &["--gpus", &all, "--size", "4M", "--samples", "6"],
        );
        assert_eq!(code, 0, "{name}");
        let (count, worst) = compared(&described, &numa);
        // At the least both directions of two kinds, and small copies, on each device.
        assert!(count >= 6 * numa.devices.len(), "{name}: {count}");
        // Without noise what is left is rounding: single-precision milliseconds.
        assert!(worst < 1e-6, "{name}: {worst}");
    }
}

#[test]
fn the_box_with_eight_nodes_is_bound_to_the_node_of_its_gpus() {
    let described = quiet("mxc500x4");
    let args = ["--gpus", "0,1,2,3", "--size", "1M", "--kinds", "pinned"];
    let (numa, _, text) = ran(&described, &args);
    let binding = numa.binding.unwrap();
    assert_eq!(binding.numactl, "numactl --cpunodebind=0 --membind=0");
    assert!(
        text.contains("numactl --cpunodebind=0 --membind=0"),
        "{text}"
    );
    // All other nodes, and the square: memory on 8 nodes with the thread near, two corners with the thread far, and near once more.
    let of_one = numa
        .points
        .iter()
        .filter(|point| point.device == 0 && point.case == "h2d_pinned_ce");
    assert_eq!(of_one.count(), 8 + 2 + 1);
}

#[test]
fn a_refused_node_never_has_a_number_under_its_name() {
    let mut described = quiet("l40x4");
    described.fault.push(Fault::MbindRefused { node: Some(1) });
    let (numa, code, text) = ran(
        &described,
        &["--gpus", "0", "--size", "1M", "--samples", "6"],
    );
    // Something could not be proven.
    assert_eq!(code, 3, "{text}");
    let (mut wanted, mut near) = (0, 0);
    for point in &numa.points {
        let number = point.number("bandwidth").or(point.number("pace"));
        if point.memory_node == Some(1) {
            wanted += 1;
            assert!(!point.is_proven(), "{point:?}");
            assert!(point.proven("bandwidth").is_none() && point.proven("pace").is_none());
        } else {
            near += 1;
            assert!(point.is_proven() && number.is_some(), "{point:?}");
        }
    }
    assert!(wanted > 0 && near > 0);
    assert!(
        penalties(&numa)
            .iter()
            .all(|one| one.far.memory_node != Some(1))
    );
    // Where near memory is refused, no number stands for it in any table.
    described.fault = vec![Fault::MbindRefused { node: Some(0) }];
    let args = ["--gpus", "0", "--kinds", "pageable", "--samples", "6"];
    let (numa, code, text) = ran(&described, &args);
    assert_eq!(code, 3, "{text}");
    assert!(penalties(&numa).is_empty());
}
