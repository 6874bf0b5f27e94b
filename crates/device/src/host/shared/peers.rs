//! Memory of the other ranks that is mapped here: what is kept, what is new, and what is given up.
//!
//! All ranks see the same announcements in the same order and keep the same list of them, so that each knows without asking what
//! the others have mapped. When a mapping may be read is not decided here.

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io;

use super::ffi::Mapping;
use super::segment;
use crate::memory::Shown;

/// Buffers of a rank that are kept; it can show two in a call, and programs go round a few.
const KEPT: usize = 16;

/// What is kept of all ranks.
#[derive(Default)]
pub(super) struct Peers {
    /// Those of each rank, the last one used at the end.
    kept: Vec<VecDeque<Kept>>,
    /// Some rank could not map another's memory.
    is_refused: bool,
}

/// A buffer that all other ranks have mapped.
struct Kept {
    shown: Shown,
    /// `None` for an own one, and for one that its owner gave up.
    mapping: Option<Mapping>,
}

impl Peers {
    /// Whether some rank could not map another's memory, on all ranks alike.
    pub(super) fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// Tries no more.
    pub(super) fn refuse(&mut self) {
        *self = Self {
            is_refused: true,
            ..Self::default()
        };
    }

    /// Whether a buffer is kept, which makes it the last one used.
    pub(super) fn has(&mut self, rank: u32, shown: Shown) -> bool {
        let Some(kept) = self.kept.get_mut(rank as usize) else {
            return false;
        };
        let Some(at) = kept.iter().position(|kept| kept.shown == shown) else {
            return false;
        };
        let found = kept.remove(at);
        kept.extend(found);
        true
    }

    /// Keeps a buffer, and one of the same rank less where there are too many.
    pub(super) fn keep(&mut self, rank: u32, shown: Shown, mapping: Option<Mapping>) {
        let rank = rank as usize;
        if self.kept.len() <= rank {
            self.kept.resize_with(rank + 1, VecDeque::new);
        }
        let kept = &mut self.kept[rank];
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(Kept { shown, mapping });
    }

    /// Another rank's buffer, if it is mapped.
    pub(super) fn mapping(&self, rank: u32, shown: Shown) -> Option<&Mapping> {
        let mut kept = self.kept.get(rank as usize)?.iter().rev();
        kept.find(|kept| kept.shown == shown)?.mapping.as_ref()
    }

    /// Gives up what a process has given up, so that its memory goes. It keeps its place in the list, for the others may not yet
    /// have looked.
    pub(super) fn forget_gone(&mut self, rank: u32, process: u32) {
        for kept in self.kept.get_mut(rank as usize).into_iter().flatten() {
            if kept.mapping.is_some() && is_gone(process, kept.shown) {
                kept.mapping = None;
            }
        }
    }
}

#[cfg(test)]
impl Peers {
    /// How many buffers of each rank are kept.
    pub(super) fn numbers(&self) -> Vec<usize> {
        self.kept.iter().map(VecDeque::len).collect()
    }
}

/// Maps a buffer that a process shows.
pub(super) fn map(process: u32, shown: Shown) -> io::Result<Mapping> {
    let file = segment::others(
        process,
        shown.descriptor,
        shown.file,
        OpenOptions::new().read(true),
    )?;
    let bytes = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    Mapping::whole_to_read(&file, bytes)
}

/// Whether a buffer is known to be gone.
fn is_gone(process: u32, shown: Shown) -> bool {
    let found = segment::is_open(process, shown.descriptor, shown.file);
    matches!(found, Err(error) if error.kind() == io::ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::super::pages;
    use super::*;

    fn shown(number: u32) -> Shown {
        Shown {
            number: NonZeroU32::new(number).unwrap(),
            descriptor: 0,
            file: 0,
        }
    }

    #[test]
    fn the_buffer_of_a_rank_that_was_not_used_for_longest_goes_first() {
        let mut peers = Peers::default();
        // Of another rank, which does not count.
        peers.keep(0, shown(100), None);
        for number in 1..=16 {
            peers.keep(1, shown(number), None);
        }
        assert!(peers.has(1, shown(1)));
        peers.keep(1, shown(17), None);
        assert_eq!(peers.numbers(), [1, 16]);
        assert!(peers.has(0, shown(100)) && peers.has(1, shown(1)) && !peers.has(1, shown(2)));
        assert!(!peers.has(2, shown(1)));
    }

    #[test]
    fn a_buffer_is_given_up_once_its_owner_has_none_and_keeps_its_place() {
        let own = std::process::id();
        let (first, second) = (
            pages::allocate(64 << 10, None).unwrap(),
            pages::allocate(64 << 10, None).unwrap(),
        );
        let [one, two] = [&first, &second].map(|buffer| buffer.memory.shown().unwrap());
        let mut peers = Peers::default();
        for shown in [one, two] {
            peers.keep(3, shown, Some(map(own, shown).unwrap()));
        }
        first.with_bytes(|bytes| bytes[100] = 7).unwrap();
        let mapping = peers.mapping(3, one).unwrap();
        assert_eq!(mapping.range(100, 1).unwrap().get(0), [7]);
        drop(first);
        peers.forget_gone(3, own);
        assert!(peers.mapping(3, one).is_none() && peers.mapping(3, two).is_some());
        assert!(peers.has(3, one) && map(own, one).is_err());
        peers.refuse();
        assert!(peers.is_refused() && !peers.has(3, two));
    }
}
