//! Runs the built `p2p-bw` on a soft box in folders of its own and reads the record that it leaves.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use boxfile::BoxFile;
use measure::quantity::TimeSource;
use measure::record::{
    self, Endpoint, Links, Outcome, Payload, PeerVerdict, Point, Status, Verification,
};

use super::solver::{Question, Solver};

/// A folder that goes when it is dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!(
            "p2p-bw-known-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A run of `p2p-bw` on a box, which must end well; `args` follow those that name box and folders.
pub(crate) fn measured(described: &BoxFile, args: &[&str]) -> Links {
    let folder = Folder::new();
    let (file, out) = (
        folder.path().join("described.toml"),
        folder.path().join("out"),
    );
    std::fs::write(&file, described.to_toml().unwrap()).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_p2p-bw"))
        .arg("--sim")
        .arg(&file)
        .arg("--state-dir")
        .arg(folder.path().join("state"))
        .arg("--out")
        .arg(&out)
        // Wall time must not decide on the number of samples; a slow machine must not look like a hang.
        .args([
            "--backend",
            "auto",
            "--budget",
            "100000",
            "--deadline",
            "300",
        ])
        .args(args)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{} {args:?}: {said}",
        described.name
    );
    let record = record::load(&out).unwrap();
    assert_eq!(record.status, Status::Complete, "{}", described.name);
    let simulated = record.header.simulated.unwrap();
    assert_eq!(simulated.box_name, described.name);
    let Payload::Links(links) = record.payload else {
        panic!("not links");
    };
    assert_eq!(links.backend.as_ref().unwrap().name, "cuda");
    *links
}

/// A number of the program beside the solver's.
#[derive(Debug, Clone)]
pub(crate) struct Comparison {
    pub(crate) what: String,
    pub(crate) case: String,
    pub(crate) found: f64,
    /// By the solver without noise.
    pub(crate) expected: f64,
    /// By the solver with noise of its own.
    pub(crate) noisy: f64,
    /// Whether the number's own interval holds the expected value; `None` where it has no interval.
    pub(crate) covered: Option<bool>,
}

impl Comparison {
    pub(crate) fn relative_error(&self) -> f64 {
        self.found / self.expected - 1.0
    }

    /// Whether noise alone moves the answer by more than 0.3%, which is more than the samples' scatter in `noisy`.
    pub(crate) fn is_shifted(&self) -> bool {
        (self.noisy / self.expected - 1.0).abs() > 0.003
    }
}

/// Every measured number of a run beside the solver's; the data must have arrived where it was looked at.
pub(crate) fn compared(described: &BoxFile, links: &Links) -> Vec<Comparison> {
    let solver = Solver::new(described);
    let mut all = Vec::new();
    for point in &links.points {
        let Outcome::Measured {
            quantities,
            verification,
            ..
        } = &point.outcome
        else {
            continue;
        };
        assert!(
            !matches!(verification, Verification::WrongData { .. }),
            "{point:?}"
        );
        let timing = quantities[0].quantity.timing;
        assert_eq!(timing.source, TimeSource::VirtualClock);
        let question = Question {
            case: &point.case,
            from: ordinal(links, point.from),
            to: ordinal(links, point.to),
            bytes: point.bytes,
            copies: timing.copies_per_sample,
        };
        let (expected, noisy) = (solver.answer(&question), solver.noisy_answer(&question));
        let names: Vec<&str> = quantities.iter().map(|named| named.name.as_str()).collect();
        assert_eq!(
            names,
            expected.iter().map(|(name, _)| *name).collect::<Vec<_>>()
        );
        for ((named, (name, expected)), (_, noisy)) in quantities.iter().zip(expected).zip(noisy) {
            let quantity = &named.quantity;
            all.push(Comparison {
                what: format!("{} {question:?} {name} n={}", described.name, quantity.n),
                case: point.case.clone(),
                found: quantity.value,
                expected,
                noisy,
                covered: quantity
                    .interval
                    .map(|interval| interval.low <= expected && expected <= interval.high),
            });
        }
    }
    all
}

/// Asserts that every number is within a fraction of the solver's without noise, and names the worst ones.
pub(crate) fn assert_within(all: &[Comparison], tolerance: f64) {
    assert_near(all.iter().map(|one| (one, one.expected)), tolerance);
}

/// Asserts that every number is within a fraction of the one beside it.
pub(crate) fn assert_near<'a>(all: impl Iterator<Item = (&'a Comparison, f64)>, tolerance: f64) {
    let (mut count, mut bad) = (0, Vec::new());
    for (one, expected) in all {
        count += 1;
        let error = one.found / expected - 1.0;
        // Not a number is bad, too.
        if !matches!(
            error.abs().partial_cmp(&tolerance),
            Some(Ordering::Less | Ordering::Equal)
        ) {
            let (found, what) = (one.found, &one.what);
            bad.push((
                error,
                format!(
                    "{:+.3}%: {found} found, {expected} expected: {what}",
                    error * 100.0
                ),
            ));
        }
    }
    bad.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    let lines: Vec<&str> = bad.iter().take(20).map(|(_, line)| line.as_str()).collect();
    assert!(
        bad.is_empty(),
        "{} of {count} numbers are off:\n{}",
        bad.len(),
        lines.join("\n")
    );
}

/// The driver's ordinal of an end of a record, whose numbers are positions in the list of devices.
pub(crate) fn ordinal(links: &Links, end: Endpoint) -> Endpoint {
    match end {
        Endpoint::Host => Endpoint::Host,
        Endpoint::Device(position) => Endpoint::Device(links.devices[position].ordinal),
    }
}

/// The verdict on an ordered pair of positions.
pub(crate) fn verdict(links: &Links, from: usize, to: usize) -> PeerVerdict {
    let probe = links
        .probes
        .iter()
        .find(|probe| (probe.from, probe.to) == (from, to));
    probe.unwrap().verdict
}

/// The points of a case.
pub(crate) fn points<'a>(links: &'a Links, case: &'a str) -> impl Iterator<Item = &'a Point> {
    links.points.iter().filter(move |point| point.case == case)
}

/// The number of that name of a case at these ends, which must have been measured.
pub(crate) fn number(links: &Links, case: &str, from: Endpoint, to: Endpoint, name: &str) -> f64 {
    let point = points(links, case).find(|point| (point.from, point.to) == (from, to));
    let outcome = &point.unwrap().outcome;
    let Outcome::Measured { quantities, .. } = outcome else {
        panic!("{case}: {outcome:?}");
    };
    quantities
        .iter()
        .find(|named| named.name == name)
        .unwrap()
        .quantity
        .value
}
