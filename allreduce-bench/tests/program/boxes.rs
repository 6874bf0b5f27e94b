//! Known answers: every box that ships, with each number of ranks that it has times for, in every mode that the device's clock times.

use std::collections::BTreeSet;

use boxfile::{BoxFile, CollectiveKind};

use super::common::{Scratch, full};
use super::known::{Errors, Limited, WITH_NOISE, WITHOUT_NOISE, tables};

/// What every run of this file has: six samples, and modes that need no idle CPUs.
const QUICK: [&str; 6] = [
    "--samples",
    "6",
    "--modes",
    "back-to-back,graph,interleaved",
    // The samples are counted, so that a busy machine measures the same.
    "--budget",
    "600",
];

/// Runs on a box as it is described, and takes all that it measured.
fn take(errors: &mut Errors, described: &BoxFile, limit: f64, ranks: u32, more: &[&str]) {
    let limited = Limited {
        // What a box's devices do not reach is behind host memory.
        through_host: described
            .peer_default
            .as_ref()
            .is_none_or(|default| !default.access),
        only: None,
    };
    let ranks = ranks.to_string();
    let arguments = [&QUICK[..], &["--tp", &ranks], more].concat();
    let kept = Scratch::new().soft(described, &arguments);
    errors.judge(&kept, described, (limited, limit));
}

/// The numbers of ranks that a box has all-reduces for.
fn rank_counts(described: &BoxFile) -> BTreeSet<u32> {
    tables(described, CollectiveKind::AllReduce)
        .map(|table| table.ranks)
        .collect()
}

#[test]
fn every_boxs_times_are_those_of_its_points() {
    for name in boxfile::builtin_names() {
        let shipped = BoxFile::builtin(name).unwrap();
        let mut quiet = shipped.clone();
        quiet.noise = None;
        let counts = rank_counts(&shipped);
        assert!(!counts.is_empty(), "{name} has no all-reduce");
        // Four and eight ranks on few CPUs take most of the time.
        let counts = counts.into_iter().take(if full() { usize::MAX } else { 1 });
        for ranks in counts {
            // What takes time here is the moving of real bytes, by all ranks on few CPUs.
            let large = if ranks > 4 { "80K" } else { "640K" };
            let everything = [
                "--ops",
                "all_reduce,all_gather,reduce_scatter",
                "--sizes",
                &format!("2K,{large}"),
            ];
            let (mut exact, mut noisy) = (Errors::default(), Errors::default());
            take(&mut exact, &quiet, WITHOUT_NOISE, ranks, &everything);
            let reduced = ["--sizes", &format!("8,4K,48K,{large}")];
            take(&mut noisy, &shipped, WITH_NOISE, ranks, &reduced);
            // Three modes: three operations of two sizes; then four sizes.
            assert_eq!((exact.count, noisy.count), (3 * 6, 3 * 4), "{name}");
            told(&format!(
                "{name}, {ranks} ranks, without noise: {}",
                exact.words()
            ));
            told(&format!(
                "{name}, {ranks} ranks, with its noise: {}",
                noisy.words()
            ));
        }
    }
}

#[test]
fn three_sizes_an_octave_lie_on_the_curve_and_the_faster_protocol_is_taken() {
    let mut described = BoxFile::builtin("r9700-x8").unwrap();
    described.noise = None;
    // 16 KiB times 2^(k / 3), in whole bf16, up to 64 times as many.
    let sizes: Vec<String> = (0..=18)
        .map(|third| 16384.0 * (f64::from(third) / 3.0).exp2())
        .map(|bytes| format!("{:.0}", (bytes / 2.0).round() * 2.0))
        .collect();
    let mut errors = Errors::default();
    let sizes = ["--sizes", &sizes.join(",")];
    take(&mut errors, &described, WITHOUT_NOISE, 2, &sizes);
    assert_eq!(errors.count, 3 * 19);
    told(&format!(
        "r9700-x8, three sizes an octave: {}",
        errors.words()
    ));
}

/// Shows a figure to whoever runs a test with `--nocapture`.
#[expect(clippy::print_stderr, reason = "a test's figures, shown on demand")]
pub(crate) fn told(words: &str) {
    eprintln!("{words}");
}
