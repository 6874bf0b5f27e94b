//! Cases of rules on the links between cards and slots.

use doctor::Verdict::{Bad, CannotTell, Ok, Warn};

use super::peers::below_a_switch;
use super::{Case, case, sound};
use crate::bench::{GPUS, PORTS};

pub(super) const CASES: &[Case] = &[
    case(
        "slot-link",
        Ok,
        "as its ends can",
        sound,
        "Gen4 x16, the best",
    ),
    case(
        "slot-link",
        Bad,
        "eight of sixteen lanes",
        |b| {
            for address in [GPUS[1], PORTS[1]] {
                b.pci(address, "current_link_width", "8");
            }
        },
        "Gen4 x8, and both its ends can do Gen4 x16",
    ),
    case(
        "slot-link",
        CannotTell,
        "an idle link",
        |b| {
            for address in [GPUS[1], PORTS[1]] {
                b.pci(address, "current_link_speed", "2.5 GT/s PCIe");
            }
        },
        "read without load",
    ),
    case(
        "slot-below-card",
        Ok,
        "Gen4 and Gen4",
        sound,
        "can do Gen4 x16",
    ),
    case(
        "slot-below-card",
        Warn,
        "a slot of eight lanes",
        |b| b.pci(PORTS[0], "max_link_width", "8"),
        "can do Gen4 x8, the card",
    ),
    case(
        "slot-below-card",
        CannotTell,
        "a card that says nothing",
        |b| b.remove("sys/bus/pci/devices/0000:61:00.0/max_link"),
        "is not shown",
    ),
    case(
        "link-errors",
        Ok,
        "no errors",
        sound,
        "0 mended, 0 not mended, 0 fatal",
    ),
    case(
        "link-errors",
        Warn,
        "three that were mended",
        |b| b.pci(GPUS[0], "aer_dev_correctable", "RxErr 3\nTOTAL_ERR_COR 3"),
        "3 mended",
    ),
    case(
        "link-errors",
        Warn,
        "one of the port that was not",
        |b| b.pci(PORTS[1], "aer_dev_nonfatal", "TLP 1\nTOTAL_ERR_NONFATAL 1"),
        "1 not mended, 0 fatal errors since the machine or the device started, its start included, at 0000:60:01.1",
    ),
    case(
        "link-errors",
        Bad,
        "a fatal one",
        |b| b.pci(PORTS[1], "aer_dev_fatal", "DLP 1\nTOTAL_ERR_FATAL 1"),
        "1 fatal errors",
    ),
    case(
        "link-errors",
        CannotTell,
        "no counters",
        |b| b.remove("sys/bus/pci/devices/0000:21:00.0/aer"),
        "no error counters",
    ),
    case("aspm", Ok, "no link saves", sound, "no power saving"),
    case(
        "aspm",
        Ok,
        "switched off at the start",
        |b| b.set("proc/cmdline", "pcie_aspm=off"),
        "pcie_aspm=off",
    ),
    // Below a switch: the files of a link stand at its lower end, so at the switch's upper port and at the GPUs.
    case(
        "aspm",
        Ok,
        "the lower end of each link tells",
        |b| {
            below_a_switch(b);
            for upper in [PORTS[0], "0000:24:00.0", "0000:24:01.0"] {
                b.remove(&format!("sys/bus/pci/devices/{upper}/link"));
            }
        },
        "4 functions on the way",
    ),
    case(
        "aspm",
        CannotTell,
        "one link of two tells nothing",
        |b| {
            below_a_switch(b);
            for end in [PORTS[0], "0000:23:00.0"] {
                b.remove(&format!("sys/bus/pci/devices/{end}/link"));
            }
        },
        "of the link at 0000:23:00.0 neither end tells",
    ),
    case(
        "aspm",
        Warn,
        "the policy",
        |b| {
            b.set(
                "sys/module/pcie_aspm/parameters/policy",
                "default performance [powersave] powersupersave",
            )
        },
        "powersave",
    ),
    case(
        "aspm",
        Warn,
        "one link",
        |b| b.pci(GPUS[0], "link/l1_aspm", "1"),
        "0000:21:00.0 (L1)",
    ),
    case(
        "aspm",
        CannotTell,
        "no files of links",
        |b| {
            for address in [GPUS[0], PORTS[0]] {
                b.remove(&format!("sys/bus/pci/devices/{address}/link"));
            }
        },
        "the firmware decides",
    ),
];
