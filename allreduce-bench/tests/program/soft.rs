//! Simulated machines without noise, whose answers are arithmetic on the box's own points.

use boxfile::BoxFile;
use record::quantity::TimeSource;
use record::{CallMode, CollectiveKind, CollectiveOutcome};

use super::common::{Scratch, exact_us, two_gpus};

fn close(measured: f64, expected: f64) {
    // The simulated driver's events count in nanoseconds as f32 milliseconds, as CUDA's do.
    assert!(
        (measured / expected - 1.0).abs() < 2e-3,
        "{measured} us, not {expected} us"
    );
}

#[test]
fn modes_on_the_virtual_clock_give_the_time_of_the_boxs_points() {
    let scratch = Scratch::new();
    let mut described = two_gpus();
    // 40 us at 16 KiB and 160 us at 64 KiB: at 32 KiB, halfway in the logarithm of the size, it is 40 * sqrt(4) = 80 us.
    described.collective[0].points = vec![(16 << 10, 40.0), (64 << 10, 160.0)];
    let modes = ["--modes", "back-to-back,graph,interleaved"];
    let sizes = ["--sizes", "8K,16K,32K,64K,128K", "--samples", "6"];
    let kept = scratch.soft(&described, &[&modes[..], &sizes[..]].concat());
    assert_eq!(kept.ran.code, 0, "{}", kept.ran.stderr);
    // Below the first point its time, above the last its bandwidth: 8 KiB as 16 KiB, 128 KiB twice 64 KiB.
    for (kib, us) in [(8, 40.0), (16, 40.0), (32, 80.0), (64, 160.0), (128, 320.0)] {
        for mode in [CallMode::BackToBack, CallMode::Graph, CallMode::Interleaved] {
            close(exact_us(kept.reduced(kib << 10, mode)), us);
        }
    }
    let collectives = kept.collectives();
    // Three modes of five sizes.
    assert_eq!(collectives.points.len(), 15);
    assert_eq!(collectives.library.as_ref().unwrap().name, "nccl");
    assert_eq!(
        kept.record.header.simulated.as_ref().unwrap().box_name,
        "two-l40"
    );
    let CollectiveOutcome::Measured { time, .. } = kept.reduced(8 << 10, CallMode::Graph) else {
        panic!("not measured");
    };
    assert_eq!(time.timing.source, TimeSource::Simulated);
}

#[test]
fn a_model_is_measured_at_the_sizes_that_it_sends() {
    let scratch = Scratch::new();
    let model = ["--model", "llama-3.1-8b", "--tp", "2", "--batches", "1,16"];
    let more = [
        "--prefill-chunk",
        "64",
        "--samples",
        "6",
        "--modes",
        "graph",
    ];
    let kept = scratch.soft(&two_gpus(), &[&model[..], &more[..]].concat());
    assert_eq!(kept.ran.code, 0, "{}", kept.ran.stderr);
    let collectives = kept.collectives();
    let measured = |kind| -> Vec<u64> {
        let points = collectives.points.iter();
        let of_kind = points.filter(|point| point.kind == kind);
        of_kind.map(|point| point.bytes_per_rank).collect()
    };
    let reduced = measured(CollectiveKind::AllReduce);
    // Hidden size 4096, 2 B: 8192 B a token; a chunk of 64 tokens beside 1 or 16 that decode are 65 and 80, padded up to 72 and 80.
    assert!(reduced.starts_with(&[8192, 16 * 8192]), "{reduced:?}");
    assert!(reduced.len() >= 4, "{reduced:?}");
    // The vocabulary of 128256 in halves: 64128 * 2 B = 128256 B a sequence.
    let gathered = measured(CollectiveKind::AllGather);
    assert!(
        gathered.contains(&128_256) && gathered.contains(&(16 * 128_256)),
        "{gathered:?}"
    );
    let small = kept.outcome(CollectiveKind::AllGather, 128_256, CallMode::Graph);
    close(exact_us(small), 30.0);
    // Two batches, with and without the chunk.
    assert_eq!(collectives.steps.len(), 4);
}

#[test]
fn host_synced_calls_have_no_number_on_a_simulated_machine() {
    let scratch = Scratch::new();
    let modes = ["--modes", "host-synced,graph", "--sizes", "4K"];
    let kept = scratch.soft(&two_gpus(), &[&modes[..], &["--samples", "6"]].concat());
    assert_eq!(kept.ran.code, 0, "{}", kept.ran.stderr);
    let synced = kept.reduced(4096, CallMode::HostSynced);
    assert!(matches!(synced, CollectiveOutcome::NotApplicable { .. }));
    close(exact_us(kept.reduced(4096, CallMode::Graph)), 50.0);
}

#[test]
fn the_mig_box_implies_the_all_reduce_that_its_file_assumes() {
    let scratch = Scratch::new();
    let mut described = BoxFile::builtin("rtxpro6000-mig").unwrap();
    described.noise = None;
    let kept = scratch.soft(&described, &["--sizes", "256K", "--samples", "6"]);
    assert_eq!(kept.ran.code, 0, "{}", kept.ran.stderr);
    // The box file's point at 262144 B.
    close(exact_us(kept.reduced(256 << 10, CallMode::Graph)), 62.9);
    let devices = kept.collectives().devices.iter();
    let labels: Vec<&str> = devices.map(|device| device.label.as_str()).collect();
    assert_eq!(labels, ["MIG0", "MIG1"]);
}
