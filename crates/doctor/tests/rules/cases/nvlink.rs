//! NVLinks and their fabric.

use doctor::Verdict::{Bad, Ok, Unknown, Warn};
use topology::{FabricState, Fact, NvLink, NvLinkEnd, NvLinks};

use super::{Case, case};
use crate::bench::{Bench, GPUS};

pub(super) const CASES: &[Case] = &[
    case("nvlink-inactive", Ok, "18 of 18", |b| told(b, whole())),
    case("nvlink-inactive", Bad, "17 of 18", |b| {
        let mut links = whole();
        links.links[4].is_active = false;
        told(b, links);
    }),
    case(
        "nvlink-inactive",
        Unknown,
        "a card with NVLink of which nothing is known",
        by_number,
    ),
    case("nvlink-errors", Ok, "none", |b| told(b, whole())),
    case("nvlink-errors", Warn, "failed checks", |b| {
        let mut links = whole();
        links.links[0].errors = Some(12);
        told(b, links);
    }),
    case("nvlink-errors", Unknown, "no counters", |b| {
        let mut links = whole();
        links.links.iter_mut().for_each(|link| link.errors = None);
        told(b, links);
    }),
    case(
        "nvlink-errors",
        Unknown,
        "a card with NVLink of which nothing is known",
        by_number,
    ),
    case("fabric-manager", Ok, "completed", |b| told(b, whole())),
    case("fabric-manager", Bad, "not started", |b| {
        let fabric = Some(FabricState::NotStarted);
        told(b, NvLinks { fabric, ..whole() });
    }),
    case("fabric-manager", Warn, "in progress", |b| {
        let fabric = Some(FabricState::InProgress);
        told(b, NvLinks { fabric, ..whole() });
    }),
    case(
        "fabric-manager",
        Unknown,
        "a card with NVLink of which nothing is known",
        by_number,
    ),
];

fn whole() -> NvLinks {
    let link = NvLink {
        is_active: true,
        version: Some(4),
        mb_per_s: Some(26_562),
        remote: Some(NvLinkEnd::Switch),
        errors: Some(0),
    };
    NvLinks {
        links: vec![link; 18],
        fabric: Some(FabricState::Completed),
    }
}

fn told(bench: &mut Bench, links: NvLinks) {
    bench.given.devices[0].nvlinks = Fact::Known(links);
}

fn by_number(bench: &mut Bench) {
    // An H200.
    bench.pci(GPUS[0], "device", "0x2335");
}
