//! What a comparison says of hand-made runs.

use std::path::Path;

use super::differences::allowed;
use super::judge::{CameTo, Compared, compare};
use super::side::{Side, load, of_report};
use crate::report::{Check, ReasonCode, Report, Subject, Verdict};
use crate::tests::made::{bandwidth, folder, measured, report, samples, soft, write};

fn side(report: &Report) -> Side {
    of_report(Path::new("run"), report)
}

fn compared(a: Vec<Check>, b: Vec<Check>) -> Compared {
    compare(&side(&report("n1", a)), &side(&report("n1", b)), 0.05, &[]).unwrap()
}

fn came_to(compared: &Compared) -> Vec<CameTo> {
    compared
        .rows
        .as_ref()
        .unwrap()
        .figures
        .iter()
        .map(|row| row.came_to)
        .collect()
}

#[test]
fn a_figure_is_worse_where_its_whole_interval_says_so() {
    // 22.5 of 25 is 0.900; samples lie within 0.7%, so that no interval reaches 0.95. 24.9 of 25 is 0.996.
    let slower = compared(
        vec![
            bandwidth("h2d_pinned", "GPU0", 25.0),
            bandwidth("h2d_pinned", "GPU1", 25.0),
        ],
        vec![
            bandwidth("h2d_pinned", "GPU0", 22.5),
            bandwidth("h2d_pinned", "GPU1", 24.9),
        ],
    );
    assert_eq!(slower.exit_code, 1);
    assert_eq!(came_to(&slower), [CameTo::Regression, CameTo::Held]);
    let row = &slower.rows.as_ref().unwrap().figures[0];
    assert!((row.speed.value - 0.9).abs() < 1e-12);
    // The other way about 25 of 22.5 is 1.111, above 1 / 0.95 = 1.053.
    let faster = compared(
        vec![bandwidth("h2d_pinned", "GPU0", 22.5)],
        vec![bandwidth("h2d_pinned", "GPU0", 25.0)],
    );
    assert_eq!(
        (faster.exit_code, came_to(&faster)),
        (0, vec![CameTo::Faster])
    );
}

#[test]
fn a_time_is_worse_where_it_is_longer() {
    let time = |median| {
        vec![measured(
            "allreduce",
            "box",
            Verdict::Pass,
            "us",
            samples(median),
        )]
    };
    // 20 us against 25 us: a speed of 0.8. And back: 1.25.
    let longer = compared(time(20.0), time(25.0));
    assert_eq!(
        (longer.exit_code, came_to(&longer)),
        (1, vec![CameTo::Regression])
    );
    assert!((longer.rows.unwrap().figures[0].speed.value - 0.8).abs() < 1e-12);
    assert_eq!(compared(time(25.0), time(20.0)).exit_code, 0);
}

#[test]
fn what_may_be_worse_is_not_called_equal_and_not_called_worse() {
    // Medians 10 and 9.4, a ratio of 0.94; samples of B reach from 8.4 to 10.4, so that its interval lies across 0.95.
    let wide: Vec<f64> = (0..11).map(|step| 8.4 + 0.2 * f64::from(step)).collect();
    let noisy = compared(
        vec![measured(
            "p2p",
            "GPU0->GPU1",
            Verdict::Pass,
            "GB/s",
            vec![10.0; 11],
        )],
        vec![measured("p2p", "GPU0->GPU1", Verdict::Pass, "GB/s", wide)],
    );
    assert_eq!(
        (noisy.exit_code, came_to(&noisy)),
        (3, vec![CameTo::MaybeWorse])
    );
    // Five samples have no interval, and nothing else was compared.
    let few = |value: f64| {
        vec![measured(
            "p2p",
            "GPU0->GPU1",
            Verdict::Pass,
            "GB/s",
            vec![value; 5],
        )]
    };
    let few = compared(few(10.0), few(5.0));
    assert_eq!((few.exit_code, came_to(&few)), (3, vec![CameTo::NotTold]));
}

#[test]
fn a_worse_verdict_is_worse_and_none_is_not_a_pass() {
    let checks = |other: Check| vec![bandwidth("h2d_pinned", "GPU0", 25.0), other];
    let good = || bandwidth("p2p", "GPU0->GPU1", 20.0);
    let seen = |check: Check| compared(checks(good()), checks(check));
    // The figure held, and the verdict fell with a limit of another profile.
    let failed = seen(measured(
        "p2p",
        "GPU0->GPU1",
        Verdict::Fail,
        "GB/s",
        samples(20.0),
    ));
    assert_eq!(failed.exit_code, 1);
    assert!(failed.rows.unwrap().checks[0].is_worse);
    let subject = || Subject::new("p2p", ["GPU0->GPU1".to_owned()], true);
    let lost = seen(subject().open(ReasonCode::NotMeasured, "it ended", None, vec![]));
    assert_eq!(lost.exit_code, 3);
    let rows = lost.rows.unwrap();
    assert!(!rows.checks[0].is_worse);
    assert_eq!(rows.only_in_a, ["p2p GPU0->GPU1: 16 MiB copies"]);
    assert_eq!(
        seen(subject().skipped(ReasonCode::NotMeasured, "no time")).exit_code,
        3
    );
    // What this level does not look at says nothing against the box.
    assert_eq!(
        seen(subject().skipped(ReasonCode::LeftOut, "quick")).exit_code,
        0
    );
    let gone = compared(checks(good()), vec![bandwidth("h2d_pinned", "GPU0", 25.0)]);
    assert_eq!((gone.exit_code, gone.rows.unwrap().checks[0].b), (3, None));
}

#[test]
fn boxes_that_differ_are_not_compared_unless_it_is_allowed() {
    let a = report("n1", vec![bandwidth("h2d_pinned", "GPU0", 25.0)]);
    let mut b = report("n2", vec![bandwidth("h2d_pinned", "GPU0", 12.0)]);
    b.node.fingerprint.driver = Some("580.10".to_owned());
    b.node.fingerprint.kernel = None;
    let without = compare(&side(&a), &side(&b), 0.05, &[]).unwrap();
    assert_eq!((without.exit_code, without.rows.as_ref()), (3, None));
    let parts: Vec<&str> = without
        .differences
        .iter()
        .map(|part| part.part.as_str())
        .collect();
    assert_eq!(parts, ["driver", "kernel"]);
    // One of two is not enough; both are.
    assert_eq!(
        compare(&side(&a), &side(&b), 0.05, &["driver"])
            .unwrap()
            .rows,
        None
    );
    assert_eq!(
        compare(&side(&a), &side(&b), 0.05, &["driver", "kernel"])
            .unwrap()
            .exit_code,
        1
    );
    // Other devices are never allowed.
    assert!(
        allowed(&["devices".to_owned()])
            .unwrap_err()
            .contains("choose of driver")
    );
}

#[test]
fn a_simulated_machine_stays_apart() {
    let mut one = report("n1", vec![bandwidth("h2d_pinned", "GPU0", 25.0)]);
    one.node.fingerprint.cpu = None;
    let same = compare(&side(&one), &side(&one), 0.05, &[]).unwrap();
    assert_eq!(same.exit_code, 0);
    let simulated = soft(one.clone(), "l40x4");
    assert!(
        compare(&side(&one), &side(&simulated), 0.05, &[])
            .unwrap_err()
            .contains("simulated")
    );
    let empty = report("n1", vec![]);
    assert!(
        compare(&side(&simulated), &side(&empty), 0.05, &[])
            .unwrap_err()
            .contains("nothing was measured in it")
    );
    let other = compare(&side(&simulated), &side(&soft(one, "other")), 0.05, &[]).unwrap();
    assert_eq!(
        (other.exit_code, other.differences[0].part.as_str()),
        (3, "simulated machine")
    );
}

#[test]
fn a_run_is_held_against_a_baseline_and_nothing_else_is_taken_for_one() {
    let folder = folder("compare");
    let good = write(
        &folder,
        "good",
        &report("n1", vec![bandwidth("h2d_pinned", "GPU0", 25.0)]),
    );
    let slow = write(
        &folder,
        "slow",
        &report("n1", vec![bandwidth("h2d_pinned", "GPU0", 20.0)]),
    );
    let baseline = folder.join("baseline.json");
    assert_eq!(crate::baseline::capture(&good, &baseline), 0);
    let (a, b) = (load(&baseline).unwrap(), load(&slow).unwrap());
    assert!(a.checks.is_none());
    // 20 / 25 = 0.8.
    assert_eq!(compare(&a, &b, 0.05, &[]).unwrap().exit_code, 1);
    std::fs::write(folder.join("x.json"), "{}").unwrap();
    assert!(
        load(&folder.join("x.json"))
            .unwrap_err()
            .contains("nor is it a baseline")
    );
    std::fs::remove_dir_all(&folder).unwrap();
}
