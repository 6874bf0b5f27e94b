//! The table of cases.

use super::{Ends, Engine, Issuer, Measures, Memory, Pattern};

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

/// Rows of pattern, measure and words become a case for each engine that is named.
macro_rules! table {
    ($($base:literal, $pattern:expr, $measures:ident, [$($engine:ident $($core:ident)?),+], $words:literal;)+) => {
        /// Every case, in the order in which they run and print.
        pub(crate) const ALL: &[Case] = &[$($(Case {
            key: concat!($base, "_", stringify!($engine)),
            description: concat!($words, words!($engine)),
            pattern: $pattern,
            engine: engine!($engine),
            measures: Measures::$measures,
            core: core!($($core)?),
        }),+),+];
    };
}

macro_rules! engine {
    (ce) => {
        Engine::Copy
    };
    (sm) => {
        Engine::Kernel
    };
}

macro_rules! words {
    (ce) => {
        ", copy engine"
    };
    (sm) => {
        ", kernel"
    };
}

macro_rules! core {
    () => {
        false
    };
    (core) => {
        true
    };
}

use Issuer::{Destination, Source};
use Memory::{Pageable, Pinned};
use Pattern::{
    AllPairs, AllToHost, DeviceToHost, DriverStaged, HostBothWays, HostToAll, HostToDevice, Local,
    Peer, PeerBothWays, Ring, Staged,
};

// `ce` is the copy engine, on the host backend a CPU core; `sm` a kernel on all multiprocessors, for the chases one thread.
table! {
    "h2d_pinned", HostToDevice(Pinned), Bandwidth, [ce core, sm], "host to device, pinned memory";
    "d2h_pinned", DeviceToHost(Pinned), Bandwidth, [ce core, sm], "device to host, pinned memory";
    "h2d_pageable", HostToDevice(Pageable), Bandwidth, [ce core], "host to device, pageable memory";
    "d2h_pageable", DeviceToHost(Pageable), Bandwidth, [ce core], "device to host, pageable memory";
    "host_bidir_pinned", HostBothWays(Pinned), Bandwidth, [ce, sm], "host to device and back at once, pinned memory, equal sizes";
    "local", Local, Bandwidth, [ce core, sm], "within one device, payload counted once";
    "d2d_write", Peer(Source), Bandwidth, [ce core, sm core], "device to device, issued by the source";
    "d2d_read", Peer(Destination), Bandwidth, [ce, sm], "device to device, issued by the destination";
    "d2d_bidir_write", PeerBothWays(Source), Bandwidth, [ce, sm], "both ways between two devices at once, issued by the sources, equal sizes";
    "d2d_bidir_read", PeerBothWays(Destination), Bandwidth, [ce, sm], "both ways between two devices at once, issued by the destinations, equal sizes";
    "d2d_staged", Staged, Bandwidth, [ce core], "device to device through pinned host memory, pipelined in 4 buffers, where peer access is absent or off";
    "d2d_driver_staged", DriverStaged, Bandwidth, [ce], "device to device by the driver's own copy, where peer access is absent or off";
    "host_to_all", HostToAll, Bandwidth, [ce, sm], "host to every device at once, pinned memory";
    "all_to_host", AllToHost, Bandwidth, [ce, sm], "every device to host at once, pinned memory";
    "ring", Ring, Bandwidth, [ce, sm], "every device to the next at once, issued by the sources";
    "all_pairs", AllPairs, Bandwidth, [ce, sm], "every device to every other at once, issued by the sources";
    "host_chase", HostToDevice(Pinned), Latency, [sm core], "one load from pinned host memory, each after the one before, 2 MiB";
    "local_chase", Local, Latency, [sm], "one load from the device's own memory, each after the one before, 2 MiB and so within its cache";
    "d2d_chase", Peer(Source), Latency, [sm core], "one load by the first device from the second's memory, each after the one before, 2 MiB";
    "small_copy_h2d", HostToDevice(Pinned), SmallCopies, [ce], "16 B from pinned memory to device: the host's time to issue one, and the time from one to the next";
    "small_copy_d2h", DeviceToHost(Pinned), SmallCopies, [ce], "16 B from device to pinned memory: the host's time to issue one, and the time from one to the next";
    "small_copy_d2d", Peer(Source), SmallCopies, [ce], "16 B from device to device, issued by the source: the host's time to issue one, and the time from one to the next";
}

impl Case {
    /// The case of a key.
    pub(crate) fn of(key: &str) -> Option<&'static Self> {
        ALL.iter().find(|case| case.key == key)
    }

    /// What it runs on.
    pub(crate) fn ends(&self) -> Ends {
        self.pattern.ends()
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
    use std::collections::BTreeSet;

    #[test]
    fn keys_are_unique() {
        let keys: BTreeSet<_> = ALL.iter().map(|case| case.key).collect();
        assert_eq!(keys.len(), ALL.len());
    }

    #[test]
    fn no_two_cases_are_the_same_measurement() {
        for (index, case) in ALL.iter().enumerate() {
            let twin = ALL[..index].iter().find(|other| {
                (other.pattern, other.engine, other.measures)
                    == (case.pattern, case.engine, case.measures)
            });
            assert!(twin.is_none(), "{} and {}", case.key, twin.unwrap().key);
        }
    }

    #[test]
    fn kernels_touch_no_pageable_memory_and_every_chase_is_a_kernel() {
        for case in ALL {
            let kernel = case.engine == Engine::Kernel;
            assert!(
                !kernel || case.pattern.memory() != Some(Pageable),
                "{}",
                case.key
            );
            assert!(kernel || case.measures != Measures::Latency, "{}", case.key);
            let suffix = if kernel { "_sm" } else { "_ce" };
            assert!(case.key.ends_with(suffix), "{}", case.key);
        }
    }

    #[test]
    fn the_core_set_is_the_one_that_the_documents_name() {
        let core: Vec<_> = ALL
            .iter()
            .filter(|case| case.core)
            .map(|case| case.key)
            .collect();
        let expected = [
            "h2d_pinned_ce",
            "d2h_pinned_ce",
            "h2d_pageable_ce",
            "d2h_pageable_ce",
            "local_ce",
            "d2d_write_ce",
            "d2d_write_sm",
            "d2d_staged_ce",
            "host_chase_sm",
            "d2d_chase_sm",
        ];
        assert_eq!(core, expected);
    }
}
