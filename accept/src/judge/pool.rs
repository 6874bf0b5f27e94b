//! What all records together hold of a device or a point: readings and samples of several runs of the same are pooled.
//!
//! Devices are distinguished by their labels, since records may name them in different order. Nothing is judged here.

use std::collections::BTreeMap;

use record::{
    Endpoint, LinkDevice, LinkReading, Links, Outcome, Payload, PeerProbe, Placement, Record,
    Verification, judged,
};
use topology::{Machine, PathType};

use super::trouble::of_copy;
use crate::findings::{Findings, Found};
use crate::report::{Came, Measured};

/// A device as the records have it.
#[derive(Debug, Clone)]
pub(super) struct Device {
    /// As the first record described it.
    pub(super) it: LinkDevice,
    /// Readings of its link under load, each with its record.
    pub(super) loaded: Vec<(LinkReading, String)>,
    /// Place of the first record that has it.
    pub(super) source: String,
}

/// A case between two ends at one size, of all records.
#[derive(Debug, Clone, Default)]
pub(super) struct Pooled {
    /// Bytes of a copy.
    pub(super) bytes: u64,
    /// Samples by the number's name.
    samples: BTreeMap<String, Vec<f64>>,
    /// What the link carries in GB/s, the highest of the records', and what that rests on.
    pub(super) ceiling: Option<(f64, String)>,
    /// Where it has no number, why; a fault of one record outweighs the numbers of others.
    pub(super) trouble: Option<Came>,
    /// Where host memory was, as the last record proved it.
    pub(super) placement: Option<Placement>,
    /// How many records compared the data, and found it right.
    pub(super) verified: usize,
    /// How many records have a number.
    pub(super) measured: usize,
    /// The records' places.
    sources: Vec<String>,
}

/// A key of [`Pool::points`]: case, from, to, bytes.
pub(super) type Key = (String, String, String, u64);

/// Ends of an ordered pair.
pub(super) type Pair<'a> = (&'a str, &'a str);

/// A probe with the labels of its ends.
#[derive(Debug, Clone)]
pub(super) struct Probed {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) probe: PeerProbe,
    pub(super) source: String,
}

/// Everything of all records of links.
#[derive(Debug, Clone, Default)]
pub(super) struct Pool {
    /// In the order in which they were first met.
    pub(super) devices: Vec<Device>,
    pub(super) points: BTreeMap<Key, Pooled>,
    pub(super) probes: Vec<Probed>,
    paths: BTreeMap<(String, String), PathType>,
    /// `cuda`, `hip`, `maca` or `host`.
    pub(super) backend: Option<String>,
    /// Whether the processor says that this is a guest.
    pub(super) is_guest: Option<bool>,
}

/// The cases that give a pair's rate: direct ones, then through the host.
pub(super) const PAIR_CASES: [&str; 3] = ["d2d_write_ce", "d2d_read_ce", "d2d_staged_ce"];

/// An ordered pair in words.
pub(super) fn arrow((from, to): Pair<'_>) -> String {
    format!("{from}->{to}")
}

/// The ends of a kind of copy between the host and a device.
pub(super) fn host_ends<'a>(kind: &str, label: &'a str) -> Pair<'a> {
    let is_in = kind.starts_with("h2d");
    if is_in { (HOST, label) } else { (label, HOST) }
}

/// The number of a copy that is judged.
pub(super) const BANDWIDTH: &str = "bandwidth";

/// The name of host memory as an end.
pub(super) const HOST: &str = "host";

impl Pool {
    /// Of all records.
    pub(super) fn of(findings: &Findings) -> Self {
        let mut pool = Self::default();
        let sets = [&findings.links, &findings.numa, &findings.collectives];
        for found in sets.into_iter().flatten() {
            pool.meet(found);
        }
        for found in &findings.links {
            let links = found.links().into_iter();
            links.for_each(|links| pool.add(links, found));
        }
        pool
    }

    /// Takes on machine, driver and devices of a record.
    fn meet(&mut self, found: &Found<Record>) {
        let (machine, backend, devices) = match &found.it.payload {
            Payload::Links(links) => (&links.machine, &links.backend, &links.devices),
            Payload::Numa(numa) => (&numa.machine, &numa.backend, &numa.devices),
            Payload::Collectives(all) => (&all.machine, &all.backend, &all.devices),
            Payload::Serve(_) => return,
        };
        let hypervisor = |machine: &Machine| machine.hypervisor;
        self.is_guest = self.is_guest.or(machine.as_ref().and_then(hypervisor));
        if self.backend.is_none() {
            self.backend = backend.as_ref().map(|backend| backend.name.clone());
        }
        for device in devices {
            if self.device(&device.label).is_none() {
                self.devices.push(Device {
                    it: device.clone(),
                    loaded: Vec::new(),
                    source: found.source.clone(),
                });
            }
            let mut known = self.devices.iter_mut();
            let Some(known) = known.find(|known| known.it.label == device.label) else {
                continue;
            };
            known.it.busy = known.it.busy.take().or_else(|| device.busy.clone());
            known.it.max_payload_bytes = known.it.max_payload_bytes.or(device.max_payload_bytes);
            if let Some(loaded) = &device.loaded {
                known.loaded.push((loaded.clone(), found.source.clone()));
            }
        }
    }

    fn add(&mut self, links: &Links, found: &Found<Record>) {
        let source = &found.source;
        let label = |index: usize| links.devices.get(index).map(|device| device.label.clone());
        let end = |end: Endpoint| match end {
            Endpoint::Host => Some(HOST.to_owned()),
            Endpoint::All => Some("all".to_owned()),
            Endpoint::Device(index) => label(index),
        };
        for pair in &links.paths {
            if let (Some(a), Some(b)) = (label(pair.a), label(pair.b)) {
                self.paths.insert((a.clone(), b.clone()), pair.path);
                self.paths.insert((b, a), pair.path);
            }
        }
        for probe in &links.probes {
            if let (Some(from), Some(to)) = (label(probe.from), label(probe.to)) {
                self.probes.push(Probed {
                    from,
                    to,
                    probe: probe.clone(),
                    source: source.clone(),
                });
            }
        }
        for point in &links.points {
            let (Some(from), Some(to)) = (end(point.from), end(point.to)) else {
                continue;
            };
            let key = (point.case.clone(), from, to, point.bytes);
            let pooled = self.points.entry(key).or_default();
            pooled.bytes = point.bytes;
            pooled.add(&point.outcome, source, !found.is_of_soak());
        }
    }

    /// The labels, in the order in which they were met.
    pub(super) fn labels(&self) -> Vec<&str> {
        let devices = self.devices.iter();
        devices.map(|device| &*device.it.label).collect()
    }

    /// The device of a label.
    pub(super) fn device(&self, label: &str) -> Option<&Device> {
        self.devices.iter().find(|device| device.it.label == label)
    }

    /// Every ordered pair of devices.
    pub(super) fn pairs(&self) -> Vec<Pair<'_>> {
        let labels = self.labels();
        let all = labels.iter();
        let all = all.flat_map(|from| labels.iter().map(move |to| (*from, *to)));
        all.filter(|(from, to)| from != to).collect()
    }

    /// The path class between two devices.
    pub(super) fn path(&self, (a, b): Pair<'_>) -> PathType {
        let known = self.paths.get(&(a.to_owned(), b.to_owned()));
        known.copied().unwrap_or(PathType::Unknown)
    }

    /// A case between two ends at the largest size at which it was measured, else at the largest at which it was tried.
    pub(super) fn point(&self, case: &str, ends: Pair<'_>) -> Option<&Pooled> {
        let of_case = |key: &Key| (&*key.0, (&*key.1, &*key.2)) == (case, ends);
        let of_case = |(key, pooled)| of_case(key).then_some(pooled);
        let all = || self.points.iter().filter_map(of_case);
        let measured = all().rfind(|pooled| pooled.trouble.is_none());
        measured.or_else(|| all().next_back())
    }

    /// The rate of a case between two ends, where it has one that stands for something.
    pub(super) fn rate(&self, case: &str, ends: Pair<'_>) -> Option<Measured> {
        let pooled = self.point(case, ends)?;
        let rate = pooled.figure(BANDWIDTH);
        rate.filter(|_| pooled.trouble.is_none())
    }

    /// The rate of a pair.
    pub(super) fn pair_rate(&self, pair: Pair<'_>) -> Option<Measured> {
        PAIR_CASES.iter().find_map(|case| self.rate(case, pair))
    }

    /// The rate between the host and a device.
    pub(super) fn host_rate(&self, kind: &str, label: &str) -> Option<Measured> {
        self.rate(&format!("{kind}_ce"), host_ends(kind, label))
    }

    /// Whether a case was tried between any ends.
    pub(super) fn has(&self, case: &str) -> bool {
        self.points.keys().any(|key| key.0 == case)
    }
}

impl Pooled {
    /// Adds what came of a point. What was measured beside a load tells of faults and of data, and its figures are `drift`'s.
    fn add(&mut self, outcome: &Outcome, source: &str, has_figures: bool) {
        let trouble = of_copy(outcome);
        if !has_figures && trouble.is_none() {
            self.count(outcome);
            return;
        }
        self.sources.push(source.to_owned());
        if let Outcome::Measured {
            quantities,
            link,
            placement,
            ..
        } = outcome
            && trouble.is_none()
        {
            for named in judged(quantities) {
                let samples = self.samples.entry(named.name.clone()).or_default();
                samples.extend(&named.quantity.samples);
            }
            let known = self.ceiling.as_ref().map_or(0.0, |(known, _)| *known);
            if let Some(ceiling) = link.ceiling(BANDWIDTH).filter(|ceiling| *ceiling >= known) {
                self.ceiling = Some((ceiling, link.basis.clone()));
            }
            self.placement.clone_from(placement);
            self.count(outcome);
        }
        // A fault stays; what could not be done once is forgotten when it is done.
        let has_fault = self.trouble.as_ref().is_some_and(Came::is_fault);
        let is_fault = trouble.as_ref().is_some_and(Came::is_fault);
        if is_fault || (!has_fault && self.measured == 0) {
            self.trouble = trouble;
        } else if !has_fault {
            self.trouble = None;
        }
    }

    fn count(&mut self, outcome: &Outcome) {
        self.measured += 1;
        let Outcome::Measured { verification, .. } = outcome else {
            return;
        };
        self.verified += usize::from(*verification == Verification::Passed);
    }

    /// A number of it by name, in GB/s.
    pub(super) fn figure(&self, name: &str) -> Option<Measured> {
        let figure = Measured::of(self.samples.get(name)?.clone())?;
        Some(figure.in_unit("GB/s", self.source()))
    }

    /// Where it comes from.
    pub(super) fn source(&self) -> String {
        let mut once = self.sources.clone();
        once.dedup();
        once.join(", ")
    }
}
