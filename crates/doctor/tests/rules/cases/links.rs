//! Cases of rules on the links between cards and slots.

use doctor::Verdict::{Bad, Ok, Unknown, Warn};

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
];
