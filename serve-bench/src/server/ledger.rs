//! What becomes of each request while it is with the engine: its instants, for the counters.

use std::collections::HashMap;
use std::time::Instant;

use engine::Emitted;

use super::counters::Counters;

/// A request as it came in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrived {
    pub(super) prompt_tokens: u32,
    /// Output tokens that it asks for.
    pub(super) asked_tokens: u32,
    /// When all of it was there.
    pub(super) at: Instant,
    /// Whether its prompt's keys and values are here, of another engine.
    pub(super) is_loaded: bool,
}

/// The requests that are with the engine.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    entries: HashMap<u64, Entry>,
}

#[derive(Debug)]
struct Entry {
    arrived: Instant,
    /// Prompt tokens that came from the prefix cache.
    cached: u32,
    admitted: Option<Instant>,
    last: Option<Instant>,
}

impl Ledger {
    /// The scheduler took note of a request.
    pub(super) fn arrived(&mut self, id: u64, arrived: Arrived) {
        let entry = Entry {
            arrived: arrived.at,
            cached: 0,
            admitted: None,
            last: None,
        };
        self.entries.insert(id, entry);
    }

    /// A request left the queue.
    pub(super) fn admitted(&mut self, id: u64, cached: u32, now: Instant, counters: &Counters) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.cached = cached;
            entry.admitted = Some(now);
            counters
                .queued
                .add(now.saturating_duration_since(entry.arrived));
        }
    }

    /// A token is there and about to be handed out; gives the prompt tokens that came from the prefix cache.
    pub(super) fn token(&mut self, emitted: &Emitted, now: Instant, counters: &Counters) -> u32 {
        let Some(entry) = self.entries.get_mut(&emitted.id) else {
            return 0;
        };
        let since = |then: Instant| now.saturating_duration_since(then);
        match entry.last.replace(now) {
            Some(before) => counters.itl.add(since(before)),
            None => {
                counters.ttft.add(since(entry.arrived));
                counters.prefill.add(since(entry.admitted.unwrap_or(now)));
            }
        }
        let cached = entry.cached;
        if emitted.finished {
            counters.e2e.add(since(entry.arrived));
            self.entries.remove(&emitted.id);
        }
        cached
    }

    /// Nobody waits for a request any more.
    pub(super) fn cancelled(&mut self, id: u64) {
        self.entries.remove(&id);
    }
}
