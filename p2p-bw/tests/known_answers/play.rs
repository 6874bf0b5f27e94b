//! Plays streams of copies on engines and of kernels beside them in exact virtual time, in nanoseconds; between two events
//! all rates are constant.
//!
//! It knows no case and no box; `solver` makes the streams.

use std::collections::BTreeMap;

use super::levels::{Flow, rates};

/// What limits a copy, and what it costs before its first byte moves.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    /// GB/s, which is bytes per nanosecond.
    pub(crate) cap: f64,
    pub(crate) latency_ns: f64,
    /// How often it crosses each channel.
    pub(crate) crosses: BTreeMap<String, f64>,
}

/// One step of a stream.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// A copy of so many bytes on an engine of this pool, or by a kernel, which waits for none.
    Copy {
        pool: Option<usize>,
        route: Route,
        bytes: f64,
    },
    /// Goes on when the mark was reached.
    Await(usize),
    /// Reaches a mark.
    Reach(usize),
}

/// Streams that all begin at 0.
#[derive(Debug, Default)]
pub(crate) struct Play {
    streams: Vec<Vec<Step>>,
    /// When a step was issued, for ties on an engine.
    issued: Vec<Vec<usize>>,
    count: usize,
}

/// What the head of a stream is doing.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Head {
    /// Not yet looked at.
    New,
    /// A copy that wants an engine since then.
    Ready(f64),
    /// A copy whose bytes begin to move then.
    Starting(f64),
    /// A copy with so many bytes to go.
    Moving(f64),
}

impl Play {
    pub(crate) fn stream(&mut self) -> usize {
        self.streams.push(Vec::new());
        self.issued.push(Vec::new());
        self.streams.len() - 1
    }

    pub(crate) fn issue(&mut self, stream: usize, step: Step) {
        self.streams[stream].push(step);
        self.issued[stream].push(self.count);
        self.count += 1;
    }

    /// When each mark is reached; `engines` has the number in each pool, `capacity` GB/s of each channel.
    pub(crate) fn run(
        &self,
        engines: &[usize],
        capacity: &BTreeMap<String, f64>,
    ) -> BTreeMap<usize, f64> {
        let mut now = 0.0_f64;
        let mut marks = BTreeMap::new();
        let mut heads: Vec<(usize, Head)> = vec![(0, Head::New); self.streams.len()];
        loop {
            self.settle(&mut heads, &mut marks, now);
            if heads
                .iter()
                .zip(&self.streams)
                .all(|((at, _), steps)| *at == steps.len())
            {
                return marks;
            }
            self.grant(&mut heads, engines, now);
            let moving: Vec<usize> = (0..heads.len())
                .filter(|stream| matches!(heads[*stream].1, Head::Moving(_)))
                .collect();
            let flows: Vec<Flow<'_>> = moving
                .iter()
                .map(|stream| match &self.streams[*stream][heads[*stream].0] {
                    Step::Copy { route, .. } => Flow {
                        cap: route.cap,
                        crosses: &route.crosses,
                    },
                    step => unreachable!("{step:?} moves no bytes"),
                })
                .collect();
            let rates = rates(&flows, capacity);
            let rate = |stream: usize| {
                moving
                    .iter()
                    .position(|s| *s == stream)
                    .map_or(0.0, |at| rates[at])
            };
            let next = heads
                .iter()
                .enumerate()
                .map(|(stream, (_, head))| match head {
                    Head::Starting(begin) => *begin,
                    Head::Moving(left) => now + left / rate(stream),
                    Head::New | Head::Ready(_) => f64::INFINITY,
                });
            let next = next.fold(f64::INFINITY, f64::min);
            assert!(next.is_finite(), "nothing goes on at {now} ns: {heads:?}");
            for (stream, (at, head)) in heads.iter_mut().enumerate() {
                *head = match (*head, &self.streams[stream].get(*at)) {
                    (Head::Starting(begin), Some(Step::Copy { bytes, .. })) if begin <= next => {
                        Head::Moving(*bytes)
                    }
                    (Head::Moving(left), _) => {
                        let left = left - rate(stream) * (next - now);
                        // A thousandth of a byte is rounding.
                        if left < 1e-3 {
                            *at += 1;
                            Head::New
                        } else {
                            Head::Moving(left)
                        }
                    }
                    (other, _) => other,
                };
            }
            now = next;
        }
    }

    /// Passes marks until only copies are at the heads.
    fn settle(&self, heads: &mut [(usize, Head)], marks: &mut BTreeMap<usize, f64>, now: f64) {
        let mut moved = true;
        while moved {
            moved = false;
            for (stream, (at, head)) in heads.iter_mut().enumerate() {
                let pass = match self.streams[stream].get(*at) {
                    Some(Step::Reach(mark)) => {
                        marks.insert(*mark, now);
                        true
                    }
                    Some(Step::Await(mark)) => marks.contains_key(mark),
                    Some(Step::Copy { pool, route, .. }) => {
                        if *head == Head::New {
                            *head = match pool {
                                Some(_) => Head::Ready(now),
                                None => Head::Starting(now + route.latency_ns),
                            };
                        }
                        false
                    }
                    None => false,
                };
                if pass {
                    *at += 1;
                    moved = true;
                }
            }
        }
    }

    /// Gives free engines to copies: who is ready longest first, then who was issued first.
    fn grant(&self, heads: &mut [(usize, Head)], engines: &[usize], now: f64) {
        for (pool, engines) in engines.iter().enumerate() {
            let here = |stream: usize, at: usize| matches!(&self.streams[stream].get(at), Some(Step::Copy { pool: own, .. }) if *own == Some(pool));
            let busy = heads.iter().enumerate().filter(|(stream, (at, head))| {
                here(*stream, *at) && matches!(head, Head::Starting(_) | Head::Moving(_))
            });
            let free = engines.saturating_sub(busy.count());
            let mut waiting: Vec<(f64, usize, usize)> = heads
                .iter()
                .enumerate()
                .filter_map(|(stream, (at, head))| match head {
                    Head::Ready(since) if here(stream, *at) => {
                        Some((*since, self.issued[stream][*at], stream))
                    }
                    _ => None,
                })
                .collect();
            waiting.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            for (_, _, stream) in waiting.into_iter().take(free) {
                if let Some(Step::Copy { route, .. }) = self.streams[stream].get(heads[stream].0) {
                    heads[stream].1 = Head::Starting(now + route.latency_ns);
                }
            }
        }
    }
}
