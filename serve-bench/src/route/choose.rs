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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_that_begin_alike_go_to_one_engine_until_it_is_busy() {
        let peer =
            |port: u16| Peer::parse(&format!("http://127.0.0.1:{port}"), |_| Err(String::new()));
        let peers: Vec<Arc<Peer>> = (1..=4).map(|port| Arc::new(peer(port).unwrap())).collect();
        let first = |turn, prompt: &str| {
            let order = order(&peers, Policy::Prefix, turn, Some(prompt));
            order[0].name.clone()
        };
        let prefix = "p".repeat(PREFIX);
        let home = first(0, &prefix);
        for turn in 1..8 {
            assert_eq!(first(turn, &format!("{prefix}{turn}")), home);
        }
        // Of 64 other beginnings each engine gets some.
        let others: std::collections::BTreeSet<String> =
            (0..64).map(|n| first(0, &format!("{n} other"))).collect();
        assert_eq!(others.len(), 4);
        let busy = peers.iter().find(|peer| peer.name == home).unwrap();
        busy.busy.store(AHEAD, Relaxed);
        assert_ne!(first(0, &prefix), home);
        // The least loaded, and one after the other.
        assert_ne!(order(&peers, Policy::LeastLoaded, 0, None)[0].name, home);
        let turns: Vec<String> = (0..4)
            .map(|turn| {
                order(&peers, Policy::RoundRobin, turn, None)[0]
                    .name
                    .clone()
            })
            .collect();
        assert_eq!(
            turns,
            ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", "127.0.0.1:4"]
        );
    }
}
