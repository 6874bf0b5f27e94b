//! The prefix cache: blocks of prompts that outlive their requests, so that a later prompt with the same beginning need not
//! compute them.
//!
//! As vLLM's: whole blocks only, each named by a key that stands for itself and all before it; a block that nobody uses stays until
//! its room is needed, and the one that has been unused longest goes first. It knows names and users, and no text.

use std::collections::{BTreeMap, HashMap};

/// Tokens of prompts that were looked up and found, since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PrefixCounts {
    /// Prompt tokens of all requests that were admitted.
    pub queried_tokens: u64,
    /// Those of them that were in the cache.
    pub hit_tokens: u64,
}

/// Blocks by their keys.
#[derive(Debug, Default)]
pub(crate) struct PrefixCache {
    blocks: HashMap<u64, Block>,
    /// Keys of the blocks without a user, the one that has been without the longest first.
    unused: BTreeMap<u64, u64>,
    /// Counts the times that a block lost its last user.
    turn: u64,
    pub(crate) counts: PrefixCounts,
}

/// A block.
#[derive(Debug)]
enum Block {
    /// So many requests use it.
    Used(u32),
    /// Nobody does, since this turn.
    Unused(u64),
}

impl PrefixCache {
    /// How many blocks from the beginning are there.
    pub(crate) fn hits(&self, keys: &[u64]) -> usize {
        let is_here = |key: &&u64| self.blocks.contains_key(*key);
        keys.iter().take_while(is_here).count()
    }

    /// How many of these blocks nobody uses.
    pub(crate) fn unused_among(&self, keys: &[u64]) -> usize {
        let is_unused = |key: &&u64| matches!(self.blocks.get(*key), Some(Block::Unused(_)));
        keys.iter().filter(is_unused).count()
    }

    /// Takes a block that is there into use.
    pub(crate) fn hold(&mut self, key: u64) {
        match self.blocks.get_mut(&key) {
            Some(Block::Used(users)) => *users += 1,
            Some(block @ Block::Unused(_)) => {
                if let Block::Unused(since) = std::mem::replace(block, Block::Used(1)) {
                    self.unused.remove(&since);
                }
            }
            None => {}
        }
    }

    /// Enters a block that its user has computed; says whether it was not there before.
    pub(crate) fn enter(&mut self, key: u64) -> bool {
        let is_new = !self.blocks.contains_key(&key);
        if is_new {
            self.blocks.insert(key, Block::Used(1));
        }
        is_new
    }

    /// Gives a block back; says whether that was its last user.
    pub(crate) fn release(&mut self, key: u64) -> bool {
        let Some(Block::Used(users)) = self.blocks.get_mut(&key) else {
            return false;
        };
        *users -= 1;
        if *users > 0 {
            return false;
        }
        self.turn += 1;
        self.blocks.insert(key, Block::Unused(self.turn));
        self.unused.insert(self.turn, key);
        true
    }

    /// Forgets blocks without a user until at most `room` of them are left.
    pub(crate) fn shrink(&mut self, room: u64) {
        while self.unused.len() as u64 > room {
            let Some((_, key)) = self.unused.pop_first() else {
                return;
            };
            self.blocks.remove(&key);
        }
    }
}
