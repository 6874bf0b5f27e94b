//! What becomes of each request while it is with the engine: its instants on both clocks, for the counters and for the log.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::Emitted;

use super::counters::Counters;
use super::log::{Clock, End, Instants, Log, Row, nanoseconds};

/// A request as it came in.
#[derive(Debug, Clone)]
pub(super) struct Arrived {
    /// Its number among the requests for tokens.
    pub(super) number: u64,
    /// The id that its reply carries.
    pub(super) reply: String,
    pub(super) prompt_tokens: u32,
    /// Output tokens that it asks for.
    pub(super) asked_tokens: u32,
    /// The fault that is played on it.
    pub(super) fault: Option<&'static str>,
    /// When all of it was there.
    pub(super) at: Instant,
}

/// What a token's reader is told of its request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    /// When it left the queue.
    pub(super) admitted: Instant,
    /// Prompt tokens that came from the prefix cache.
    pub(super) cached: u32,
}

/// The requests that are with the engine.
#[derive(Debug)]
pub(super) struct Ledger {
    clock: Clock,
    log: Option<Arc<Log>>,
    entries: HashMap<u64, Entry>,
    /// Ended, and not written yet.
    ended: Vec<Row>,
}

#[derive(Debug)]
struct Entry {
    arrived: Arrived,
    known: Option<Known>,
    last: Option<Instant>,
    tokens: u32,
    wall: Instants,
    virtually: Instants,
}

impl Ledger {
    /// A ledger without requests.
    pub(super) fn new(clock: Clock, log: Option<Arc<Log>>) -> Self {
        Self {
            clock,
            log,
            entries: HashMap::new(),
            ended: Vec::new(),
        }
    }

    /// The scheduler took note of a request.
    pub(super) fn arrived(&mut self, id: u64, arrived: Arrived, now: Duration) {
        let entry = Entry {
            wall: Instants {
                arrival: Some(self.clock.ns(arrived.at)),
                ..Instants::default()
            },
            virtually: Instants {
                arrival: Some(nanoseconds(now)),
                ..Instants::default()
            },
            arrived,
            known: None,
            last: None,
            tokens: 0,
        };
        self.entries.insert(id, entry);
    }

    /// A request left the queue.
    pub(super) fn admitted(
        &mut self,
        id: u64,
        cached: u32,
        wall: Instant,
        virtually: Duration,
        counters: &Counters,
    ) {
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        entry.known = Some(Known {
            admitted: wall,
            cached,
        });
        entry.wall.admitted = Some(self.clock.ns(wall));
        entry.virtually.admitted = Some(nanoseconds(virtually));
        counters
            .queued
            .add(wall.saturating_duration_since(entry.arrived.at));
    }

    /// A token is there and about to be handed out.
    pub(super) fn token(
        &mut self,
        emitted: &Emitted,
        wall: Instant,
        virtually: Duration,
        counters: &Counters,
    ) -> Option<Known> {
        let entry = self.entries.get_mut(&emitted.id)?;
        entry.tokens += 1;
        let (wall_ns, virtual_ns) = (self.clock.ns(wall), nanoseconds(virtually));
        entry.wall.first_token.get_or_insert(wall_ns);
        entry.wall.last_token = Some(wall_ns);
        entry.virtually.first_token.get_or_insert(virtual_ns);
        entry.virtually.last_token = Some(virtual_ns);
        let since = |then: Instant| wall.saturating_duration_since(then);
        match entry.last.replace(wall) {
            Some(before) => counters.itl.add(since(before)),
            None => {
                counters.ttft.add(since(entry.arrived.at));
                if let Some(known) = entry.known {
                    counters.prefill.add(since(known.admitted));
                }
            }
        }
        let known = entry.known;
        if emitted.finished {
            counters.e2e.add(since(entry.arrived.at));
            self.end(emitted.id, End::Finished);
        }
        known
    }

    /// Nobody waits for a request any more.
    pub(super) fn cancelled(&mut self, id: u64) {
        self.end(id, End::Cancelled);
        self.write();
    }

    /// Writes what has ended into the log.
    pub(super) fn write(&mut self) {
        for row in self.ended.drain(..) {
            if let Some(log) = &self.log {
                log.add(&row);
            }
        }
    }

    fn end(&mut self, id: u64, end: End) {
        let Some(entry) = self.entries.remove(&id) else {
            return;
        };
        if self.log.is_none() {
            return;
        }
        let Instants {
            arrival, admitted, ..
        } = entry.virtually;
        self.ended.push(Row {
            cached_tokens: entry.known.map(|known| known.cached),
            tokens: entry.tokens,
            queued_ns: admitted
                .zip(arrival)
                .map(|(admitted, arrival)| admitted.saturating_sub(arrival)),
            wall_ns: entry.wall,
            virtual_ns: entry.virtually,
            ..row(entry.arrived, end)
        });
    }
}

/// The line of a request that never came to the engine, with its arrival.
pub(super) fn not_reached(arrived: Arrived, clock: &Clock) -> Row {
    let arrival = Some(clock.ns(arrived.at));
    Row {
        wall_ns: Instants {
            arrival,
            ..Instants::default()
        },
        ..row(arrived, End::NotReached)
    }
}

fn row(arrived: Arrived, end: End) -> Row {
    Row {
        id: arrived.number,
        reply: arrived.reply,
        prompt_tokens: arrived.prompt_tokens,
        cached_tokens: None,
        asked_tokens: arrived.asked_tokens,
        tokens: 0,
        end,
        fault: arrived.fault,
        queued_ns: None,
        wall_ns: Instants::default(),
        virtual_ns: Instants::default(),
    }
}
