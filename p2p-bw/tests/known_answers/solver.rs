//! What `tplens p2p` must find on a box without noise: the box file's figures, put together by the simulated drivers' written
//! semantics (the head of `soft/core/src/lib.rs`) and the method of each case. It shares no code with either.
//!
//! Gates take no time, so they are not played. What the host takes to issue a copy is its own clock's and not told.

use std::collections::BTreeMap;

use boxfile::BoxFile;
use record::Endpoint;

use super::lanes::{Lane, Lanes, Told, Way};
use super::play::{Play, Route, Step};
use super::routes::Routes;

/// Bytes in flight between two devices that we stage: pieces of a sixteenth within these bounds, through so many buffers.
const PIECE: (u64, u64) = (512 << 10, 8 << 20);
const BUFFERS: usize = 4;

/// One point; ends are ordinals of the driver.
#[derive(Debug, Clone)]
pub(crate) struct Question<'a> {
    pub(crate) case: &'a str,
    pub(crate) from: Endpoint,
    pub(crate) to: Endpoint,
    /// The devices of the run, in the record's order.
    pub(crate) all: &'a [usize],
    pub(crate) bytes: u64,
    /// Copies in a sample, or loads of a chase.
    pub(crate) copies: u32,
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

    /// Numbers by name, in the units of their case, without noise.
    pub(crate) fn answer(&self, question: &Question<'_>) -> Vec<(String, f64)> {
        self.sample(question, &mut || 1.0)
    }

    /// One sample; the latency and the bytes of each copy and kernel are multiplied by its factor.
    fn sample(
        &self,
        question: &Question<'_>,
        factor: &mut dyn FnMut() -> f64,
    ) -> Vec<(String, f64)> {
        let routes = Routes(self.described);
        let (told, lanes) = Lanes::of(routes, &self.physical, question);
        let ends = Staging::new(question, factor, lanes.len()).ends(&lanes, |play| {
            let own = |device: &usize| self.described.device[*device].copy_engines as usize;
            let engines: Vec<usize> = self.physical.iter().map(own).collect();
            play.run(&engines, &routes.capacities())
        });
        let copies = f64::from(question.copies);
        let moved = question.bytes as f64 * copies;
        let number = |end: f64| match told {
            Told::Bandwidth => moved / end,
            Told::Latency => end / copies,
            Told::Pace => end / copies / 1e3,
        };
        let name = |lane: &Lane| match told {
            Told::Pace => "pace".to_owned(),
            Told::Bandwidth | Told::Latency => lane.name.clone(),
        };
        let each = lanes.iter().zip(&ends);
        let mut numbers: Vec<_> = each.map(|(lane, end)| (name(lane), number(*end))).collect();
        if lanes.len() > 1 {
            let last = ends.iter().copied().fold(0.0, f64::max);
            numbers.push(("total".to_owned(), moved * lanes.len() as f64 / last));
        }
        numbers
    }
}

/// Lanes being put on streams: each lane's end has its number as mark, more follow.
struct Staging<'a> {
    question: &'a Question<'a>,
    factor: &'a mut dyn FnMut() -> f64,
    play: Play,
    next_mark: usize,
    /// Marks at which a buffer of a relay became free.
    emptied: Vec<usize>,
}

impl<'a> Staging<'a> {
    fn new(
        question: &'a Question<'a>,
        factor: &'a mut dyn FnMut() -> f64,
        next_mark: usize,
    ) -> Self {
        Self {
            question,
            factor,
            play: Play::default(),
            next_mark,
            emptied: Vec::new(),
        }
    }

    /// Nanoseconds at which each lane ends.
    fn ends(mut self, lanes: &[Lane], run: impl Fn(&Play) -> BTreeMap<usize, f64>) -> Vec<f64> {
        let streams: Vec<(usize, usize)> = lanes
            .iter()
            .map(|_| (self.play.stream(), self.play.stream()))
            .collect();
        for number in 0..self.question.copies {
            for (lane, streams) in lanes.iter().zip(&streams) {
                match &lane.way {
                    Way::Copies(route, pool) => {
                        self.copy(streams.0, *pool, route, self.question.bytes);
                    }
                    Way::Relayed { up, down } => self.relay(*streams, up, down),
                    // All loads are one kernel.
                    Way::Chase { launch_ns, step_ns } if number == 0 => {
                        let loads = f64::from(self.question.copies);
                        let route = waiting(launch_ns + loads * step_ns);
                        self.copy(streams.0, None, &route, 0);
                    }
                    Way::Chase { .. } => {}
                }
            }
        }
        for (mark, (stream, _)) in streams.iter().enumerate() {
            if let Some(last) = self.emptied.last() {
                self.play.issue(*stream, Step::Await(*last));
            }
            self.play.issue(*stream, Step::Reach(mark));
        }
        let marks = run(&self.play);
        (0..lanes.len()).map(|mark| marks[&mark]).collect()
    }

    fn copy(&mut self, stream: usize, pool: Option<usize>, route: &Route, bytes: u64) {
        let (mut route, factor) = (route.clone(), (self.factor)());
        route.latency_ns *= factor;
        let bytes = bytes as f64 * factor;
        self.play.issue(stream, Step::Copy { pool, route, bytes });
    }

    /// One copy in pieces: up in one stream, down in the other, through the ring of buffers.
    fn relay(
        &mut self,
        (first, second): (usize, usize),
        up: &(Route, usize),
        down: &(Route, usize),
    ) {
        let bytes = self.question.bytes;
        let piece = (bytes / 16).clamp(PIECE.0, PIECE.1).min(bytes);
        let mut left = bytes;
        while left > 0 {
            let bytes = piece.min(left);
            left -= bytes;
            if let Some(oldest) = self.emptied.len().checked_sub(BUFFERS) {
                self.play.issue(first, Step::Await(self.emptied[oldest]));
            }
            let (full, empty) = (self.next_mark, self.next_mark + 1);
            self.next_mark += 2;
            self.copy(first, Some(up.1), &up.0, bytes);
            self.play.issue(first, Step::Reach(full));
            self.play.issue(second, Step::Await(full));
            self.copy(second, Some(down.1), &down.0, bytes);
            self.play.issue(second, Step::Reach(empty));
            self.emptied.push(empty);
        }
    }
}

/// A route that takes so long and moves nothing.
fn waiting(latency_ns: f64) -> Route {
    Route {
        cap: 1.0,
        latency_ns,
        crosses: BTreeMap::new(),
    }
}
