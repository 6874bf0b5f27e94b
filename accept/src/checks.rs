//! Every kind of check: its key, its group, its name, and what to do where it fails.
//!
//! How a kind is judged stands in `judge`, a file a group of kinds.

use serde::{Deserialize, Serialize};
pub(crate) use view::counted as plural;

/// A kind of check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    /// Its key in profiles and reports.
    pub(crate) key: &'static str,
    /// The group that is measured together, a worker each.
    pub(crate) group: Group,
    /// Whether it looks for faults.
    sees_faults: bool,
    /// Its name on screens.
    pub(crate) title: &'static str,
    /// What to do where it fails.
    pub(crate) advice: &'static str,
}

/// What a kind of check looks at: faults, which are some wherever they are seen, or figures and settings, which a profile may leave open.
const FAULTS: bool = true;
const FIGURES: bool = false;

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

impl Group {
    /// Its name in folders and plans, and its heading.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Inventory => ("inventory", "Inventory"),
            Self::HostLinks => ("host-links", "Links to the host"),
            Self::PeerLinks => ("peer-links", "Links between devices"),
            Self::Concurrent => ("concurrent", "Several copies at once"),
            Self::Numa => ("numa", "NUMA nodes"),
            Self::Collectives => ("collectives", "Collectives"),
            Self::Soak => ("soak", "Over time"),
            Self::Serving => ("serving", "Serving"),
            Self::Counters => ("counters", "Errors counted"),
            Self::Watch => ("watch", "Heat, power and clocks"),
        }
    }

    /// Its name in folders and plans.
    pub(crate) fn word(self) -> &'static str {
        self.words().0
    }

    /// Its heading.
    pub(crate) fn title(self) -> &'static str {
        self.words().1
    }
}

macro_rules! kinds {
    ($($key:literal, $group:ident, $sees:ident, $title:literal, $advice:literal;)+) => {
        /// All kinds, in the order in which a report shows them.
        pub(crate) const KINDS: &[Kind] = &[$(Kind {
            key: $key,
            group: Group::$group,
            sees_faults: $sees,
            title: $title,
            advice: $advice,
        },)+];
    };
}

kinds! {
    "inventory", Inventory, FAULTS, "devices",
        "Check that all cards are seated and shown to this machine or container.";
    "idle", Inventory, FIGURES, "idle",
        "Stop the other work and run again.";
    "numa_node", Inventory, FIGURES, "NUMA node",
        "Move the card to a slot of the expected socket, or correct the profile.";
    "link", HostLinks, FIGURES, "link",
        "Reseat the card; check riser, cable, slot and bifurcation in the BIOS.";
    "link_transitions", Watch, FAULTS, "link changes",
        "Look for AER errors in dmesg; reseat the card or try another slot.";
    "nvlink", Inventory, FAULTS, "NVLink",
        "Reset the GPU; nvidia-smi nvlink -s; look for Xid 74; check bridge or baseboard.";
    "h2d_pinned", HostLinks, FIGURES, "host->device",
        "Check the link first; then payload size, IOMMU, memory channels (tplens doctor).";
    "d2h_pinned", HostLinks, FIGURES, "device->host",
        "Check the link first; then payload size, IOMMU, memory channels (tplens doctor).";
    "h2d_pageable", HostLinks, FIGURES, "host->device, pageable",
        "Check CPU clocks and governor, and the node that the process runs on.";
    "d2h_pageable", HostLinks, FIGURES, "device->host, pageable",
        "Check CPU clocks and governor, and the node that the process runs on.";
    "bidirectional", HostLinks, FIGURES, "both directions",
        "Check payload size, and whether both directions share a link above the switch.";
    "peer_access", PeerLinks, FIGURES, "peer access",
        "ACS, IOMMU and hypervisor decide it: tplens doctor.";
    "p2p", PeerLinks, FIGURES, "P2P",
        "Compare the links of both devices; check ACS.";
    "p2p_staged", PeerLinks, FIGURES, "P2P through host",
        "Check host memory bandwidth and NUMA nodes.";
    "symmetry", PeerLinks, FIGURES, "P2P symmetry",
        "The slower direction names the device whose link to check.";
    "spread", PeerLinks, FIGURES, "spread",
        "Exchange the named card with another one and see whether the fault moves with it.";
    "concurrent", Concurrent, FIGURES, "at once",
        "Check which links share a switch or root port (tplens topo).";
    "numa_penalty", Numa, FIGURES, "far NUMA node",
        "Bind processes to the device's node (tplens numa exec).";
    "allreduce", Collectives, FIGURES, "all-reduce",
        "Compare the transport that was chosen with the profile's peer access.";
    "data", Collectives, FAULTS, "data",
        "Take the device out of service; run the vendor's memory test.";
    "counters", Counters, FAULTS, "error counters",
        "The bridge whose counter rose names the link: reseat, exchange riser or cable.";
    "kernel_log", Counters, FAULTS, "kernel log",
        "Look the event up with the vendor.";
    "throttle", Watch, FAULTS, "throttling",
        "Check airflow, power cables and power supply.";
    "temperature", Watch, FIGURES, "temperature",
        "Check airflow, filters, fans and inlet air; run a soak.";
    "memory_repairs", Watch, FAULTS, "memory repairs",
        "Run the vendor's diagnostic (NVIDIA Field Diagnostic, AMD AGFHC); return the card where it confirms.";
    "memory", Soak, FAULTS, "memory under load",
        "Take the device out of service; run the vendor's memory test.";
    "arithmetic", Soak, FAULTS, "arithmetic",
        "Take the device out of service; check its power and cooling first.";
    "drift", Soak, FIGURES, "drift",
        "Check the temperature over time.";
    "serving", Serving, FAULTS, "serving",
        "Explain it: tplens study.";
    "baseline", Inventory, FAULTS, "baseline",
        "Compare BIOS, firmware and cooling with those of the earlier run.";
}

/// The kind of this key.
pub(crate) fn kind(key: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.key == key)
}

/// The name of a kind of check on screens.
pub(crate) fn title(key: &str) -> &str {
    kind(key).map_or(key, |kind| kind.title)
}

/// Whether what a kind of check sees is a fault wherever it is seen, and no figure: it rejects a box also where the profile does not demand
/// that it be looked at.
pub(crate) fn sees_faults(key: &str) -> bool {
    kind(key).is_some_and(|kind| kind.sees_faults)
}
