//! [`NumaError`]: what was refused, where, and what to try.

use std::{fmt, io};

/// An error number of the kernel, shown as its text, such as `Operation not permitted (os error 1)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Errno {
    /// The error of the call that this thread made last.
    pub(crate) fn last() -> Self {
        Self(
            io::Error::last_os_error()
                .raw_os_error()
                .unwrap_or_default(),
        )
    }

    /// Whether the system forbids the call itself, whatever its arguments.
    pub(crate) fn forbids(self) -> bool {
        [libc::EPERM, libc::EACCES, libc::ENOSYS].contains(&self.0)
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        io::Error::from_raw_os_error(self.0).fmt(f)
    }
}

/// A thread or memory could not be placed, or the kernel did not say where it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NumaError {
    /// No CPU was named.
    #[error("no CPU was named to run on; name at least one")]
    NoCpu,
    /// A call that neither binds nor makes memory was refused.
    #[error("{what} was refused: {errno}; {hint}")]
    Refused {
        /// The call and what it was of.
        what: String,
        /// The reason.
        errno: Errno,
        /// What to try.
        hint: &'static str,
    },
    /// A memory policy was refused.
    #[error("memory policy bind to nodes {nodes:?} was refused: {errno}; {}", hint(*errno))]
    Policy {
        /// The nodes.
        nodes: Vec<u32>,
        /// The reason.
        errno: Errno,
    },
    /// Memory was not bound to a node.
    #[error("binding {} to NUMA node {node} was refused: {errno}; {}", size(*bytes), hint(*errno))]
    Bind {
        /// The node that was asked for.
        node: u32,
        /// The size of the region in bytes.
        bytes: usize,
        /// The reason.
        errno: Errno,
    },
    /// There is no memory for a region.
    #[error("mapping {} was refused: {errno}; ask for less or free memory", size(*bytes))]
    Map {
        /// The size that was asked for.
        bytes: usize,
        /// The reason.
        errno: Errno,
    },
    /// Memory was not locked.
    #[error(
        "locking {} was refused: {errno}; RLIMIT_MEMLOCK is {limit}, raise it with `ulimit -l`",
        size(*bytes)
    )]
    Lock {
        /// The size of the region in bytes.
        bytes: usize,
        /// The soft limit, as a size or `unlimited`.
        limit: String,
        /// The reason.
        errno: Errno,
    },
}

impl NumaError {
    /// Whether the system forbids the call itself (`EPERM`, `EACCES`, `ENOSYS`), as containers do; the same call with
    /// other arguments would be refused too.
    pub fn is_forbidden(&self) -> bool {
        self.errno().is_some_and(Errno::forbids)
    }

    /// The kernel's error number; `None` where no call was made.
    pub fn errno(&self) -> Option<Errno> {
        match self {
            Self::NoCpu => None,
            Self::Refused { errno, .. }
            | Self::Policy { errno, .. }
            | Self::Bind { errno, .. }
            | Self::Map { errno, .. }
            | Self::Lock { errno, .. } => Some(*errno),
        }
    }
}

/// A size as people read it, rounded to a tenth of its unit: `4 KiB`, `16 MiB`, `1.5 GiB`.
pub(crate) fn size(bytes: usize) -> String {
    let Some((shift, unit)) = [(30, "GiB"), (20, "MiB"), (10, "KiB")]
        .into_iter()
        .find(|(shift, _)| bytes >> shift > 0)
    else {
        return format!("{bytes} bytes");
    };
    let one = 1_u128 << shift;
    let tenths = (bytes as u128 * 10 + one / 2) / one;
    match tenths % 10 {
        0 => format!("{} {unit}", tenths / 10),
        tenth => format!("{}.{tenth} {unit}", tenths / 10),
    }
}

/// What to try after a refusal to change another process.
pub(crate) fn process_hint(errno: Errno) -> &'static str {
    match errno.0 {
        libc::EPERM => "it belongs to another user, or a container needs `--cap-add SYS_NICE`",
        libc::ESRCH => "it has ended",
        _ => hint(errno),
    }
}

/// What to try after a refusal of the calls `mbind`, `set_mempolicy`, `get_mempolicy` and `move_pages`.
pub(crate) fn hint(errno: Errno) -> &'static str {
    match errno.0 {
        libc::EACCES => {
            "the cpuset does not allow the node: see Mems_allowed_list of /proc/self/status, and start it where the node is in it"
        }
        libc::EPERM => {
            "a container needs `--cap-add SYS_NICE` or a seccomp profile that allows the call"
        }
        libc::ENOSYS => "the kernel has no NUMA support (CONFIG_NUMA) or a sandbox hides it",
        libc::EINVAL => {
            "the node does not exist, has no memory or is not in Mems_allowed_list of /proc/self/status"
        }
        _ => "see the manual page of the call",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_node_the_reason_and_the_next_step() {
        let error = NumaError::Bind {
            node: 5,
            bytes: 4096,
            errno: Errno(libc::EPERM),
        };
        assert_eq!(
            error.to_string(),
            "binding 4 KiB to NUMA node 5 was refused: Operation not permitted (os error 1); \
             a container needs `--cap-add SYS_NICE` or a seccomp profile that allows the call"
        );
        assert!(error.is_forbidden());
        // move_pages(2): EACCES is a node that the cpuset does not allow, which no capability changes.
        let outside = NumaError::Policy {
            nodes: vec![5],
            errno: Errno(libc::EACCES),
        };
        let said = outside.to_string();
        assert!(
            said.contains("cpuset") && !said.contains("SYS_NICE"),
            "{said}"
        );
    }

    #[test]
    fn sizes_are_in_the_largest_unit_that_fits() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (4096, "4 KiB"),
            // 100 GiB = 107374182400 bytes; 1610612736 bytes = 1.5 GiB.
            (107_374_182_400, "100 GiB"),
            (1_610_612_736, "1.5 GiB"),
            // 2^64 - 1 bytes are 2^34 GiB, rounded.
            (usize::MAX, "17179869184 GiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
        let error = NumaError::Map {
            bytes: 107_374_182_400,
            errno: Errno(libc::ENOMEM),
        };
        assert!(error.to_string().starts_with("mapping 100 GiB was refused"));
    }
}
