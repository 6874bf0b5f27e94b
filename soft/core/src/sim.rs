//! Streams, events, copy engines, flows and gates in virtual time, as the crate's head states. Pure: it moves no bytes, knows
//! no box and no driver, and never waits. What is issued is here, what can begin in `settle`, the clock in `advance`.

mod advance;
mod settle;

use std::collections::{BTreeMap, VecDeque};

/// What a copy or a kernel does to the clock.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// Time before the first byte moves, nanoseconds.
    pub latency_ns: f64,
    /// Bytes to move; fractional because noise scales them.
    pub bytes: f64,
    /// The flow's own limit, bytes per nanosecond (decimal GB/s).
    pub cap: f64,
    /// Segments it crosses, as [`Demand`] has them.
    pub segments: Vec<usize>,
    /// It starts and never ends.
    pub hung: bool,
}

impl Flow {
    /// No bytes: only time passes.
    #[must_use]
    pub fn idle(ns: f64) -> Self {
        Self {
            latency_ns: ns,
            bytes: 0.0,
            cap: 0.0,
            segments: Vec::new(),
            hung: false,
        }
    }
}

/// What letting the clock run to the next change did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Something changed.
    Advanced,
    /// Nothing will ever change: no work is pending, or all of it waits for work that never ends.
    Stuck,
}

/// What is known of an event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EventTime {
    /// Never recorded, or no such event.
    Never,
    /// Its latest record has not been reached.
    Pending,
    /// Its latest record was reached at this virtual time, nanoseconds.
    At(f64),
}

/// The simulation: one clock, its streams and its engines.
///
/// Invariant: operations that take no time and can run have run, and no engine is free while a copy waits for it, whenever a
/// public method returns.
#[derive(Debug)]
pub struct Simulation {
    now: f64,
    capacities: Vec<f64>,
    pools: Vec<Pool>,
    streams: BTreeMap<u64, Stream>,
    events: BTreeMap<u64, Event>,
    active: Vec<Active>,
    ended: Vec<u64>,
    next_id: u64,
}

#[derive(Debug)]
struct Pool {
    free: u32,
    /// Copies that wait for an engine: time of readiness, operation, stream.
    waiting: Vec<(f64, u64, u64)>,
}

#[derive(Debug)]
struct Stream {
    pool: usize,
    queue: VecDeque<(u64, Work)>,
    /// The head copy waits for an engine or runs.
    busy: bool,
}

#[derive(Debug)]
enum Work {
    /// It is under way, and its flow is there.
    Begun,
    /// Needs a copy engine.
    Copy(Flow),
    /// Needs none.
    Run(Flow),
    /// Ends when it is opened, at the latest this many nanoseconds after it began.
    Gate(f64),
    Record {
        event: u64,
        count: u64,
    },
    Wait {
        event: u64,
        count: u64,
    },
    /// Waits for an operation of another stream.
    After {
        stream: u64,
        operation: u64,
    },
}

#[derive(Debug, Default)]
struct Event {
    issued: u64,
    reached: u64,
    time: f64,
}

#[derive(Debug)]
struct Active {
    operation: u64,
    stream: u64,
    holds: Holds,
    flow: Flow,
    /// End of the latency; bytes move from then on.
    moves_at: f64,
    left: f64,
}

/// What work that is under way holds besides its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    Nothing,
    Engine,
    /// It is a gate, and closed.
    Gate,
}

/// Whether a record of an event is reached; what waits for an event that is gone goes on.
fn is_reached(events: &BTreeMap<u64, Event>, event: u64, count: u64) -> bool {
    events
        .get(&event)
        .is_none_or(|event| event.reached >= count)
}

/// Whether an operation has left its stream's queue, in which numbers ascend.
fn has_ended(streams: &BTreeMap<u64, Stream>, stream: u64, operation: u64) -> bool {
    let first = streams.get(&stream).and_then(|stream| stream.queue.front());
    first.is_none_or(|(first, _)| *first > operation)
}

/// What is left of a flow that rounding kept from reaching zero, in bytes.
const NOTHING: f64 = 1e-3;

impl Simulation {
    /// Starts at time 0 with these numbers of engines and these segment capacities in bytes per nanosecond.
    #[must_use]
    pub fn new(engines: &[u32], capacities: Vec<f64>) -> Self {
        let pools = engines
            .iter()
            .map(|&free| Pool {
                free,
                waiting: Vec::new(),
            })
            .collect();
        Self {
            now: 0.0,
            capacities,
            pools,
            streams: BTreeMap::new(),
            events: BTreeMap::new(),
            active: Vec::new(),
            ended: Vec::new(),
            next_id: 1,
        }
    }

    /// The virtual time in nanoseconds.
    #[must_use]
    pub fn now(&self) -> f64 {
        self.now
    }

    /// Changes the capacity of a segment from now on.
    pub fn set_capacity(&mut self, segment: usize, gbps: f64) {
        if let Some(capacity) = self.capacities.get_mut(segment) {
            *capacity = gbps;
        }
    }

    /// Opens a stream that uses this pool of engines.
    pub fn open_stream(&mut self, pool: usize) -> u64 {
        let id = self.fresh();
        self.streams.insert(
            id,
            Stream {
                pool,
                queue: VecDeque::new(),
                busy: false,
            },
        );
        id
    }

    /// Forgets a stream; what it still holds never runs, so run it first.
    pub fn close_stream(&mut self, stream: u64) {
        self.streams.remove(&stream);
    }

    /// Opens an event that was never recorded.
    pub fn open_event(&mut self) -> u64 {
        let id = self.fresh();
        self.events.insert(id, Event::default());
        id
    }

    /// Forgets an event; work that waits for it goes on.
    pub fn close_event(&mut self, event: u64) {
        self.events.remove(&event);
        self.settle();
    }

    /// Issues a copy; the answer is the operation that [`Simulation::take_ended`] will name.
    pub fn copy(&mut self, stream: u64, flow: Flow) -> u64 {
        self.issue(stream, Work::Copy(flow))
    }

    /// Issues work that needs no copy engine: a kernel, or another library's work.
    pub fn run(&mut self, stream: u64, flow: Flow) -> u64 {
        self.issue(stream, Work::Run(flow))
    }

    /// Issues a closed gate, which ends when it is opened, at the latest this many nanoseconds after it began.
    pub fn gate(&mut self, stream: u64, timeout_ns: f64) -> u64 {
        self.issue(stream, Work::Gate(timeout_ns))
    }

    /// Records an event at this place of a stream.
    pub fn record(&mut self, event: u64, stream: u64) {
        let Some(entry) = self.events.get_mut(&event) else {
            return;
        };
        entry.issued += 1;
        let count = entry.issued;
        self.issue(stream, Work::Record { event, count });
    }

    /// Makes what a stream is given later wait for the latest record of an event; none means no wait.
    pub fn wait(&mut self, stream: u64, event: u64) {
        let count = self.events.get(&event).map_or(0, |event| event.issued);
        self.issue(stream, Work::Wait { event, count });
    }

    /// Makes what a stream is given later wait for an operation that another stream was given.
    pub fn wait_for(&mut self, stream: u64, (other, operation): (u64, u64)) {
        if stream != other && !self.has_ended(other, operation) {
            let work = Work::After {
                stream: other,
                operation,
            };
            self.issue(stream, work);
        }
    }

    /// What is known of an event's latest record.
    #[must_use]
    pub fn event_time(&self, event: u64) -> EventTime {
        match self.events.get(&event) {
            Some(event) if event.issued > 0 && event.reached == event.issued => {
                EventTime::At(event.time)
            }
            Some(event) if event.issued > 0 => EventTime::Pending,
            _ => EventTime::Never,
        }
    }

    /// Whether a stream has nothing left to do.
    #[must_use]
    pub fn is_idle(&self, stream: u64) -> bool {
        self.streams
            .get(&stream)
            .is_none_or(|stream| stream.queue.is_empty())
    }

    /// Whether an operation that a stream was given has ended; a stream that is gone has nothing left.
    #[must_use]
    pub fn has_ended(&self, stream: u64, operation: u64) -> bool {
        has_ended(&self.streams, stream, operation)
    }

    /// Operations, other than records and waits, that have ended since the last call, in the order in which they ended.
    pub fn take_ended(&mut self) -> impl Iterator<Item = u64> {
        self.ended.drain(..)
    }

    /// A number that nothing else has.
    pub(crate) fn fresh(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    fn issue(&mut self, stream: u64, work: Work) -> u64 {
        let operation = self.fresh();
        let Some(entry) = self.streams.get_mut(&stream) else {
            return operation;
        };
        // Behind other work it waits, and nothing else can begin: the invariant held before. The same is true of what a kernel
        // or a wait that is over lets begin, besides itself.
        match work {
            work if !entry.queue.is_empty() => entry.queue.push_back((operation, work)),
            Work::Wait { event, count } if is_reached(&self.events, event, count) => {}
            Work::Run(flow) => {
                entry.busy = true;
                let begun = Active::begin(operation, stream, Holds::Nothing, flow, self.now);
                self.active.push(begun);
                entry.queue.push_back((operation, Work::Begun));
            }
            work => {
                entry.queue.push_back((operation, work));
                self.settle();
            }
        }
        operation
    }
}
