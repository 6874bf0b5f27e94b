//! Loads of devices: what they write and calculate is right on good boxes, and what goes wrong is found, counted and told.

use boxfile::{Fault, WrongOp};
use record::{
    LOAD_ARITHMETIC, LOAD_MEMORY, Links, Outcome, Payload, Point, Record, Status, Verification,
    load,
};

use rustix::process::Signal;

use super::common::{Ran, Running, Scratch, gpu, two_gpus, with, without_kernels};

/// Half a second on two devices.
const LOAD: [&str; 5] = ["load", "--gpus", "0,1", "--duration", "0.5"];

/// Loads a box; what the program said and its record.
fn run(described: &boxfile::BoxFile, more: &[&str]) -> (Ran, Record) {
    let scratch = Scratch::new();
    let file = scratch.write_box(described);
    let out = scratch.text("out");
    let ran = scratch.run(&[&LOAD[..], &["--sim", &file, "--out", &out], more].concat());
    (ran, load(&scratch.join("out")).unwrap())
}

fn links(record: &Record) -> &Links {
    match &record.payload {
        Payload::Links(links) => links,
        other => panic!("{other:?}"),
    }
}

fn point<'a>(record: &'a Record, case: &str, device: usize) -> &'a Point {
    let mut points = links(record).points.iter();
    points
        .find(|point| (point.case.as_str(), point.from) == (case, gpu(device)))
        .unwrap()
}

/// The medians of a point by name, where its data was right; else what was seen.
fn medians(point: &Point) -> Result<Vec<(&str, f64)>, &str> {
    match &point.outcome {
        Outcome::Measured {
            verification: Verification::Passed,
            quantities,
            ..
        } => Ok(quantities
            .iter()
            .map(|named| (named.name.as_str(), named.quantity.value))
            .collect()),
        Outcome::Measured {
            verification: Verification::WrongData { seen },
            ..
        } => Err(seen),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_good_box_keeps_what_is_written_and_multiplies_at_its_rates() {
    let described = two_gpus();
    let kernels = described.device[0].kernels.as_ref().unwrap();
    let (rate, launch_us) = (kernels.local.value, kernels.launch_us.value);
    let (ran, record) = run(&described, &["--memory", "8M"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(record.status, Status::Complete);
    for device in [0, 1] {
        let memory = point(&record, LOAD_MEMORY, device);
        assert_eq!(memory.bytes, 8 << 20);
        // A launch and its bytes at the rate within the device.
        let bytes = f64::from(8_u32 << 20);
        let expected = bytes / (bytes / rate + launch_us * 1000.0);
        for (name, found) in medians(memory).unwrap() {
            assert!(
                (found / expected - 1.0).abs() < 0.01,
                "{name}: {found} {expected}"
            );
        }
        let named = medians(point(&record, LOAD_ARITHMETIC, device)).unwrap();
        assert_eq!(named[0].0, "multiply_add");
    }
    let mut caveats = links(&record).caveats.iter();
    assert!(caveats.any(|caveat| caveat.code() == "load-coverage"));
}

#[test]
fn a_bit_that_flips_is_wrong_data_and_no_other_device_is_blamed() {
    let flips = with(Fault::KernelWrong {
        device: 1,
        op: WrongOp::Fill,
        after_launches: 3,
    });
    let (ran, record) = run(&flips, &["--memory", "8M"]);
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    // One launch a pass: the first that goes wrong is the fourth.
    let seen = medians(point(&record, LOAD_MEMORY, 1)).unwrap_err();
    assert!(seen.contains("pass 4: word "), "{seen}");
    assert!(medians(point(&record, LOAD_MEMORY, 0)).is_ok());
    assert!(medians(point(&record, LOAD_ARITHMETIC, 1)).is_ok());
}

#[test]
fn without_kernels_copies_load_memory_and_arithmetic_is_said_to_be_left_out() {
    let (ran, record) = run(&without_kernels(two_gpus()), &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let memory = point(&record, LOAD_MEMORY, 0);
    let named = medians(memory).unwrap();
    assert_eq!(named.len(), 1);
    assert_eq!(memory.caveats[0].code(), "load-by-copies");
    let arithmetic = &point(&record, LOAD_ARITHMETIC, 0).outcome;
    assert!(
        matches!(arithmetic, Outcome::Skipped { reason } if reason.contains("is not supported")),
        "{arithmetic:?}"
    );
}

#[test]
fn a_device_that_is_lost_or_hangs_ends_alone() {
    for (fault, deadline) in [
        (
            Fault::DeviceLost {
                device: 0,
                after_copies: 2,
                off_the_bus: None,
            },
            "20",
        ),
        (
            Fault::Hang {
                op: boxfile::HangOp::D2h,
                device: Some(0),
                pair: None,
                after_copies: 1,
            },
            "2",
        ),
    ] {
        let (ran, record) = run(&with(fault), &["--deadline", deadline]);
        assert_eq!(ran.code, 3, "{}", ran.stderr);
        let outcome = &point(&record, LOAD_MEMORY, 0).outcome;
        assert!(
            matches!(outcome, Outcome::Failed { .. } | Outcome::Hang { .. }),
            "{outcome:?}"
        );
        assert!(medians(point(&record, LOAD_MEMORY, 1)).is_ok());
    }
}

#[test]
fn ctrl_c_ends_a_load_early_with_what_it_has() {
    let scratch = Scratch::new();
    let file = scratch.write_box(&two_gpus());
    let out = scratch.text("out");
    let long = ["load", "--duration", "3600", "--sim", &file, "--out", &out];
    let mut running = Running::start(scratch.program(long));
    running.until("loading GPU0, GPU1 for 3600 s");
    running.signal(Signal::INT);
    let kept = scratch.left(running.end());
    assert_eq!(kept.ran.code, 130);
    let signal = "SIGINT".to_owned();
    assert_eq!(kept.record.status, Status::Interrupted { signal });
    assert!(medians(point(&kept.record, LOAD_MEMORY, 1)).is_ok());
}
