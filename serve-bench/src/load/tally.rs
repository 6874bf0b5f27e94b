//! What the replies told beside the requests that are recorded.

use std::collections::BTreeSet;

use record::Stamps;

use super::read::Read;
use super::reply::Reply;

/// Sums over the measured requests.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Connections made anew because the server had closed one.
    pub(super) reconnects: u32,
    /// Requests that were sent again, because the server had closed their connection.
    pub(super) resent: u32,
    /// Prompt tokens that the server took from its cache; `None` where it never said.
    pub(super) cached_tokens: Option<u64>,
    /// Simulated machines that replies named.
    pub(super) soft_boxes: BTreeSet<String>,
    /// Models that replies named and that were not asked for.
    pub(super) other_models: BTreeSet<String>,
    /// Reads of the socket.
    pub(super) reads: u64,
    /// From the kernel's receipt of bytes to their read, ns, one for each read that the kernel stamped.
    pub(super) read_lags_ns: Vec<u32>,
}

/// Names that are kept at most: a server may tell another one with each reply.
const NAMES: usize = 16;

/// Keeps a name, where there is room for it.
fn keep(names: &mut BTreeSet<String>, name: Option<&String>) {
    if names.len() < NAMES {
        names.extend(name.cloned());
    }
}

impl Tally {
    /// Adds a reply.
    pub(super) fn add(&mut self, reply: &Reply, read: &Read) {
        self.reconnects += reply.reconnects;
        self.resent += u32::from(reply.resent > 0);
        if let Some(cached) = read.cached_tokens {
            *self.cached_tokens.get_or_insert(0) += u64::from(cached);
        }
        keep(&mut self.soft_boxes, reply.soft_box.as_ref());
        keep(&mut self.other_models, read.other_model.as_ref());
        self.reads += u64::from(reply.reads.count);
        self.read_lags_ns.extend_from_slice(&reply.reads.lags_ns);
    }

    /// Whose clock the instants of replies are from.
    pub(super) fn stamps(&self) -> Stamps {
        if self.read_lags_ns.is_empty() {
            Stamps::AtRead
        } else {
            Stamps::AtReceipt
        }
    }

    /// Part of the reads that the kernel stamped; `None` without reads.
    pub(super) fn kernel_stamped(&self) -> Option<f64> {
        (self.reads > 0).then(|| self.read_lags_ns.len() as f64 / self.reads as f64)
    }

    /// From the kernel's receipt of bytes to their read, ms.
    pub(super) fn read_lags_ms(&self) -> Vec<f64> {
        let lags = self.read_lags_ns.iter();
        lags.map(|ns| f64::from(*ns) / 1e6).collect()
    }
}
