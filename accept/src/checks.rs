//! Every kind of check: its key, what it looks at, how, what it does not see, and what to do. `accept explain CHECK` prints a row.
//!
//! How a kind is judged stands in `judge`, a file a group of kinds.

use serde::{Deserialize, Serialize};

/// A kind of check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    /// Its key in profiles and reports.
    pub(crate) key: &'static str,
    /// The group that is measured together, a worker each.
    pub(crate) group: Group,
    /// What it looks at, one sentence.
    pub(crate) looks_at: &'static str,
    /// How, one sentence.
    pub(crate) how: &'static str,
    /// What it does not see, and what would; empty where there is nothing to say.
    pub(crate) blind_to: &'static str,
    /// What to do where it fails.
    pub(crate) advice: &'static str,
}

/// Checks whose evidence is measured together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Group {
    /// Devices, driver, settings, counters before.
    Inventory,
    /// Copies between host and devices, with the link under load.
    HostLinks,
    /// Copies between devices, with the probe of peer access.
    PeerLinks,
    /// Several copies at once.
    Concurrent,
    /// Every node's memory to every device.
    Numa,
    /// Collectives.
    Collectives,
    /// Repeated load over time.
    Soak,
    /// A serving benchmark.
    Serving,
    /// Counters and kernel log after.
    Counters,
    /// Clocks, heat and power over the whole run.
    Watch,
}

macro_rules! kinds {
    ($($key:literal, $group:ident, $looks_at:literal, $how:literal, $blind_to:literal, $advice:literal;)+) => {
        /// All kinds, in the order in which a report shows them.
        pub(crate) const KINDS: &[Kind] = &[$(Kind {
            key: $key,
            group: Group::$group,
            looks_at: $looks_at,
            how: $how,
            blind_to: $blind_to,
            advice: $advice,
        },)+];
    };
}

kinds! {
    "inventory", Inventory,
        "whether the devices are those of the profile: vendor, name, number, memory",
        "what the driver shows, held against the profile's [match]",
        "a device that is the right one by name and has less inside",
        "look whether all cards are seated and shown to this machine or container";
    "idle", Inventory,
        "whether the devices are free",
        "memory in use and processes on each device before the first measurement",
        "work on other devices of the same switch or socket",
        "stop the other work and run again";
    "numa_node", Inventory,
        "whether each device hangs on the NUMA node that the profile expects",
        "the kernel's numa_node of the device",
        "a firmware that says no node",
        "move the card to a slot of the expected socket, or correct the profile";
    "link", HostLinks,
        "generation and width of the link at the slot while copies run",
        "sysfs of every bridge from the root port to the card, sampled while copies run, and the device's own word",
        "lanes that train and carry errors: see counters",
        "reseat the card, look at riser, cable and the slot's setting in the BIOS";
    "link_transitions", Watch,
        "whether the link changes its speed or width under load",
        "the same link read at least ten times a second while copies run",
        "changes shorter than a tenth of a second",
        "look for AER errors in the kernel log, reseat the card, try another slot";
    "h2d_pinned", HostLinks,
        "bandwidth from pinned host memory of the near node to a device",
        "16 MiB and larger copies by the copy engine, data compared, median with its 95% interval against a fraction of what the negotiated link carries",
        "",
        "compare `link`; then payload size, IOMMU and memory channels (p2p-bw doctor)";
    "d2h_pinned", HostLinks,
        "bandwidth from a device to pinned host memory of the near node",
        "as h2d_pinned, the other way",
        "",
        "compare `link`; then payload size, IOMMU and memory channels (p2p-bw doctor)";
    "h2d_pageable", HostLinks,
        "bandwidth from pageable host memory to a device",
        "as h2d_pinned; one host thread copies through the driver's buffer, so that the CPU decides",
        "",
        "look at CPU clocks and governor, and whether the process runs on the device's node";
    "d2h_pageable", HostLinks,
        "bandwidth from a device to pageable host memory",
        "as h2d_pageable, the other way",
        "",
        "look at CPU clocks and governor, and whether the process runs on the device's node";
    "bidirectional", HostLinks,
        "what both directions at once give over one",
        "copies both ways at once over the better of the single ones",
        "",
        "look at the payload size and whether the two directions share a link above the switch";
    "peer_access", PeerLinks,
        "whether devices reach each other's memory as the profile expects, and whether what they write arrives",
        "a probe in a process of its own for each ordered pair: write, read, compared by the owner, kernels and graphs too where they load",
        "paths that only a collective library takes",
        "see the probe's words; ACS, IOMMU and the hypervisor decide it (p2p-bw doctor)";
    "p2p", PeerLinks,
        "bandwidth of each ordered pair of devices, direct",
        "copies with peer access, data compared, against a fraction of what the narrower link carries, by path class",
        "a pair that is 10% slow on a box with one pair, unless there is a baseline",
        "compare the pair's path class and links; look at ACS";
    "p2p_staged", PeerLinks,
        "bandwidth of each ordered pair where peer access is not possible",
        "copies without peer access, through host memory",
        "",
        "look at host memory bandwidth and NUMA nodes";
    "p2p_latency", PeerLinks,
        "time of a small copy between devices",
        "16 B copies of the probe",
        "",
        "";
    "symmetry", PeerLinks,
        "whether a pair is as fast one way as the other",
        "difference of the two medians over the larger, with its interval",
        "small copies, which differ on healthy boxes",
        "the slower direction names the device whose upstream link to look at";
    "spread", PeerLinks,
        "whether pairs, and host links, of one class are equally fast",
        "each against the median of its class; one that is slower by more than the limit is named",
        "a class with one member; all members slow alike",
        "exchange the named card with another one and see whether the fault goes with it";
    "concurrent", Concurrent,
        "bandwidth of several copies at once",
        "host to all, all to host, ring",
        "",
        "look which links share a switch or root port (p2p-bw topo)";
    "numa_penalty", Numa,
        "what copies from the far node lose",
        "bandwidth of far over near memory, placement proven",
        "",
        "bind processes to the device's node (p2p-bw numa exec)";
    "allreduce", Collectives,
        "time of an all-reduce of all devices at small and large sizes",
        "host-synced calls, from level standard on captured graphs, too, results compared in full, against ceilings and, where there is one, the baseline",
        "what an engine's own all-reduce takes",
        "compare the transport that was chosen with the profile's peer access";
    "data", Collectives,
        "whether any copy or collective delivered wrong data",
        "every byte of every measured case compared outside the timed part",
        "memory that fails only hot or rarely: no march over all of it; at level quick collectives inside captured graphs",
        "take the device out of service; run the vendor's memory test";
    "counters", Counters,
        "errors that links and memory counted during the run",
        "AER of the device and every bridge up to the root port, replays, ECC, before and after",
        "counters that need root",
        "the bridge whose counter rose names the link: reseat, exchange riser or cable";
    "kernel_log", Counters,
        "faults that the kernel logged during the run, and those that stood in its log before",
        "Xid, amdgpu resets, AER and machine-check lines: those since the start fail, those of before warn",
        "a log that this user may not read",
        "look the event up with the vendor";
    "throttle", Watch,
        "whether heat or the power supply held clocks down",
        "throttle reasons read at least ten times a second; the highest temperature is told, and judged by `temperature`",
        "devices that give no reasons",
        "look at airflow, power cables and the supply";
    "temperature", Watch,
        "how near a device comes to the temperature that it slows down at",
        "its temperature and the one at which it lowers its clocks, by the driver, read at least ten times a second; the least margin counts",
        "devices whose driver does not tell that temperature; memory that gets hot beside a cool chip, but on AMD's cards; a longer load or a warmer room",
        "look at airflow, filters and fans, and how warm the air comes in; let a soak run";
    "memory_repairs", Watch,
        "whether the device's memory had to be repaired: rows that were remapped, pages that were retired, and repairs that failed or wait",
        "NVIDIA's remapped rows and retired pages, AMD's bad pages, read at least ten times a second; a repair that failed and one of this run fail, one that waits for a reset, or for the driver, leaves it open, those of before warn",
        "devices and guests whose driver tells neither; errors that were mended without a repair: see counters",
        "have the vendor's diagnostic look at it (NVIDIA Field Diagnostic, AMD's AGFHC), and give the card back where it confirms";
    "memory", Soak,
        "whether a device's memory keeps what is written while copies and arithmetic run beside it",
        "half of what is free is written with words that depend on place and pass, and compared, over and over, by kernels or, where none load, by copies",
        "memory that others hold; no march over all of it: run the vendor's memory test too (DCGM diag -r 3, RVS mem)",
        "take the device out of service; run the vendor's memory test";
    "arithmetic", Soak,
        "whether sums come out right while all multiprocessors multiply",
        "single-precision multiply-adds in registers whose sums are known, compared on the device, beside what is done to memory",
        "tensor and matrix cores; no power virus runs: run the vendor's stress test too (DCGM diag -r 3, RVS gst)",
        "take the device out of service; look at its power and cooling first";
    "drift", Soak,
        "whether rates fall over the time of a soak",
        "medians of the last round against the first, and where that is open of the last three against the first three, each with memory and arithmetic loaded beside the copies",
        "",
        "look at temperature over time";
    "serving", Serving,
        "whether a server on this box keeps its time per token and fails no request",
        "serve-bench run against the server of --serve-url: 32 requests of 128 tokens for 64, 4 in flight; no request may fail, and TPOT and TTFT are held against limits where the profile has some",
        "whether the server is as fast as it could be: no profile that is shipped has a limit, since that depends on model and engine",
        "explain it: serve-bench study";
}

/// The kind of this key.
pub(crate) fn kind(key: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.key == key)
}

/// Kinds whose failing rejects a box also where the profile does not demand that they be looked at: what they see is a fault,
/// not a figure.
const FAULTS: &[&str] = &[
    "inventory",
    "link_transitions",
    "data",
    "counters",
    "kernel_log",
    "throttle",
    "memory_repairs",
    "memory",
    "arithmetic",
    "serving",
];

/// Whether a kind is demanded only of devices whose driver tells what it looks at: many drivers do not, and a box is as good without.
pub(crate) fn only_where_told(key: &str) -> bool {
    key == "memory_repairs"
}

/// Whether what a kind of check sees is a fault wherever it is seen.
pub(crate) fn sees_faults(key: &str) -> bool {
    FAULTS.contains(&key)
}
