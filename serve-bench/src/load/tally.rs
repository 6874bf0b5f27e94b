//! What the replies told beside the requests that are recorded.

use std::collections::BTreeSet;
use std::time::Instant;

use record::ServeRequest;

use super::reply::Reply;

/// Sums over the measured requests.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Tally {
    /// Connections made anew because the server had closed one.
    pub(super) reconnects: u32,
    /// Requests that were sent again, because the server had closed their connection.
    pub(super) resent: u32,
    /// Prompt tokens that the server took from its cache; `None` where it never said.
    pub(super) cached_tokens: Option<u64>,
    /// Output tokens of replies that succeeded with other ones than were asked for.
    pub(super) other_lengths: Vec<u32>,
    /// Simulated machines that replies named.
    pub(super) soft_boxes: BTreeSet<String>,
    /// Models that replies named.
    pub(super) models: BTreeSet<String>,
    /// Reads of the socket.
    pub(super) reads: u64,
    /// From the kernel's receipt of bytes to their read, ns, one for each read that the kernel stamped.
    pub(super) read_lags_ns: Vec<u32>,
    /// From the instant at which each request could be sent to its first byte, ms.
    pub(super) send_lags_ms: Vec<f64>,
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
    /// Adds a reply and what is recorded of it.
    pub(super) fn add(&mut self, reply: &Reply, request: &ServeRequest) {
        self.reconnects += reply.reconnects;
        self.resent += u32::from(reply.resent > 0);
        if let Some(cached) = request.cached_tokens {
            *self.cached_tokens.get_or_insert(0) += u64::from(cached);
        }
        let counted = request.output_tokens.filter(|_| request.error.is_none());
        let is_other = |tokens: &u32| reply.limit.is_some_and(|limit| *tokens != limit);
        self.other_lengths.extend(counted.filter(is_other));
        keep(&mut self.soft_boxes, reply.soft_box.as_ref());
        keep(&mut self.models, reply.content.model.as_ref());
        self.reads += u64::from(reply.reads.count);
        self.read_lags_ns.extend_from_slice(&reply.reads.lags_ns);
        // Late by its schedule, or by the place that it waited for, whichever came last.
        let since = |then: Instant| reply.sent.saturating_duration_since(then);
        let late = reply.intended.map(since).into_iter();
        let lag = late.chain(reply.turnaround).min();
        self.send_lags_ms
            .extend(lag.map(|lag| lag.as_secs_f64() * 1e3));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_request_is_late_by_its_schedule_or_by_its_place() {
        let start = Instant::now();
        let reply = |intended: Option<u64>, turnaround: Option<u64>| {
            let mut reply = Reply::begin(0);
            reply.sent = start + Duration::from_millis(100);
            reply.intended = intended.map(|ms| start + Duration::from_millis(ms));
            reply.turnaround = turnaround.map(Duration::from_millis);
            reply
        };
        let mut tally = Tally::default();
        // Due at 99 and sent at 100; due at 10, but its place was free 2 ms before; a closed loop's; its first has none.
        for (intended, turnaround) in [
            (Some(99), None),
            (Some(10), Some(2)),
            (None, Some(3)),
            (None, None),
        ] {
            tally.add(&reply(intended, turnaround), &ServeRequest::default());
        }
        let rounded: Vec<f64> = tally.send_lags_ms.iter().map(|ms| ms.round()).collect();
        assert_eq!(rounded, [1.0, 2.0, 3.0]);
    }
}
