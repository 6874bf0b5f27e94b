//! Documents, JUnit, Prometheus and what may be handed on, of reports made by hand.

use view::Screen;

use super::{prometheus, redacted, verdict};
use crate::report::{BoxVerdict, Check, Evidence, ReasonCode, Report, Seen, Subject, Verdict};
use crate::tests::made::{bandwidth, measured, report, samples};

/// A link that is narrower than expected.
fn link(about: &str) -> Check {
    let evidence = Evidence::Seen {
        what: "link at the slot under load".to_owned(),
        value: "Gen4 x8".to_owned(),
        expected: Some("Gen4 x16".to_owned()),
        n: 300,
        source: "monitor".to_owned(),
    };
    Subject::new("link", [about.to_owned()], true).judged(
        Verdict::Fail,
        ReasonCode::LinkDegraded,
        String::new(),
        None,
        Seen::new(evidence, []),
    )
}

fn rejected() -> Report {
    let slow = measured("h2d_pinned", "GPU0", Verdict::Warn, "GB/s", samples(12.4));
    let mut slow = slow;
    if let Some(limit) = &mut slow.limit {
        (limit.ceiling, limit.link) = (Some(14.4), Some("Gen4 x8".to_owned()));
        limit.ordered = Some(crate::report::Ordered {
            link: "Gen4 x16".to_owned(),
            ceiling: 28.8,
        });
    }
    let pair = bandwidth("p2p", "GPU0->GPU1", 11.9);
    report("canary-host", vec![link("GPU0"), link("GPU1"), slow, pair])
}

#[test]
fn a_rejected_machine_is_told_by_its_causes() {
    let document = verdict(&rejected());
    insta::assert_snapshot!(document.screen(Screen::default()));
}

#[test]
fn an_accepted_machine_fits_on_a_screen_and_a_page() {
    let good = report("n1", vec![bandwidth("h2d_pinned", "GPU0", 25.0)]);
    let document = verdict(&good);
    assert!(document.screen(Screen::default()).lines().count() <= 25);
    assert_eq!(document.findings.len(), 0);
}

#[test]
fn junit_and_prometheus_have_the_verdict_and_each_check() {
    let report = rejected();
    let xml = super::junit::junit(&report);
    assert_eq!(xml.matches("<failure").count(), 3);
    assert_eq!(xml.matches("<testcase").count(), 5);
    let text = prometheus::prometheus(&report);
    assert!(text.contains("verdict=\"rejected\"} 1\n"));
    assert!(text.contains("accept_check_bytes_per_second"));
}

#[test]
fn nothing_of_others_and_no_identity_is_handed_on() {
    let mut report = rejected();
    report
        .checks
        .push(Subject::new("allreduce", ["small".to_owned()], true).open(
            ReasonCode::NotMeasured,
            "cannot open /srv/canary/lib",
            None,
            vec![],
        ));
    let before = serde_json::to_string(&report).unwrap();
    assert_eq!(before.matches("canary").count(), 4);
    let handed_on = redacted(report.clone(), false);
    let after = serde_json::to_string(&handed_on).unwrap();
    assert_eq!(after.matches("canary").count(), 0, "{after}");
    // The same machine has the same stand-ins.
    assert_eq!(
        handed_on.node.name,
        redacted(report.clone(), false).node.name
    );
    assert_eq!(redacted(report.clone(), true), report);
}

#[test]
fn a_report_that_was_changed_is_refused() {
    let good = report("n1", vec![bandwidth("p2p", "GPU0->GPU1", 20.0)]);
    let json = super::json(&good).unwrap();
    let read = |json: &str| crate::report::parse(json.as_bytes(), std::path::Path::new("r.json"));
    assert_eq!(read(&json).unwrap().verdict, BoxVerdict::Accepted);
    assert!(read(&json.replace("\"took_s\": 120.0", "\"took_s\": 12.0")).is_err());
    // Who takes the checksum out still cannot accept what its checks reject.
    let forged = Report {
        verdict: BoxVerdict::Accepted,
        ..rejected()
    };
    assert!(read(&serde_json::to_string(&forged).unwrap()).is_err());
    assert!(read("{").is_err());
    assert!(read(&"[".repeat(1000)).is_err());
}
