//! What is kept of a run, and what is refused.

use super::*;
use crate::report::{RunStatus, Verdict};
use crate::tests::made::{bandwidth, folder, measured, report, samples, soft, write};

fn good() -> crate::report::Report {
    report(
        "n1",
        vec![
            bandwidth("h2d_pinned", "GPU0", 25.0),
            bandwidth("h2d_pinned", "GPU1", 24.0),
        ],
    )
}

#[test]
fn an_accepted_run_gives_its_figures_with_their_samples() {
    let mut run = good();
    // Warned figures are kept, too: a baseline only tightens. Five samples have no interval, and a ratio is not compared with others.
    run.checks.push(measured(
        "d2h_pinned",
        "GPU0",
        Verdict::Warn,
        "GB/s",
        samples(21.0),
    ));
    run.checks.push(measured(
        "p2p_latency",
        "GPU0->GPU1",
        Verdict::Pass,
        "us",
        vec![2.0; 5],
    ));
    run.checks.push(measured(
        "symmetry",
        "GPU0->GPU1",
        Verdict::Pass,
        "1",
        samples(0.01),
    ));
    run.checks.push(measured(
        "d2h_pinned",
        "GPU1",
        Verdict::Fail,
        "GB/s",
        samples(11.0),
    ));
    let (captured, left_out) = captured(&run).unwrap();
    let kept: Vec<&str> = captured
        .figures
        .iter()
        .map(|figure| figure.check.as_str())
        .collect();
    assert_eq!(
        kept,
        ["h2d_pinned GPU0", "h2d_pinned GPU1", "d2h_pinned GPU0"]
    );
    assert_eq!(captured.figures[1].samples, samples(24.0));
    assert_eq!(left_out, 2);
    assert_eq!(captured.fingerprint, run.node.fingerprint);
}

#[test]
fn only_an_accepted_run_that_ended_by_itself_is_a_measure() {
    let rejected = report(
        "n1",
        vec![measured(
            "h2d_pinned",
            "GPU0",
            Verdict::Fail,
            "GB/s",
            samples(12.0),
        )],
    );
    assert!(captured(&rejected).is_err());
    assert!(captured(&report("n1", vec![])).is_err());
    let mut broken = good();
    broken.status = RunStatus::Broken;
    assert!(captured(&broken).is_err());
    let few = report(
        "n1",
        vec![measured(
            "h2d_pinned",
            "GPU0",
            Verdict::Pass,
            "GB/s",
            vec![25.0; 5],
        )],
    );
    assert!(captured(&few).is_err());
}

#[test]
fn what_is_written_is_read_back_and_an_older_file_is_never_replaced() {
    let folder = folder("baseline");
    let run = write(&folder, "run", &soft(good(), "l40x4"));
    let out = folder.join("baseline.json");
    assert_eq!(capture(&run, &out), 0);
    let bytes = std::fs::read(&out).unwrap();
    let loaded = load(&out).unwrap();
    assert_eq!(loaded.baseline.soft_box.as_deref(), Some("l40x4"));
    assert_eq!(loaded.baseline.figures.len(), 2);
    assert_eq!(loaded.sha256.len(), 64);
    // A second time: refused, and the file is as it was.
    assert_eq!(capture(&run, &out), 2);
    assert_eq!(std::fs::read(&out).unwrap(), bytes);
    // No such folder to write to, and no such run.
    assert_eq!(capture(&run, &folder.join("none/b.json")), 2);
    assert_eq!(capture(&folder.join("none"), &folder.join("b.json")), 2);
    // A run that was rejected: refused for want of what to keep, and nothing is written.
    let rejected = report(
        "n1",
        vec![measured(
            "h2d_pinned",
            "GPU0",
            Verdict::Fail,
            "GB/s",
            samples(12.0),
        )],
    );
    assert_eq!(
        capture(&write(&folder, "bad", &rejected), &folder.join("c.json")),
        3
    );
    assert!(!folder.join("c.json").exists());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_file_that_is_no_baseline_is_refused_with_the_reason() {
    let folder = folder("baseline-bad");
    let file = folder.join("b.json");
    let whole = captured(&good()).unwrap().0;
    let refused = |baseline: &Baseline| {
        std::fs::write(&file, serde_json::to_vec(baseline).unwrap()).unwrap();
        format!("{:#}", load(&file).unwrap_err())
    };
    let newer = Baseline {
        schema: 2,
        ..whole.clone()
    };
    assert!(!refused(&newer).is_empty());
    let empty = Baseline {
        figures: vec![],
        ..whole.clone()
    };
    assert!(!refused(&empty).is_empty());
    let mut negative = whole.clone();
    negative.figures[0].samples[3] = -1.0;
    assert!(!refused(&negative).is_empty());
    let mut none = whole;
    none.figures[0].samples.clear();
    assert!(!refused(&none).is_empty());
    std::fs::write(&file, "{\"schema\":1,\"surprise\":2}").unwrap();
    assert!(load(&file).is_err());
    std::fs::remove_dir_all(&folder).unwrap();
}
