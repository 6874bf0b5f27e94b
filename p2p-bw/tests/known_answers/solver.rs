//! What `p2p-bw` must find on a box without noise: the box file's figures, put together by the soft drivers' written
//! semantics (the head of `soft/core/src/lib.rs`) and the method of each case. It shares no code with either.

use std::collections::{BTreeMap, BTreeSet};

use boxfile::{BoxFile, Noise};
use measure::record::Endpoint;

use super::boxes::Dice;
use super::play::{Play, Route, Step};

/// Bytes in flight between two devices that we stage: pieces of a sixteenth within these bounds, through so many buffers.
const PIECE: (u64, u64) = (512 << 10, 8 << 20);
const BUFFERS: usize = 4;

/// One point; ends are ordinals of the driver.
#[derive(Debug, Clone)]
pub(crate) struct Question<'a> {
    pub(crate) case: &'a str,
    pub(crate) from: Endpoint,
    pub(crate) to: Endpoint,
    pub(crate) bytes: u64,
    pub(crate) copies: u32,
}

/// Where a stream of copies goes.
enum Way {
    Direct(Route),
    /// Up to host memory on the issuer's engines, down to the other's.
    Relayed {
        up: Route,
        down: Route,
        to: usize,
    },
}

/// One stream of copies, with the ordinal whose engines carry it.
struct Lane {
    name: &'static str,
    issuer: usize,
    way: Way,
}

/// A crossed segment or wire with its direction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Crossing {
    id: String,
    down: bool,
}

/// A box with its devices as the driver counts them.
pub(crate) struct Solver<'a> {
    described: &'a BoxFile,
    /// Position in the file, by ordinal: MIG instances stand for their GPU.
    physical: Vec<usize>,
}

impl<'a> Solver<'a> {
    pub(crate) fn new(described: &'a BoxFile) -> Self {
        let seen = described.device.iter().enumerate();
        let physical = seen
            .flat_map(|(index, device)| vec![index; device.mig.len().max(1)])
            .collect();
        Self {
            described,
            physical,
        }
    }

    /// Position in the file of an ordinal.
    pub(crate) fn physical(&self, ordinal: usize) -> usize {
        self.physical[ordinal]
    }

    pub(crate) fn ordinals(&self) -> usize {
        self.physical.len()
    }

    /// GB/s by name: of each direction, and of both together where there are two; without noise.
    pub(crate) fn answer(&self, question: &Question<'_>) -> Vec<(&'static str, f64)> {
        self.sample(question, &mut || 1.0)
    }

    /// The medians of many samples with the box's noise, drawn here: what a path makes of noise beyond spread.
    ///
    /// Two flows that share a segment keep in step without noise, and both wait for their latency at one time. Out of
    /// step, one uses what the other leaves, so noise makes them faster.
    pub(crate) fn noisy_answer(&self, question: &Question<'_>) -> Vec<(&'static str, f64)> {
        const SAMPLES: usize = 41;
        let Some(noise) = &self.described.noise else {
            return self.answer(question);
        };
        let mut dice = Dice::new(0x0ddb_a115);
        let samples: Vec<_> = (0..SAMPLES)
            .map(|_| self.sample(question, &mut || factor(noise, &mut dice)))
            .collect();
        let median = |place: usize| {
            let mut values: Vec<f64> = samples.iter().map(|sample| sample[place].1).collect();
            values.sort_by(f64::total_cmp);
            values[SAMPLES / 2]
        };
        let names = samples[0].iter().enumerate();
        names
            .map(|(place, (name, _))| (*name, median(place)))
            .collect()
    }

    /// One sample; each copy's latency and bytes are multiplied by its factor.
    fn sample(
        &self,
        question: &Question<'_>,
        factor: &mut dyn FnMut() -> f64,
    ) -> Vec<(&'static str, f64)> {
        let lanes = self.lanes(question);
        let mut play = Play::default();
        // Each lane's end has its number as mark; more follow.
        let mut next_mark = lanes.len();
        let mut copy = |pool: usize, route: &Route, bytes: u64| {
            let (mut route, factor) = (route.clone(), factor());
            route.latency_ns *= factor;
            Step::Copy {
                pool,
                route,
                bytes: bytes as f64 * factor,
            }
        };
        let streams: Vec<(usize, usize)> = lanes
            .iter()
            .map(|_| (play.stream(), play.stream()))
            .collect();
        let mut emptied: Vec<usize> = Vec::new();
        for _ in 0..question.copies {
            for (lane, (stream, second)) in lanes.iter().zip(&streams) {
                let (up, down, to) = match &lane.way {
                    Way::Relayed { up, down, to } => (up, down, to),
                    Way::Direct(route) => {
                        play.issue(*stream, copy(lane.issuer, route, question.bytes));
                        continue;
                    }
                };
                let piece = (question.bytes / 16)
                    .clamp(PIECE.0, PIECE.1)
                    .min(question.bytes);
                let mut left = question.bytes;
                while left > 0 {
                    let bytes = piece.min(left);
                    left -= bytes;
                    if emptied.len() >= BUFFERS {
                        play.issue(*stream, Step::Await(emptied[emptied.len() - BUFFERS]));
                    }
                    let (full, empty) = (next_mark, next_mark + 1);
                    next_mark += 2;
                    play.issue(*stream, copy(lane.issuer, up, bytes));
                    play.issue(*stream, Step::Reach(full));
                    play.issue(*second, Step::Await(full));
                    play.issue(*second, copy(*to, down, bytes));
                    play.issue(*second, Step::Reach(empty));
                    emptied.push(empty);
                }
            }
        }
        for (mark, (stream, _)) in streams.iter().enumerate() {
            if let Some(last) = emptied.last() {
                play.issue(*stream, Step::Await(*last));
            }
            play.issue(*stream, Step::Reach(mark));
        }
        let own = |device: &usize| self.described.device[*device].copy_engines as usize;
        let engines: Vec<usize> = self.physical.iter().map(own).collect();
        let ends = play.run(&engines, &self.capacities());
        let moved = question.bytes as f64 * f64::from(question.copies);
        let each = lanes.iter().enumerate();
        let mut numbers: Vec<_> = each
            .map(|(mark, lane)| (lane.name, moved / ends[&mark]))
            .collect();
        if lanes.len() > 1 {
            let last = (0..lanes.len()).map(|mark| ends[&mark]).fold(0.0, f64::max);
            numbers.push(("total", moved * lanes.len() as f64 / last));
        }
        numbers
    }

    fn lanes(&self, question: &Question<'_>) -> Vec<Lane> {
        let ordinal = |end| match end {
            Endpoint::Host => None,
            Endpoint::Device(ordinal) => Some(ordinal),
        };
        let first = ordinal(question.from).or(ordinal(question.to)).unwrap();
        let second = ordinal(question.to).unwrap_or(first);
        let (a, b) = (self.physical[first], self.physical[second]);
        let own = &self.described.device[a];
        let lane = |name, issuer, route| Lane {
            name,
            issuer,
            way: Way::Direct(route),
        };
        let one = |route| vec![lane("bandwidth", first, route)];
        let both = |there, back| vec![there, back];
        match question.case {
            "h2d_pinned_ce" => one(self.host_down(a, own.h2d_pinned.value)),
            "h2d_pageable_ce" => one(self.host_down(a, own.h2d_pageable.value)),
            "d2h_pinned_ce" => one(self.host_up(a, own.d2h_pinned.value)),
            "d2h_pageable_ce" => one(self.host_up(a, own.d2h_pageable.value)),
            "host_bidir_pinned_ce" => both(
                lane("forward", first, self.host_down(a, own.h2d_pinned.value)),
                lane("back", first, self.host_up(a, own.d2h_pinned.value)),
            ),
            "local_ce" => one(self.route(own.local.value, own.copy_latency_us.value, [])),
            "d2d_write_ce" => vec![lane("bandwidth", first, self.peer(a, b))],
            "d2d_read_ce" => vec![lane("bandwidth", second, self.peer(a, b))],
            "d2d_bidir_write_ce" => both(
                lane("forward", first, self.peer(a, b)),
                lane("back", second, self.peer(b, a)),
            ),
            "d2d_bidir_read_ce" => both(
                lane("forward", second, self.peer(a, b)),
                lane("back", first, self.peer(b, a)),
            ),
            "d2d_staged_ce" => vec![Lane {
                name: "bandwidth",
                issuer: first,
                way: Way::Relayed {
                    up: self.host_up(a, own.d2h_pinned.value),
                    down: self.host_down(b, self.described.device[b].h2d_pinned.value),
                    to: second,
                },
            }],
            "d2d_driver_staged_ce" => one(self.unassisted(a, b)),
            other => panic!("the solver does not know the case `{other}`; teach it"),
        }
    }

    fn host_down(&self, device: usize, cap: f64) -> Route {
        let latency = self.described.device[device].copy_latency_us.value;
        self.route(
            cap,
            latency,
            [wire(device, true)]
                .into_iter()
                .chain(self.host_segments(device, true)),
        )
    }

    fn host_up(&self, device: usize, cap: f64) -> Route {
        let latency = self.described.device[device].copy_latency_us.value;
        self.route(
            cap,
            latency,
            [wire(device, false)]
                .into_iter()
                .chain(self.host_segments(device, false)),
        )
    }

    /// With access: over links of its own, or over both devices' wires and the pair's segments; a pair that only claims
    /// to be direct goes through the host besides.
    fn peer(&self, a: usize, b: usize) -> Route {
        let path = self.described.peer_path(a, b);
        let mut crossings: Vec<Crossing> = path
            .segments
            .iter()
            .map(|id| Crossing {
                id: id.clone(),
                down: a < b,
            })
            .collect();
        if !path.fabric {
            crossings.extend([wire(a, false), wire(b, true)]);
        }
        if path.staged {
            crossings.extend(self.host_segments(a, false));
            crossings.extend(self.host_segments(b, true));
        }
        self.route(path.gbps.unwrap(), path.latency_us.unwrap(), crossings)
    }

    /// Without access: a part of the slower host link, through the host.
    fn unassisted(&self, a: usize, b: usize) -> Route {
        let (source, target) = (&self.described.device[a], &self.described.device[b]);
        let slower = source.d2h_pinned.value.min(target.h2d_pinned.value);
        let crossings = [wire(a, false), wire(b, true)].into_iter();
        let crossings = crossings
            .chain(self.host_segments(a, false))
            .chain(self.host_segments(b, true));
        let latency = source.copy_latency_us.value + target.copy_latency_us.value;
        self.route(
            self.described.driver_staging_fraction.value * slower,
            latency,
            crossings,
        )
    }

    fn host_segments(&self, device: usize, down: bool) -> impl Iterator<Item = Crossing> {
        let ids = self.described.device[device].host_segments.iter();
        ids.map(move |id| Crossing {
            id: id.clone(),
            down,
        })
    }

    /// A crossing counts once for each direction; what both directions share is crossed once or twice.
    fn route(
        &self,
        cap: f64,
        latency_us: f64,
        crossings: impl IntoIterator<Item = Crossing>,
    ) -> Route {
        let crossings: BTreeSet<Crossing> = crossings.into_iter().collect();
        let mut crosses = BTreeMap::new();
        for crossing in crossings {
            *crosses.entry(self.channel(&crossing)).or_insert(0.0) += 1.0;
        }
        Route {
            cap,
            latency_ns: latency_us * 1e3,
            crosses,
        }
    }

    fn channel(&self, crossing: &Crossing) -> String {
        let segment = self
            .described
            .segment
            .iter()
            .find(|segment| segment.id == crossing.id);
        if segment.is_some_and(|segment| !segment.duplex) {
            return crossing.id.clone();
        }
        format!(
            "{} {}",
            crossing.id,
            if crossing.down { "down" } else { "up" }
        )
    }

    fn capacities(&self) -> BTreeMap<String, f64> {
        let wires = self
            .described
            .device
            .iter()
            .enumerate()
            .flat_map(|(index, device)| {
                [
                    (wire(index, true), device.h2d_pinned.value),
                    (wire(index, false), device.d2h_pinned.value),
                ]
            });
        let segments = self.described.segment.iter().flat_map(|segment| {
            [true, false].map(|down| {
                (
                    Crossing {
                        id: segment.id.clone(),
                        down,
                    },
                    segment.gbps.value,
                )
            })
        });
        wires
            .chain(segments)
            .map(|(crossing, gbps)| (self.channel(&crossing), gbps))
            .collect()
    }
}

/// A device's own link; the name is none that a segment of these tests has.
fn wire(device: usize, down: bool) -> Crossing {
    Crossing {
        id: format!("wire of {device}"),
        down,
    }
}

/// 1 + cv z, z normal within 3; now and then 1 + the extra of a slow copy besides.
fn factor(noise: &Noise, dice: &mut Dice) -> f64 {
    let z = loop {
        // Box and Muller, 1958.
        let (radius, angle) = (
            dice.real(f64::MIN_POSITIVE, 1.0),
            dice.real(0.0, std::f64::consts::TAU),
        );
        let z = (-2.0 * radius.ln()).sqrt() * angle.cos();
        if z.abs() <= 3.0 {
            break z;
        }
    };
    let slow = if dice.chance(noise.slow_fraction) {
        1.0 + noise.slow_extra
    } else {
        1.0
    };
    (1.0 + noise.cv * z) * slow
}
