//! Rates of a played box: the payloads of `tplens p2p`, with what its planted faults make of them.

use record::plan::StopReason;
use record::quantity::{Gate, Quantity, TimeSource, Timing, Unit};
use record::{
    Endpoint, KernelAccess, LinkUse, Links, NamedQuantity, Outcome, PairPath, PeerProbe, PeerStep,
    PeerVerdict, Placement, Point, StepOutcome, Verification,
};
use topology::PathType;

use super::plant::Plant;
use super::played::{BYTES, Played};

impl Played {
    pub(super) fn links(&mut self, n: usize) -> Links {
        let count = self.count();
        let mut links = Links {
            machine: Some(self.machine()),
            backend: Some(self.facts()),
            devices: self.devices(),
            ..Links::default()
        };
        for a in 0..count {
            links.paths.extend((a + 1..count).map(|b| PairPath {
                a,
                b,
                path: self.path(a, b),
            }));
            self.host_points(&mut links, a, n);
        }
        let pairs = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
        for (from, to) in pairs.filter(|(from, to)| from != to) {
            self.pair(&mut links, from, to, n);
        }
        links
    }

    pub(super) fn host_points(&mut self, links: &mut Links, device: usize, n: usize) {
        let described = &self.described.device[device];
        let part = self.factors[device] * self.plants.host_part(device);
        let through = |rate: f64| self.through(device, rate * part);
        let rates = [
            ("h2d_pinned_ce", through(described.h2d_pinned.value)),
            ("d2h_pinned_ce", through(described.d2h_pinned.value)),
            ("h2d_pageable_ce", described.h2d_pageable.value * part),
            ("d2h_pageable_ce", described.d2h_pageable.value * part),
        ];
        let basis = self.slot(device);
        let basis = basis.map(|link| format!("{link}, payload 256 B"));
        let link = LinkUse {
            ceiling_gb_per_s: self.carries(device),
            basis: basis.unwrap_or_else(|| "the link is unreadable".to_owned()),
            ..LinkUse::default()
        };
        let near = self.node(device);
        let placement = Placement {
            wanted: near,
            proven: self.plants.memory(device).or(near),
            basis: "every page asked about".to_owned(),
        };
        let better = rates[0].1.max(rates[1].1);
        let both = [("host_bidir_pinned_ce", better * 1.7)];
        for (place, (case, rate)) in rates.into_iter().chain(both).enumerate() {
            let own = Endpoint::Device(device);
            let is_in = case.starts_with('h');
            let from = if is_in { Endpoint::Host } else { own };
            let to = if is_in { own } else { Endpoint::Host };
            let is_both = case.contains("bidir");
            let name = if is_both { "total" } else { "bandwidth" };
            // A device that is lost in the middle of its second case answers no more.
            let outcome = if self.plants.has(Plant::Lost { device }) && place >= 1 {
                lost()
            } else {
                Outcome::Measured {
                    quantities: vec![quantity(name, self.dice.rates(rate, n), Unit::GbPerS)],
                    verification: Verification::Passed,
                    link: link.clone(),
                    placement: Some(placement.clone()),
                }
            };
            links.points.push(point(case, from, to, outcome));
        }
    }

    pub(super) fn pair(&mut self, links: &mut Links, from: usize, to: usize, n: usize) {
        let path = self.described.peer_path(from, to);
        let is_lost = [from, to].map(|device| self.plants.has(Plant::Lost { device }));
        let is_lost = is_lost.contains(&true);
        let verdict = match path.access {
            _ if is_lost => PeerVerdict::Failed,
            false => PeerVerdict::Denied,
            true if self.plants.has(Plant::DropsData { from, to }) => PeerVerdict::WrongData,
            true if self.plants.has(Plant::Hangs { from, to }) => PeerVerdict::Hang,
            true => PeerVerdict::Direct,
        };
        let rests_on = match verdict {
            PeerVerdict::Failed => "device lost: a call returned an error (999); look for Xid",
            PeerVerdict::WrongData => "write reported success, its owner found: byte 0",
            PeerVerdict::Hang => "write: no progress for 10 s",
            _ => "16 B copies",
        };
        let mut steps = Vec::new();
        if let (PeerVerdict::Direct, Some(us)) = (verdict, path.latency_us) {
            steps.push(PeerStep {
                name: "small_copies".to_owned(),
                outcome: StepOutcome::Timed {
                    quantity: Box::new(measured(self.dice.times(us, 10), Unit::Microseconds)),
                },
            });
        }
        links.probes.push(PeerProbe {
            from,
            to,
            verdict,
            rests_on: rests_on.to_owned(),
            steps,
            kernels: match verdict {
                PeerVerdict::Direct => KernelAccess::Usable,
                _ => KernelAccess::Untested {
                    reason: String::new(),
                },
            },
            surroundings: None,
        });
        let ends = (Endpoint::Device(from), Endpoint::Device(to));
        let is_direct = verdict == PeerVerdict::Direct;
        let part =
            f64::midpoint(self.factors[from], self.factors[to]) * self.plants.pair_part(from, to);
        let direct = path.gbps.map(|rate| match self.is_fabric() {
            true => rate * part,
            false => self.through(from, self.through(to, rate * part)),
        });
        for case in ["d2d_write_ce", "d2d_read_ce"] {
            let outcome = match direct {
                _ if is_lost => lost(),
                Some(rate) if is_direct => self.pair_outcome(from, to, rate, n),
                _ => Outcome::NotApplicable {
                    reason: format!("peer access is {verdict}").into(),
                },
            };
            links.points.push(point(case, ends.0, ends.1, outcome));
        }
        let pinned = |device: usize| self.described.device[device].h2d_pinned.value;
        let staged =
            self.described.driver_staging_fraction.value * pinned(from).min(pinned(to)) * part;
        let outcome = if is_direct {
            Outcome::NotApplicable {
                reason: "peer access is direct; --no-peer measures the staged path".into(),
            }
        } else if is_lost {
            lost()
        } else {
            self.pair_outcome(from, to, staged, n)
        };
        links
            .points
            .push(point("d2d_staged_ce", ends.0, ends.1, outcome));
    }

    pub(super) fn pair_outcome(&mut self, from: usize, to: usize, rate: f64, n: usize) -> Outcome {
        let path = self.path(from, to);
        // What crosses sockets or another link than PCIe has no ceiling in a record.
        let is_known = path == PathType::Node && !self.is_fabric();
        let both = self.carries(from).zip(self.carries(to));
        let ceiling = both.map(|(a, b)| a.min(b)).filter(|_| is_known);
        let rates = quantity("bandwidth", self.dice.rates(rate, n), Unit::GbPerS);
        Outcome::Measured {
            quantities: vec![rates],
            verification: Verification::Passed,
            link: LinkUse {
                path: Some(path),
                ceiling_gb_per_s: ceiling,
                basis: "the narrower link".to_owned(),
                ..LinkUse::default()
            },
            placement: None,
        }
    }
}

pub(super) fn proven(node: u32) -> Placement {
    Placement {
        wanted: Some(node),
        proven: Some(node),
        basis: "every page asked about".to_owned(),
    }
}

fn lost() -> Outcome {
    Outcome::Failed {
        reason: record::FailureKind::DeviceLost.of("a copy returned an error (999)"),
    }
}

fn point(case: &str, from: Endpoint, to: Endpoint, outcome: Outcome) -> Point {
    Point {
        case: case.to_owned(),
        from,
        to,
        bytes: BYTES,
        outcome,
        caveats: vec![],
    }
}

pub(super) fn quantity(name: &str, samples: Vec<f64>, unit: Unit) -> NamedQuantity {
    NamedQuantity {
        name: name.to_owned(),
        quantity: measured(samples, unit),
    }
}

pub(super) fn measured(samples: Vec<f64>, unit: Unit) -> Quantity {
    let timing = Timing {
        source: TimeSource::Simulated,
        gate: Gate::HeldQueue,
        copies_per_sample: 1,
        warmup_copies: 2,
    };
    Quantity::from_samples(samples, unit, timing, StopReason::MaxSamples).unwrap()
}
