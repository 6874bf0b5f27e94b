//! One rank's membership, shared by its communicator and by the work that is queued.

use std::sync::{Mutex, OnceLock};

use super::ffi::Mapping;
use super::members::{Broken, Members};
use crate::error::{DeviceError, Result};

/// What a rank needs to work with the others.
pub(in crate::host) struct Membership {
    pub(super) mapping: Mapping,
    pub(super) ranks: u32,
    pub(super) rank: u32,
    pub(super) has_own_cpu: bool,
    /// The last step that it began; locked for a whole operation.
    pub(super) step: Mutex<u64>,
    /// What broke the communicator first; work that waits looks at it.
    pub(super) broken: OnceLock<Broken>,
}

impl Membership {
    pub(super) fn members(&self) -> Members<'_> {
        Members {
            mapping: &self.mapping,
            ranks: self.ranks,
        }
    }

    /// What broke the communicator, if anything did.
    #[inline]
    pub(super) fn check(&self) -> Result<()> {
        match self.broken.get() {
            Some(broken) => Err(broken.clone().into()),
            None => Ok(()),
        }
    }

    /// Remembers what broke the communicator first.
    pub(super) fn break_with(&self, broken: Broken) -> DeviceError {
        self.broken.get_or_init(|| broken).clone().into()
    }

    /// Gives up, also what is under way; the others find this rank gone.
    pub(super) fn abort(&self) {
        self.break_with(Broken::Other("it was aborted".to_owned()));
        self.members().leave(self.rank);
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.members().leave(self.rank);
    }
}
