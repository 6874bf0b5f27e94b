//! Which CPU a stream of the host backend works on: of those it may have, the one with the fewest streams.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many streams work on each CPU, over all devices of the backend.
#[derive(Debug, Clone, Default)]
pub(super) struct Seats(Arc<Mutex<BTreeMap<usize, usize>>>);

impl Seats {
    fn taken(&self) -> MutexGuard<'_, BTreeMap<usize, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place on the least used of some CPUs, the first of them where several are; `None` where none is named.
    pub(super) fn take(&self, cpus: &[usize]) -> Option<Seat> {
        let mut taken = self.taken();
        let used = |cpu: &&usize| taken.get(*cpu).copied().unwrap_or(0);
        let cpu = cpus.iter().min_by_key(used).copied()?;
        *taken.entry(cpu).or_default() += 1;
        drop(taken);
        Some(Seat {
            cpu,
            seats: self.clone(),
        })
    }
}

/// A stream's place on a CPU, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    cpu: usize,
    seats: Seats,
}

impl Seat {
    /// The CPU.
    pub(super) fn cpu(&self) -> usize {
        self.cpu
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(used) = self.seats.taken().get_mut(&self.cpu) {
            *used = used.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_used_cpu_is_taken_and_the_own_one_among_equals() {
        let seats = Seats::default();
        let take = |cpus: &[usize]| seats.take(cpus).unwrap();
        let first = take(&[4, 5, 6]);
        // Of another device, whose own CPU is 5.
        let other = take(&[5, 6, 4]);
        let second = take(&[4, 5, 6]);
        assert_eq!([first.cpu(), other.cpu(), second.cpu()], [4, 5, 6]);
        // All have one: the own CPU again.
        let third = take(&[4, 5, 6]);
        assert_eq!(third.cpu(), 4);
        // 4 has two, 6 one, and 5 none once its stream is gone.
        drop(other);
        assert_eq!(take(&[4, 6, 5]).cpu(), 5);
        drop((first, third));
        assert_eq!(take(&[6, 4]).cpu(), 4);
        assert!(seats.take(&[]).is_none());
    }
}
