//! Repairs of memory.

use doctor::Verdict::{Bad, Ok, Unknown, Warn};
use topology::{Fact, Repairs, RetiredPages, RowRemaps};

use super::{Case, case, sound};
use crate::bench::{Bench, GPUS};

const RULE: &str = "memory-repairs";

pub(super) const CASES: &[Case] = &[
    case(RULE, Ok, "none", sound),
    case(RULE, Ok, "rows after errors that were corrected", |b| {
        rows(b, 3, 0, false, false)
    }),
    case(RULE, Warn, "a row after lost data", |b| {
        rows(b, 0, 1, false, false)
    }),
    case(RULE, Warn, "one that waits", |b| rows(b, 0, 1, true, false)),
    case(RULE, Bad, "one that failed", |b| rows(b, 0, 9, true, true)),
    case(RULE, Warn, "pages of an older card", |b| {
        let pages = RetiredPages {
            retired: 7,
            after_lost_data: Some(5),
            ..RetiredPages::default()
        };
        told(
            b,
            Repairs::told(Err("not available".to_owned()), Result::Ok(pages)),
        );
    }),
    case(
        RULE,
        Bad,
        "an AMD card with a page that could not be retired",
        |b| {
            amd(b);
            b.pci(
                GPUS[0],
                "ras/gpu_vram_bad_pages",
                "0x1 : 0x1000 : R\n0x2 : 0x1000 : F",
            );
        },
    ),
    case(
        RULE,
        Warn,
        "an AMD card with a page that its driver is to take out of use",
        |b| {
            amd(b);
            b.pci(
                GPUS[0],
                "ras/gpu_vram_bad_pages",
                "0x1 : 0x1000 : R\n0x2 : 0x1000 : P",
            );
        },
    ),
    case(RULE, Unknown, "a card whose driver tells neither", |b| {
        told(
            b,
            Repairs::told(
                Err("not available".to_owned()),
                Err("not available".to_owned()),
            ),
        )
    }),
    case(RULE, Unknown, "an AMD card without the file", amd),
];

fn told(bench: &mut Bench, repairs: Repairs) {
    bench.given.devices[0].repairs = Fact::Known(repairs);
}

fn rows(bench: &mut Bench, corrected: u64, uncorrected: u64, pending: bool, failed: bool) {
    let rows = RowRemaps {
        corrected,
        uncorrected,
        pending,
        failed,
    };
    told(
        bench,
        Repairs::told(Result::Ok(rows), Err("not available".to_owned())),
    );
}

fn amd(bench: &mut Bench) {
    bench.pci(GPUS[0], "vendor", "0x1002");
}
