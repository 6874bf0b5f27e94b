//! The table of cases, and what its rows are made of: patterns, memory, engines and what is measured.

/// What is moved from where to where.
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
    /// Host memory to every device at once.
    HostToAll,
    /// Every device to host memory at once.
    AllToHost,
    /// Every device to the next one at once, the last to the first; issued by the sources.
    Ring,
    /// Every device to every other at once, issued by the sources.
    AllPairs,
}

/// The host memory of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Memory {
    /// Locked by the driver.
    Pinned,
    /// Ordinary memory, which the driver stages or pins on the fly.
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

/// Who moves the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    /// The copy engine; on the host backend a CPU core.
    Copy,
    /// A kernel on the device's multiprocessors.
    Kernel,
}

/// What comes out of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measures {
    /// GB/s of copies.
    Bandwidth,
    /// Nanoseconds of one load that depends on the one before. The kernel runs on the device that issues, the memory is
    /// that of the other end.
    Latency,
    /// Microseconds of one small copy: to issue it, and from one to the next.
    SmallCopies,
}

impl Pattern {
    /// Whether a device reaches another's memory in it.
    pub(crate) fn uses_peer_access(self) -> bool {
        matches!(
            self,
            Self::Peer(_) | Self::PeerBothWays(_) | Self::Ring | Self::AllPairs
        )
    }

    /// Whether bytes go from one device to another, by whatever way.
    pub(crate) fn joins_devices(self) -> bool {
        self.uses_peer_access() || self == Self::Staged
    }

    /// The host memory that it uses; that of the groups is pinned.
    pub(crate) fn memory(self) -> Option<Memory> {
        match self {
            Self::HostToDevice(memory)
            | Self::DeviceToHost(memory)
            | Self::HostBothWays(memory) => Some(memory),
            Self::HostToAll | Self::AllToHost => Some(Memory::Pinned),
            _ => None,
        }
    }
}

/// Bytes of the chain of a pointer chase: what the field's tools use, within the cache of any GPU.
const CHAIN_BYTES: u64 = 2 << 20;

/// Bytes of a small copy: what the field's tools use.
const SMALL_BYTES: u64 = 16;

/// One case.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    /// Its key: pattern, memory or issuer, engine.
    pub(crate) key: &'static str,
    /// One line about it.
    pub(crate) description: &'static str,
    pub(crate) pattern: Pattern,
    pub(crate) engine: Engine,
    pub(crate) measures: Measures,
    /// Whether it runs where `--cases` does not say.
    pub(crate) core: bool,
}

/// Rows of pattern, measure and words become a case for each engine that is named, with whether it is of the core set.
macro_rules! table {
    ($($base:literal, $pattern:expr, $measures:ident, [$($engine:ident $suffix:literal $core:literal),+], $words:literal;)+) => {
        /// Every case, in the order in which they run and print.
        pub(crate) const ALL: &[Case] = &[$($(Case {
            key: concat!($base, "_", $suffix),
            description: $words,
            pattern: $pattern,
            engine: Engine::$engine,
            measures: Measures::$measures,
            core: $core,
        }),+),+];
    };
}

use Issuer::{Destination, Source};
use Memory::{Pageable, Pinned};
use Pattern::{
    AllPairs, AllToHost, DeviceToHost, HostBothWays, HostToAll, HostToDevice, Local, Peer,
    PeerBothWays, Ring, Staged,
};

// `ce` is the copy engine, on the host backend a CPU core; `sm` a kernel on all multiprocessors, for the chases one thread.
table! {
    "h2d_pinned", HostToDevice(Pinned), Bandwidth, [Copy "ce" true, Kernel "sm" false], "host to device, pinned memory";
    "d2h_pinned", DeviceToHost(Pinned), Bandwidth, [Copy "ce" true, Kernel "sm" false], "device to host, pinned memory";
    "h2d_pageable", HostToDevice(Pageable), Bandwidth, [Copy "ce" true], "host to device, pageable memory";
    "d2h_pageable", DeviceToHost(Pageable), Bandwidth, [Copy "ce" true], "device to host, pageable memory";
    "host_bidir_pinned", HostBothWays(Pinned), Bandwidth, [Copy "ce" false, Kernel "sm" false], "host to device and back at once, pinned memory, equal sizes";
    "local", Local, Bandwidth, [Copy "ce" true, Kernel "sm" false], "within one device, payload counted once";
    "d2d_write", Peer(Source), Bandwidth, [Copy "ce" true, Kernel "sm" true], "device to device, issued by the source";
    "d2d_read", Peer(Destination), Bandwidth, [Copy "ce" false, Kernel "sm" false], "device to device, issued by the destination";
    "d2d_bidir_write", PeerBothWays(Source), Bandwidth, [Copy "ce" false, Kernel "sm" false], "both ways between two devices at once, issued by the sources, equal sizes";
    "d2d_bidir_read", PeerBothWays(Destination), Bandwidth, [Copy "ce" false, Kernel "sm" false], "both ways between two devices at once, issued by the destinations, equal sizes";
    "d2d_staged", Staged, Bandwidth, [Copy "ce" true], "device to device through pinned host memory, pipelined in 4 buffers, where peer access is absent or off";
    "host_to_all", HostToAll, Bandwidth, [Copy "ce" false, Kernel "sm" false], "host to every device at once, pinned memory";
    "all_to_host", AllToHost, Bandwidth, [Copy "ce" false, Kernel "sm" false], "every device to host at once, pinned memory";
    "ring", Ring, Bandwidth, [Copy "ce" false, Kernel "sm" false], "every device to the next at once, issued by the sources";
    "all_pairs", AllPairs, Bandwidth, [Copy "ce" false, Kernel "sm" false], "every device to every other at once, issued by the sources";
    "host_chase", HostToDevice(Pinned), Latency, [Kernel "sm" true], "one load from pinned host memory, each after the one before, 2 MiB";
    "local_chase", Local, Latency, [Kernel "sm" false], "one load from the device's own memory, each after the one before, 2 MiB and so within its cache";
    "d2d_chase", Peer(Source), Latency, [Kernel "sm" true], "one load by the first device from the second's memory, each after the one before, 2 MiB";
    "small_copy_h2d", HostToDevice(Pinned), SmallCopies, [Copy "ce" false], "16 B from pinned memory to device: the host's time to issue one, and the time from one to the next";
    "small_copy_d2h", DeviceToHost(Pinned), SmallCopies, [Copy "ce" false], "16 B from device to pinned memory: the host's time to issue one, and the time from one to the next";
    "small_copy_d2d", Peer(Source), SmallCopies, [Copy "ce" false], "16 B from device to device, issued by the source: the host's time to issue one, and the time from one to the next";
}

/// The set that runs where `--cases` does not say.
pub(crate) const DEFAULT: &str = "core";

/// The cases that a list of sets and globs (`*` and `?`) means, in table order.
///
/// # Errors
/// Names the first glob that matches nothing.
pub(crate) fn matching(list: &str) -> Result<Vec<&'static Case>, String> {
    let words = || list.split(',').map(str::trim);
    let means = |word: &str, case: &Case| match word {
        DEFAULT => case.core,
        "all" => true,
        glob => glob_matches(glob.as_bytes(), case.key.as_bytes()),
    };
    match words().find(|word| !ALL.iter().any(|case| means(word, case))) {
        Some(unknown) if ALL.iter().any(|case| case.key.starts_with(unknown)) => Err(format!(
            "no case matches `{unknown}`; write `{unknown}*` for all that begin so"
        )),
        Some(unknown) => Err(format!("no case matches `{unknown}`; see --list")),
        None => Ok(ALL
            .iter()
            .filter(|case| words().any(|word| means(word, case)))
            .collect()),
    }
}

/// Whether a glob of `*` and `?` matches all of a text.
fn glob_matches(glob: &[u8], text: &[u8]) -> bool {
    match (glob, text) {
        ([], _) => text.is_empty(),
        ([b'*', rest @ ..], _) => (0..=text.len()).any(|at| glob_matches(rest, &text[at..])),
        ([b'?', rest @ ..], [_, text @ ..]) => glob_matches(rest, text),
        ([wanted, rest @ ..], [found, text @ ..]) => wanted == found && glob_matches(rest, text),
        (_, []) => false,
    }
}

impl Case {
    /// The case of a key.
    pub(crate) fn of(key: &str) -> Option<&'static Self> {
        ALL.iter().find(|case| case.key == key)
    }

    /// Bytes of one copy, or of the chain, where they do not follow `--sizes`.
    pub(crate) fn fixed_bytes(&self) -> Option<u64> {
        match self.measures {
            Measures::Bandwidth => None,
            Measures::Latency => Some(CHAIN_BYTES),
            Measures::SmallCopies => Some(SMALL_BYTES),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(list: &str) -> Vec<&'static str> {
        let cases = matching(list).unwrap();
        cases.into_iter().map(|case| case.key).collect()
    }

    #[test]
    fn globs_and_sets_choose_cases_in_table_order() {
        assert_eq!(
            keys("d2h_p*_ce,h2d_pinned_ce"),
            ["h2d_pinned_ce", "d2h_pinned_ce", "d2h_pageable_ce"]
        );
        assert_eq!(keys("local?ce"), ["local_ce"]);
        assert_eq!(keys("all").len(), ALL.len());
        let (core, more) = (keys("core"), keys("ring_sm, core"));
        assert_eq!(more.len(), core.len() + 1);
        let unknown = matching("h2d_pinned_ce,nonsense").unwrap_err();
        assert!(unknown.contains("`nonsense`"));
        assert!(matching("h2d").unwrap_err().contains("`h2d*`"));
        assert!(matching(" , ").is_err());
    }

    #[test]
    fn no_two_cases_are_the_same_measurement() {
        for (index, case) in ALL.iter().enumerate() {
            let twin = ALL[..index].iter().find(|other| {
                other.key == case.key
                    || (other.pattern, other.engine, other.measures)
                        == (case.pattern, case.engine, case.measures)
            });
            assert!(twin.is_none(), "{} and {}", case.key, twin.unwrap().key);
        }
    }
}
