//! What is to happen to bytes when operations end, by operation.

use crate::work::Transfer;
use std::collections::VecDeque;

/// Transfers of operations that were issued and whose bytes were not moved.
///
/// Invariant: numbers of operations ascend. Most of them end in the order in which they were issued, and so most are taken from
/// the front.
#[derive(Default)]
pub(crate) struct Pending(VecDeque<(u64, Transfer)>);

impl Pending {
    /// Adds a transfer of the operation that was issued last.
    pub(crate) fn insert(&mut self, operation: u64, transfer: Transfer) {
        debug_assert!(self.0.back().is_none_or(|(last, _)| *last < operation));
        self.0.push_back((operation, transfer));
    }

    pub(crate) fn get(&self, operation: u64) -> Option<&Transfer> {
        let place = self.place(operation)?;
        self.0.get(place).map(|(_, transfer)| transfer)
    }

    pub(crate) fn get_mut(&mut self, operation: u64) -> Option<&mut Transfer> {
        let place = self.place(operation)?;
        self.0.get_mut(place).map(|(_, transfer)| transfer)
    }

    pub(crate) fn remove(&mut self, operation: u64) {
        if let Some(place) = self.place(operation) {
            self.0.remove(place);
        }
    }

    fn place(&self, operation: u64) -> Option<usize> {
        if self.0.front().is_some_and(|(first, _)| *first == operation) {
            return Some(0);
        }
        self.0.binary_search_by_key(&operation, |(of, _)| *of).ok()
    }
}
