//! Runs the built `tplens p2p` on a simulated machine in folders of its own and reads the record that it leaves.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use boxfile::BoxFile;
use record::quantity::{TimeSource, Unit};
use record::{self, Endpoint, Links, Outcome, Payload, PeerVerdict, Point, Status, Verification};

use super::errors::Comparison;
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

/// A run of `tplens p2p` on a box, which must end well; `args` follow those that name box and folders.
pub(crate) fn measured(described: &BoxFile, args: &[&str]) -> Links {
    let folder = Folder::new();
    let (file, out) = (
        folder.path().join("described.toml"),
        folder.path().join("out"),
    );
    std::fs::write(&file, described.to_toml().unwrap()).unwrap();
    let output = built::named("p2p-bw")
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
    *links
}

/// Every measured number of a run beside the solver's; the data must have arrived where it was looked at.
///
/// What the host takes to issue a copy is no virtual time, and has no answer.
pub(crate) fn compared(described: &BoxFile, links: &Links) -> Vec<Comparison> {
    let solver = Solver::new(described);
    let ordinals: Vec<usize> = links.devices.iter().map(|device| device.ordinal).collect();
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
        let (issue, told): (Vec<_>, Vec<_>) =
            quantities.iter().partition(|named| named.name == "issue");
        assert_eq!(
            issue.len(),
            usize::from(point.case.starts_with("small_copy"))
        );
        let timing = told[0].quantity.timing;
        let question = Question {
            case: &point.case,
            from: ordinal(links, point.from),
            to: ordinal(links, point.to),
            all: &ordinals,
            bytes: point.bytes,
            copies: timing.copies_per_sample,
        };
        let expected = solver.answer(&question);
        let names: Vec<&str> = told.iter().map(|named| named.name.as_str()).collect();
        let wanted: Vec<&str> = expected.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, wanted, "{question:?}");
        for (named, (name, expected)) in told.iter().zip(&expected) {
            let quantity = &named.quantity;
            assert_eq!(quantity.timing.source, TimeSource::Simulated);
            assert_eq!(quantity.unit, unit(name), "{question:?}");
            all.push(Comparison {
                what: format!("{} {question:?} {name} n={}", described.name, quantity.n),
                found: quantity.value,
                expected: *expected,
            });
        }
    }
    all
}

/// The unit of a number of this name.
fn unit(name: &str) -> Unit {
    match name {
        "latency" => Unit::Nanoseconds,
        "pace" => Unit::Microseconds,
        _ => Unit::GbPerS,
    }
}

/// The driver's ordinal of an end of a record, whose numbers are positions in the list of devices.
pub(crate) fn ordinal(links: &Links, end: Endpoint) -> Endpoint {
    match end {
        Endpoint::Host | Endpoint::All => end,
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
