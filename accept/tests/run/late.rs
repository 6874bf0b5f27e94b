//! A driver whose calls stop answering beside a run, and a run that is gone on with behind a monitor that was lost: neither is a good box.

use std::path::Path;

use crate::run::children::{beside_stand_in, command, of};
use crate::run::common::{Ran, Scratch, TWO, arguments, can_run, checks};

/// Has the profile demand what lives on the monitor, as that of a careful buyer does.
fn demand_throttle(scratch: &Scratch) {
    let file = scratch.join(TWO.0);
    let text = std::fs::read_to_string(&file).unwrap();
    let demanding = text.replace("\"data\", \"counters\"]", "\"data\", \"throttle\"]");
    assert_ne!(text, demanding);
    std::fs::write(file, demanding).unwrap();
}

fn run(scratch: &Scratch, accept: &Path) -> Ran {
    Ran::of(&mut command(scratch, accept))
}

#[test]
fn a_driver_that_answers_no_more_while_the_monitor_lives_clears_nothing() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    scratch.two(vec![]);
    demand_throttle(&scratch);
    // Header and one second of two devices at ten readings a second, then what the real one says of a call that blocks.
    let late = r#"at=1000000000
    while sleep 0.1; do
        at=$((at + 100000000))
        for device in 0 1; do
            echo "{\"line\":\"late\",\"device\":$device,\"at_ns\":$at,\"waited_ns\":100000000,\"what\":\"no answer\"}"
        done
    done"#;
    let blocked = format!("\"$real\" \"$@\" | head -n 21; {late}");
    let accept = beside_stand_in(&scratch, &[("monitor*", &blocked)]);
    run(&scratch, &accept).expect(3);
    let report = scratch.json("out/report.json");
    let found = checks(&report);
    for kind in ["link_transitions", "throttle"] {
        for device in ["GPU0", "GPU1"] {
            let came = &found[&format!("{kind} {device}")];
            assert_eq!(came.1, "monitor_lost", "{found:?}");
        }
    }
    assert_eq!(found["h2d_pinned GPU0"].0, "pass", "{found:?}");
}

#[test]
fn what_ran_behind_a_lost_monitor_stays_unwatched_when_the_run_is_gone_on_with() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    scratch.two(vec![]);
    // Once each: the monitor dies, and behind it a step.
    let accept = beside_stand_in(
        &scratch,
        &[
            (
                "monitor*",
                "[ -e died ] || { touch died; echo 'error: NVML is gone' >&2; exit 7; }",
            ),
            (
                "*h2d_pinned_ce*",
                "[ -e was-killed ] || { touch was-killed; kill -9 $$; }",
            ),
        ],
    );
    run(&scratch, &accept).expect(3);
    let words = arguments(TWO, ["--resume", "out"], &["--exclude", "allreduce"]);
    let again = Ran::of(&mut of(&scratch, &accept, &words));
    let report = scratch.json("out/report.json");
    let found = checks(&report);
    assert_eq!(found["h2d_pinned GPU0"].0, "pass", "{found:?}");
    for id in ["link_transitions GPU0", "throttle GPU1"] {
        assert_eq!(found[id].1, "monitor_lost", "{found:?}");
    }
    assert!(
        again.stderr.contains(
            "NVML is gone; --resume does not do again what ran unwatched: run the box again with another --out"
        ),
        "{}",
        again.stderr
    );
    // The test's profile demands counters, and those of the driver's library were not read before the first load.
    assert_eq!(found["counters GPU0"].1, "unreadable", "{found:?}");
    assert_eq!(report["verdict"], "inconclusive", "{found:?}");
}
