//! Why a box could not be read.

/// The box could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// There is no sysfs under the root.
    #[error("{path} not found; mount sysfs or give a root folder that holds `sys`")]
    NoSysfs {
        /// The folder that was looked for.
        path: String,
    },
    /// A file holds something else than the kernel writes there.
    #[error("{path} holds `{text}`, which cannot be read as a CPU list; report the kernel version")]
    Malformed {
        /// The file, relative to the root.
        path: String,
        /// What it holds.
        text: String,
    },
    /// A PCI device's link does not lead below a root complex inside the root.
    #[error(
        "{path} does not lead to a device below a PCI root complex; check the links of the tree"
    )]
    NoRoot {
        /// The link, relative to the root.
        path: String,
    },
}
