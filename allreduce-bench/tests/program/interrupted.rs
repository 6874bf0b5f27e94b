//! Runs that a signal ends: what was measured until then is on the disk and loads, and no process is left.

use boxfile::Fault;
use record::{CallMode, Status};
use rustix::process::Signal;

use super::common::{Running, Scratch, exact_us, with};

/// A run that measures 4 KiB, and stays in the first call of 8 KiB.
fn started(scratch: &Scratch) -> Running {
    // Calls up to there: 1 + (1 + 4) + 6 * (1 + 4) = 36 at the first size; joining is none.
    let stuck = with(Fault::CollectiveHang {
        rank: 1,
        after_calls: 36,
        protocol: None,
    });
    let more = [
        "--sizes",
        "4K,8K",
        "--modes",
        "back-to-back",
        "--samples",
        "6",
        "--deadline",
        "600",
    ];
    let mut running = Running::start(scratch.program(scratch.on(&stuck, &more)));
    running.until("2 points to measure");
    scratch.until_a_point_is_kept();
    running
}

#[test]
fn ctrl_c_ends_a_run_with_130_and_what_was_measured() {
    let scratch = Scratch::new();
    let running = started(&scratch);
    running.signal(Signal::INT);
    let kept = scratch.left(running.end());
    assert_eq!(kept.ran.code, 130);
    let signal = "SIGINT".to_owned();
    assert_eq!(kept.record.status, Status::Interrupted { signal });
    assert_eq!(kept.collectives().points.len(), 1);
    exact_us(kept.reduced(4096, CallMode::BackToBack));
    let shown = scratch.run(&["show", "out"]);
    assert_eq!((shown.code, shown.stdout), (0, kept.ran.stdout));
}
