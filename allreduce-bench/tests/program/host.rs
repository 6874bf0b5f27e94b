//! Runs on host memory, where nothing is played: real processes, real sums, real times.

use record::{CallMode, CollectiveOutcome, ElementType, Status};

use super::common::{Kept, Scratch, exact_us, has_two_cpus};

const QUICK: [&str; 8] = [
    "--backend",
    "host",
    "--gpus",
    "0,1",
    "--samples",
    "6",
    "--out",
    "out",
];

fn on_host(scratch: &Scratch, more: &[&str]) -> Kept {
    scratch.left(scratch.run(&[&QUICK[..], more].concat()))
}

#[test]
fn sums_are_exact_in_every_type_and_each_mode_has_its_own_time() {
    if !has_two_cpus() {
        return;
    }
    for (dtype, element) in [
        ("bf16", ElementType::Bf16),
        ("f16", ElementType::F16),
        ("f32", ElementType::F32),
    ] {
        let scratch = Scratch::new();
        // 4 B are two elements or one, 12 B an odd number of 4 B, 256 KiB more than a page.
        let kept = on_host(&scratch, &["--dtype", dtype, "--sizes", "4,12,256K"]);
        assert_eq!(kept.ran.code, 0, "{}", kept.ran.stderr);
        assert_eq!(kept.record.status, Status::Complete);
        assert_eq!(kept.record.header.simulated, None);
        let points = &kept.collectives().points;
        // Three sizes in two modes: host memory has no graphs, and interleaved calls must be asked for.
        assert_eq!(points.len(), 6);
        for point in points {
            assert_eq!((point.element, point.ranks), (element, 2));
            assert!(exact_us(&point.outcome) > 0.0);
        }
        let library = kept.collectives().library.as_ref().unwrap();
        assert_eq!(library.name, "host");
        let mut caveats = kept.collectives().caveats.iter();
        assert!(caveats.any(|caveat| caveat.code() == "host-memory-ranks"));
        let devices = kept.collectives().devices.iter();
        let labels: Vec<&str> = devices.map(|device| device.label.as_str()).collect();
        assert_eq!(labels, ["HOST0", "HOST1"]);
    }
}

#[test]
fn samples_say_how_many_calls_they_are_the_mean_of() {
    if !has_two_cpus() {
        return;
    }
    let scratch = Scratch::new();
    let kept = on_host(&scratch, &["--sizes", "4K"]);
    let calls = |mode| {
        let CollectiveOutcome::Measured { time, .. } = kept.reduced(4096, mode) else {
            panic!("not measured");
        };
        assert!(time.n >= 6 && time.interval.is_some());
        time.timing.copies_per_sample
    };
    // Host-synced is one call; between marks are 20 at least.
    assert_eq!(calls(CallMode::HostSynced), 1);
    assert!(calls(CallMode::BackToBack) >= 20);
}
