//! What the replies told beside the requests that are recorded.

use std::collections::BTreeSet;
use std::time::Duration;

use super::read::Read;
use super::reply::Reply;

/// Sums over the measured requests.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// From the end of a reply to the next request's first byte, one for each request that followed another.
    pub(super) turnarounds: Vec<Duration>,
    /// Connections made anew because the server had closed one.
    pub(super) reconnects: u32,
    /// Prompt tokens that the server took from its cache; `None` where it never said.
    pub(super) cached_tokens: Option<u64>,
    /// Soft boxes that replies named.
    pub(super) soft_boxes: BTreeSet<String>,
    /// Models that replies named and that were not asked for.
    pub(super) other_models: BTreeSet<String>,
}

impl Tally {
    /// Adds a reply.
    pub(super) fn add(&mut self, reply: &Reply, read: &Read) {
        self.turnarounds.extend(reply.turnaround);
        self.reconnects += reply.reconnects;
        if let Some(cached) = read.cached_tokens {
            *self.cached_tokens.get_or_insert(0) += u64::from(cached);
        }
        self.soft_boxes.extend(reply.soft_box.clone());
        self.other_models.extend(read.other_model.clone());
    }
}
