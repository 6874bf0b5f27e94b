//! How a process shows memory to other processes: as a file that they can open while it lives.

use std::num::NonZeroU32;

/// Memory that lies in a file without a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shown {
    /// Which memory it is, among all that the process ever showed.
    pub(crate) number: NonZeroU32,
    /// The descriptor of its file in that process.
    pub(crate) descriptor: u32,
    /// The number of its file.
    pub(crate) file: u64,
}
