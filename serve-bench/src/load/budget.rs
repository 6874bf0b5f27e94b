//! How much a run takes in: as much as a record holds that can be read back, counted as it is delivered and not as it was asked for.
//!
//! It is counted once a read, on the load's thread; nothing is done for each chunk.

use std::cell::Cell;

use record::JOURNAL_ROOM;

/// Chunks with tokens of one run: 32 bytes each in flight, 8 in the record, and about 20 in its journal.
const MAX_CHUNKS: u64 = 10_000_000;

/// Chunks of a reply for each token that was asked for; one that brings more does not heed the limit.
pub(super) const TOO_LONG: usize = 4;

/// Bytes of a journal for one chunk: its instant and its tokens.
const CHUNK_BYTES: u64 = 22;

/// Bytes of a journal for one request without its chunks.
const REQUEST_BYTES: u64 = 320;

/// What a run may still take in.
#[derive(Debug)]
pub(super) struct Budget {
    most: u64,
    chunks: Cell<u64>,
}

impl Default for Budget {
    fn default() -> Self {
        Self::of(MAX_CHUNKS)
    }
}

impl Budget {
    /// A budget of so many chunks.
    pub(super) fn of(most: u64) -> Self {
        Self {
            most,
            chunks: Cell::new(0),
        }
    }

    /// Counts chunks with tokens.
    pub(super) fn spend(&self, chunks: usize) {
        self.chunks.set(self.chunks.get() + chunks as u64);
    }

    /// Whether more came than a run takes in.
    pub(super) fn is_spent(&self) -> bool {
        self.chunks.get() > self.most
    }

    /// Begins anew: what came to warm up is not kept.
    pub(super) fn renew(&self) {
        self.chunks.set(0);
    }
}

/// Whether so many tokens are more than a run takes in.
pub(super) fn is_too_much(tokens: u64) -> bool {
    tokens > MAX_CHUNKS
}

/// Refuses requests whose replies no record holds, as far as they are known beforehand.
///
/// # Errors
/// In words.
pub(super) fn check(requests: u32, tokens: u64, streamed: bool) -> Result<(), String> {
    let chunks = if streamed { tokens } else { 0 };
    let bytes = u64::from(requests) * REQUEST_BYTES + chunks.saturating_mul(CHUNK_BYTES);
    if chunks <= MAX_CHUNKS && bytes <= JOURNAL_ROOM {
        return Ok(());
    }
    let next = if streamed { ", or use --no-stream" } else { "" };
    Err(format!(
        "{requests} requests of {tokens} tokens are more than a record holds; ask for fewer --num-prompts{next}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_is_counted_and_the_last_chunk_fits() {
        let budget = Budget::of(5);
        for chunks in [2, 0, 3] {
            budget.spend(chunks);
        }
        assert!(!budget.is_spent());
        budget.spend(1);
        assert!(budget.is_spent());
        budget.renew();
        assert!(!budget.is_spent());
    }

    #[test]
    fn what_no_record_holds_is_refused() {
        // 251,658,240 bytes of room. 78,000 x 320 + 78,000 x 128 x 22 = 244,608,000; 800,000 x 320 = 256,000,000.
        for (requests, each, streamed, fits) in [
            (78_000, 128, true, true),
            (100_001, 100, true, false),
            (800_000, 1, true, false),
            (780_000, 4_000_000, false, true),
            (800_000, 1, false, false),
        ] {
            let checked = check(requests, u64::from(requests) * each, streamed);
            assert_eq!(checked.is_ok(), fits, "{requests} of {each}");
        }
    }
}
