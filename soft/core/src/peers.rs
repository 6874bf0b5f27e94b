//! The simulated driver's calls on access of one device to another's memory.

use crate::{Code, Failure, Outcome, SoftDriver};

impl SoftDriver {
    /// Whether `accessor` can be given access to `peer`.
    ///
    /// # Errors
    /// [`Code::INVALID_DEVICE`].
    pub fn can_access_peer(&self, accessor: usize, peer: usize) -> Outcome<bool> {
        let (a, b) = (self.device(accessor)?.physical, self.device(peer)?.physical);
        Ok(a != b && self.described.peer_path(a, b).access && !self.faults.is_denied(a, b))
    }

    /// Lets `accessor` access the memory of `peer`.
    ///
    /// # Errors
    /// [`Code::PEER_ACCESS_UNSUPPORTED`], [`Code::PEER_ACCESS_ALREADY_ENABLED`].
    pub fn enable_peer(&mut self, accessor: usize, peer: usize) -> Outcome<()> {
        self.usable(accessor)?;
        self.usable(peer)?;
        if self.faults.enabling_hangs(
            self.ordinals[accessor].physical,
            self.ordinals[peer].physical,
        ) {
            return Err(Failure::Hang);
        }
        if accessor == peer {
            return Err(Code::INVALID_DEVICE.into());
        }
        if !self.can_access_peer(accessor, peer)? {
            return Err(Code::PEER_ACCESS_UNSUPPORTED.into());
        }
        let new = self.enabled.insert((accessor, peer));
        if new {
            Ok(())
        } else {
            Err(Code::PEER_ACCESS_ALREADY_ENABLED.into())
        }
    }

    /// Takes back what [`SoftDriver::enable_peer`] gave; copies under way keep their route.
    ///
    /// # Errors
    /// [`Code::PEER_ACCESS_NOT_ENABLED`].
    pub fn disable_peer(&mut self, accessor: usize, peer: usize) -> Outcome<()> {
        self.usable(accessor)?;
        self.usable(peer)?;
        if self.enabled.remove(&(accessor, peer)) {
            Ok(())
        } else {
            Err(Code::PEER_ACCESS_NOT_ENABLED.into())
        }
    }
}
