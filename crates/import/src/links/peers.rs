//! What a file says of peer access between two devices, and which of two answers is the worse one.

use std::fmt;

use record::PeerVerdict;

/// Peer access of one device to the memory of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerState {
    /// It was probed.
    Probed(PeerVerdict),
    /// The probe began and has no verdict: the run ended in it, or the machine did.
    Begun,
    /// It was left off on the command line.
    Off,
}

impl PeerState {
    /// How far copies got, the more the better; `None` where nobody tried.
    fn rank(self) -> Option<u8> {
        match self {
            Self::Probed(PeerVerdict::Direct) => Some(3),
            Self::Probed(PeerVerdict::Staged) => Some(2),
            Self::Probed(PeerVerdict::Denied) => Some(1),
            Self::Probed(
                PeerVerdict::WrongData
                | PeerVerdict::Hang
                | PeerVerdict::HostLost
                | PeerVerdict::Failed,
            )
            | Self::Begun => Some(0),
            Self::Probed(PeerVerdict::NotTried) | Self::Off => None,
        }
    }

    /// Whether both were tried and this one got less far.
    #[must_use]
    pub fn is_worse_than(self, other: Self) -> bool {
        self.rank()
            .zip(other.rank())
            .is_some_and(|(this, other)| this < other)
    }

    /// Whether it was tried.
    #[must_use]
    pub fn is_tried(self) -> bool {
        self.rank().is_some()
    }
}

impl fmt::Display for PeerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Probed(verdict) => verdict.fmt(f),
            Self::Begun => f.pad("begun without a verdict"),
            Self::Off => f.pad("switched off"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_tried_is_neither_better_nor_worse() {
        let direct = PeerState::Probed(PeerVerdict::Direct);
        for worse in [PeerVerdict::Staged, PeerVerdict::Denied, PeerVerdict::Hang] {
            let worse = PeerState::Probed(worse);
            assert!(worse.is_worse_than(direct) && !direct.is_worse_than(worse));
        }
        for untried in [PeerState::Off, PeerState::Probed(PeerVerdict::NotTried)] {
            assert!(!untried.is_worse_than(direct) && !direct.is_worse_than(untried));
        }
        assert!(PeerState::Begun.is_worse_than(PeerState::Probed(PeerVerdict::Denied)));
    }
}
