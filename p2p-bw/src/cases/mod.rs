//! The cases: one table of pattern x engine x direction x memory, and when a case does not apply.
//!
//! A case that shares a pattern with another is a row here; a new pattern is a file in `children/patterns`
//! and its rows. README's table is compared with [`ALL`] by a test.

mod applies;

pub(crate) use applies::{PeerUse, not_applicable};

/// What is copied from where to where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// Host memory to a device.
    HostToDevice(Memory),
    /// A device to host memory.
    DeviceToHost(Memory),
    /// Both at once, equal sizes.
    HostBothWays(Memory),
    /// Within one device.
    Local,
    /// From one device to another, issued by this end.
    Peer(Issuer),
    /// Both ways between two devices at once, equal sizes.
    PeerBothWays(Issuer),
    /// Device, pinned host memory, device: a pipeline of ours.
    Staged,
    /// The driver's own copy between devices that have no peer access.
    DriverStaged,
}

/// The host memory of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    Pinned,
    Pageable,
}

/// Which device's stream issues a copy between two devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Issuer {
    /// The source: a write.
    Source,
    /// The destination: a read.
    Destination,
}

/// What a case runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    /// Each device.
    Device,
    /// Each ordered pair of devices.
    OrderedPair,
    /// Each pair of devices once; both directions are in the result.
    Pair,
}

/// One case.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    /// Its key: pattern, memory or issuer, engine.
    pub(crate) key: &'static str,
    /// One line about it.
    pub(crate) description: &'static str,
    pub(crate) pattern: Pattern,
}

const fn case(key: &'static str, pattern: Pattern, description: &'static str) -> Case {
    Case {
        key,
        description,
        pattern,
    }
}

/// Every case, in the order in which they run and print. `ce` is the copy engine; on the host backend a CPU core.
pub(crate) const ALL: [Case; 12] = [
    case(
        "h2d_pinned_ce",
        Pattern::HostToDevice(Memory::Pinned),
        "host to device, pinned memory, copy engine",
    ),
    case(
        "d2h_pinned_ce",
        Pattern::DeviceToHost(Memory::Pinned),
        "device to host, pinned memory, copy engine",
    ),
    case(
        "h2d_pageable_ce",
        Pattern::HostToDevice(Memory::Pageable),
        "host to device, pageable memory, copy engine",
    ),
    case(
        "d2h_pageable_ce",
        Pattern::DeviceToHost(Memory::Pageable),
        "device to host, pageable memory, copy engine",
    ),
    case(
        "host_bidir_pinned_ce",
        Pattern::HostBothWays(Memory::Pinned),
        "host to device and back at once, pinned memory, equal sizes, copy engines",
    ),
    case(
        "local_ce",
        Pattern::Local,
        "within one device, payload counted once, copy engine",
    ),
    case(
        "d2d_write_ce",
        Pattern::Peer(Issuer::Source),
        "device to device, issued by the source, copy engine",
    ),
    case(
        "d2d_read_ce",
        Pattern::Peer(Issuer::Destination),
        "device to device, issued by the destination, copy engine",
    ),
    case(
        "d2d_bidir_write_ce",
        Pattern::PeerBothWays(Issuer::Source),
        "both ways between two devices at once, issued by the sources, equal sizes, copy engines",
    ),
    case(
        "d2d_bidir_read_ce",
        Pattern::PeerBothWays(Issuer::Destination),
        "both ways between two devices at once, issued by the destinations, equal sizes, copy engines",
    ),
    case(
        "d2d_staged_ce",
        Pattern::Staged,
        "device to device through pinned host memory, pipelined in 4 buffers, where peer access is absent or off",
    ),
    case(
        "d2d_driver_staged_ce",
        Pattern::DriverStaged,
        "device to device by the driver's own copy, where peer access is absent or off",
    ),
];

impl Case {
    /// The case of a key.
    pub(crate) fn of(key: &str) -> Option<&'static Self> {
        ALL.iter().find(|case| case.key == key)
    }

    /// What it runs on.
    pub(crate) fn ends(&self) -> Ends {
        match self.pattern {
            Pattern::HostToDevice(_)
            | Pattern::DeviceToHost(_)
            | Pattern::HostBothWays(_)
            | Pattern::Local => Ends::Device,
            Pattern::Peer(_) | Pattern::Staged | Pattern::DriverStaged => Ends::OrderedPair,
            Pattern::PeerBothWays(_) => Ends::Pair,
        }
    }
}

/// The cases whose keys match a list of globs (`*` and `?`), in table order.
///
/// # Errors
/// Names the first glob that matches nothing.
pub(crate) fn matching(globs: &str) -> Result<Vec<&'static Case>, String> {
    let globs: Vec<&str> = globs
        .split(',')
        .map(str::trim)
        .filter(|glob| !glob.is_empty())
        .collect();
    if globs.is_empty() {
        return Err("an empty list of cases; see --list".to_owned());
    }
    if let Some(unknown) = globs
        .iter()
        .find(|glob| !ALL.iter().any(|case| glob_matches(glob, case.key)))
    {
        let beginning = ALL.iter().any(|case| case.key.starts_with(unknown));
        let next = if beginning {
            format!("write `{unknown}*` for all that begin so")
        } else {
            format!("see --list for the {} cases", ALL.len())
        };
        return Err(format!("no case matches `{unknown}`; {next}"));
    }
    Ok(ALL
        .iter()
        .filter(|case| globs.iter().any(|glob| glob_matches(glob, case.key)))
        .collect())
}

/// Whether a glob of `*` and `?` matches all of a text.
fn glob_matches(glob: &str, text: &str) -> bool {
    let mut glob_chars = glob.chars();
    match glob_chars.next() {
        None => text.is_empty(),
        Some('*') => {
            let rest = glob_chars.as_str();
            (0..=text.len()).any(|at| text.is_char_boundary(at) && glob_matches(rest, &text[at..]))
        }
        Some(wanted) => {
            let mut chars = text.chars();
            chars
                .next()
                .is_some_and(|found| wanted == '?' || wanted == found)
                && glob_matches(glob_chars.as_str(), chars.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_choose_cases_in_table_order() {
        let keys: Vec<_> = matching("d2h_*,h2d_pinned_ce")
            .unwrap()
            .iter()
            .map(|case| case.key)
            .collect();
        assert_eq!(keys, ["h2d_pinned_ce", "d2h_pinned_ce", "d2h_pageable_ce"]);
        assert_eq!(matching("*").unwrap().len(), ALL.len());
        assert_eq!(matching("local?ce").unwrap().len(), 1);
    }

    #[test]
    fn an_unknown_case_is_named() {
        assert!(
            matching("h2d_pinned_ce,nonsense")
                .unwrap_err()
                .contains("`nonsense`")
        );
        assert!(matching("h2d").unwrap_err().contains("`h2d*`"));
        assert!(matching(" , ").is_err());
    }

    #[test]
    fn keys_are_unique() {
        let keys: std::collections::BTreeSet<_> = ALL.iter().map(|case| case.key).collect();
        assert_eq!(keys.len(), ALL.len());
    }
}
