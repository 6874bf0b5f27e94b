//! Which engine is asked next.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::args::Policy;
use super::peer::Peer;

/// Bytes of a prompt that decide where it goes.
const PREFIX: usize = 2048;

/// An engine with this many requests more than the least loaded gets no more for its prefix.
const AHEAD: usize = 8;

/// The engines in the order in which they are asked: those that can be reached first.
pub(super) fn order(
    peers: &[Arc<Peer>],
    policy: Policy,
    turn: usize,
    prompt: Option<&str>,
) -> Vec<Arc<Peer>> {
    let mut order: Vec<Arc<Peer>> = peers.to_vec();
    let count = order.len().max(1);
    order.rotate_left(turn % count);
    let busy = |peer: &Arc<Peer>| peer.busy.load(Relaxed);
    match (policy, prompt) {
        (Policy::RoundRobin, _) => {}
        (Policy::Prefix, Some(prompt)) => {
            let least = order.iter().map(busy).min().unwrap_or(0);
            let prefix = &prompt.as_bytes()[..prompt.len().min(PREFIX)];
            // The highest of hashes of prompt and name (rendezvous): an engine that comes or goes moves its own prompts only.
            let weight = |peer: &Arc<Peer>| {
                let mut hash = DefaultHasher::new();
                (prefix, &peer.name).hash(&mut hash);
                (busy(peer) < least + AHEAD, hash.finish())
            };
            order.sort_by_key(|peer| std::cmp::Reverse(weight(peer)));
        }
        (Policy::LeastLoaded | Policy::Prefix, _) => order.sort_by_key(busy),
    }
    order.sort_by_key(|peer| !peer.is_up());
    order
}
