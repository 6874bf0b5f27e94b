//! Cases of rules on the links between cards and slots.

use doctor::Verdict::{Bad, Ok, Unknown, Warn};

use super::peers::below_a_switch;
use super::{Case, case, sound};
use crate::bench::{GPUS, PORTS};

pub(super) const CASES: &[Case] = &[
    case("slot-link", Ok, "as its ends can", sound),
    case("slot-link", Bad, "eight of sixteen lanes", |b| {
        for address in [GPUS[1], PORTS[1]] {
            b.pci(address, "current_link_width", "8");
        }
    }),
    case("slot-link", Unknown, "an idle link", |b| {
        for address in [GPUS[1], PORTS[1]] {
            b.pci(address, "current_link_speed", "2.5 GT/s PCIe");
        }
    }),
    case("slot-below-card", Ok, "Gen4 and Gen4", sound),
    case("slot-below-card", Warn, "a slot of eight lanes", |b| {
        b.pci(PORTS[0], "max_link_width", "8")
    }),
    case(
        "slot-below-card",
        Unknown,
        "a card that says nothing",
        |b| b.remove("sys/bus/pci/devices/0000:61:00.0/max_link"),
    ),
    case("link-errors", Ok, "no errors", sound),
    case("link-errors", Warn, "three that were corrected", |b| {
        b.pci(GPUS[0], "aer_dev_correctable", "RxErr 3\nTOTAL_ERR_COR 3")
    }),
    case("link-errors", Warn, "one of the port that was not", |b| {
        b.pci(PORTS[1], "aer_dev_nonfatal", "TLP 1\nTOTAL_ERR_NONFATAL 1")
    }),
    case("link-errors", Bad, "a fatal one", |b| {
        b.pci(PORTS[1], "aer_dev_fatal", "DLP 1\nTOTAL_ERR_FATAL 1")
    }),
    case("link-errors", Unknown, "no counters", |b| {
        b.remove("sys/bus/pci/devices/0000:21:00.0/aer")
    }),
    case("aspm", Ok, "no link saves", sound),
    case("aspm", Ok, "switched off at the start", |b| {
        b.set("proc/cmdline", "pcie_aspm=off")
    }),
    // Below a switch: the files of a link stand at its lower end, so at the switch's upper port and at the GPUs.
    case("aspm", Ok, "the lower end of each link tells", |b| {
        below_a_switch(b);
        for upper in [PORTS[0], "0000:24:00.0", "0000:24:01.0"] {
            b.remove(&format!("sys/bus/pci/devices/{upper}/link"));
        }
    }),
    case("aspm", Unknown, "one link of two tells nothing", |b| {
        below_a_switch(b);
        for end in [PORTS[0], "0000:23:00.0"] {
            b.remove(&format!("sys/bus/pci/devices/{end}/link"));
        }
    }),
    case("aspm", Warn, "the policy", |b| {
        b.set(
            "sys/module/pcie_aspm/parameters/policy",
            "default performance [powersave] powersupersave",
        )
    }),
    case("aspm", Warn, "one link", |b| {
        b.pci(GPUS[0], "link/l1_aspm", "1")
    }),
    case("aspm", Unknown, "no files of links", |b| {
        for address in [GPUS[0], PORTS[0]] {
            b.remove(&format!("sys/bus/pci/devices/{address}/link"));
        }
    }),
];
