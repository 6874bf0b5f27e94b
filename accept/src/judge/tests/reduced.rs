//! Collectives of a played box, and its host memory by node.

use boxfile::CollectiveKind as BoxKind;
use record::quantity::Unit;
use record::{
    CallMode, CollectiveKind, CollectiveOutcome, CollectivePoint, Collectives, ElementType,
    LinkUse, Numa, NumaPoint, Outcome, Verification,
};

use super::played::{BYTES, Played};
use super::rates::{measured, proven, quantity};

impl Played {
    pub(super) fn collectives(&mut self, n: usize) -> Collectives {
        let ranks = u32::try_from(self.count()).unwrap();
        let mut all = Collectives {
            machine: Some(self.machine()),
            backend: Some(self.facts()),
            devices: self.unloaded(),
            ..Collectives::default()
        };
        let Some(library) = self.described.collective_library() else {
            return all;
        };
        for bytes in [16_384, 67_108_864] {
            let us = self
                .described
                .collective_us(library, BoxKind::AllReduce, ranks, bytes);
            let times = us.map(|us| self.dice.times(us * self.plants.collectives(), n));
            all.points.extend(times.map(|times| CollectivePoint {
                kind: CollectiveKind::AllReduce,
                element: ElementType::Bf16,
                bytes_per_rank: bytes,
                ranks,
                mode: CallMode::HostSynced,
                engine: None,
                outcome: CollectiveOutcome::Measured {
                    time: Box::new(measured(times, Unit::Microseconds)),
                    verification: Verification::Passed,
                    gap: None,
                },
                caveats: vec![],
            }));
        }
        all
    }

    pub(super) fn numa(&mut self, n: usize) -> Numa {
        let mut numa = Numa {
            machine: Some(self.machine()),
            backend: Some(self.facts()),
            devices: self.unloaded(),
            copy_bytes: Some(BYTES),
            ..Numa::default()
        };
        let nodes: Vec<u32> = self.described.node.iter().map(|node| node.id).collect();
        for device in 0..self.count() {
            let Some(home) = self.node(device) else {
                continue;
            };
            for node in &nodes {
                let far = self.described.far(home, *node);
                let parts = far.map_or((1.0, 1.0), |far| (far.h2d.value, far.d2h.value));
                let described = &self.described.device[device];
                let own = self.factors[device];
                let rates = [
                    ("h2d_pinned_ce", described.h2d_pinned.value * parts.0 * own),
                    ("d2h_pinned_ce", described.d2h_pinned.value * parts.1 * own),
                ];
                for (case, rate) in rates {
                    let rate = self.through(device, rate);
                    numa.points.push(NumaPoint {
                        case: case.to_owned(),
                        device,
                        memory_node: Some(*node),
                        thread_node: Some(home),
                        bytes: BYTES,
                        outcome: Outcome::Measured {
                            quantities: vec![quantity(
                                "bandwidth",
                                self.dice.rates(rate, n),
                                Unit::GbPerS,
                            )],
                            verification: Verification::Passed,
                            link: LinkUse::default(),
                            placement: Some(proven(*node)),
                        },
                        thread: Some(proven(home)),
                        caveats: vec![],
                    });
                }
            }
        }
        numa
    }
}
