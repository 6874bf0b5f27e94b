//! Documents, OCP's lines and what may be handed on, of reports made by hand.

use view::Screen;

use super::{redacted, verdict};
use crate::report::{Came, Check, ReasonCode, Report, Seen, Verdict};
use crate::tests::made::{bandwidth, measured, report, samples};

/// A link that is narrower than expected.
fn link(about: &str) -> Check {
    let seen = Seen::of("link at the slot under load", "Gen4 x8", "monitor");
    let seen = seen.expecting("Gen4 x16").times(300);
    Came::fail(ReasonCode::LinkDegraded, seen).check("link", &[about], true)
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
fn a_warning_by_a_share_of_the_link_has_an_advice_of_its_own() {
    let of = |verdict, ceiling| {
        let limit = crate::report::Limit {
            ceiling,
            ..Default::default()
        };
        let came = Came::new(verdict, ReasonCode::BeyondLimit).by(Some(limit));
        came.check("h2d_pinned", &["GPU0"], true).advice
    };
    let usual = of(Verdict::Fail, Some(57.0));
    assert!(usual.is_some() && of(Verdict::Warn, None) == usual);
    assert_ne!(of(Verdict::Warn, Some(57.0)), usual);
}

#[test]
fn an_accepted_machine_fits_on_a_screen_and_a_page() {
    let good = report("n1", vec![bandwidth("h2d_pinned", "GPU0", 25.0)]);
    let document = verdict(&good);
    assert!(document.screen(Screen::default()).lines().count() <= 25);
    assert_eq!(document.findings.len(), 0);
}

#[test]
fn junit_has_the_verdict_and_each_check() {
    let xml = super::forms::junit(&rejected());
    assert_eq!(xml.matches("<failure").count(), 3);
    assert_eq!(xml.matches("<testcase").count(), 5);
}

#[test]
fn nothing_of_others_and_no_identity_is_handed_on() {
    let mut report = rejected();
    let open = Came::open(ReasonCode::NotMeasured).saying("cannot open /srv/canary/lib");
    report
        .checks
        .push(open.check("allreduce", &["small"], true));
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

/// What OCP's output specification 2.0 says of the objects of a line: where, what must be there, and what may.
#[rustfmt::skip]
const OCP: &[(&str, &str, &str)] = &[
    ("", "sequenceNumber timestamp", "schemaVersion testRunArtifact testStepArtifact"),
    ("/testRunArtifact", "", "testRunStart testRunEnd error"),
    ("/testRunArtifact/testRunStart", "name version commandLine parameters dutInfo", "metadata"),
    ("/testRunArtifact/testRunStart/dutInfo", "dutInfoId", "hardwareInfos softwareInfos platformInfos"),
    ("/testRunArtifact/testRunEnd", "status result", ""),
    ("/testRunArtifact/error", "symptom", "message"),
    ("/testStepArtifact", "testStepId", "testStepStart testStepEnd measurement diagnosis"),
    ("/testStepArtifact/testStepStart", "name", ""),
    ("/testStepArtifact/testStepEnd", "status", ""),
    ("/testStepArtifact/measurement", "name value", "unit validators hardwareInfoId subcomponent metadata"),
    ("/testStepArtifact/measurement/validators/0", "type value", "name metadata"),
    ("/testStepArtifact/measurement/validators/1", "type value", "name metadata"),
    ("/testStepArtifact/measurement/subcomponent", "name", "type"),
    ("/testStepArtifact/diagnosis", "verdict type", "message hardwareInfoId subcomponent"),
    ("/testStepArtifact/diagnosis/subcomponent", "name", "type"),
];

/// The words of its closed lists that a line may have at these places.
#[rustfmt::skip]
const OCP_WORDS: &[(&str, &str)] = &[
    ("/testRunArtifact/testRunEnd/status", "COMPLETE ERROR SKIP"),
    ("/testRunArtifact/testRunEnd/result", "PASS FAIL NOT_APPLICABLE"),
    ("/testStepArtifact/testStepEnd/status", "COMPLETE ERROR SKIP"),
    ("/testStepArtifact/measurement/validators/0/type", "EQUAL LESS_THAN_OR_EQUAL GREATER_THAN_OR_EQUAL"),
    ("/testStepArtifact/diagnosis/type", "PASS FAIL UNKNOWN"),
    ("/testStepArtifact/diagnosis/subcomponent/type", "UNSPECIFIED BUS"),
];

/// Whether a line has the shape of OCP's output specification 2.0.
fn is_ocp(line: &serde_json::Value) -> bool {
    let has = |(place, must, may): &(&str, &str, &str)| {
        let Some(object) = line.pointer(place).and_then(|it| it.as_object()) else {
            return true;
        };
        let known = || must.split(' ').chain(may.split(' '));
        object.keys().all(|key| known().any(|word| word == key))
            && must
                .split_terminator(' ')
                .all(|key| object.contains_key(key))
    };
    let is_word = |(place, words): &(&str, &str)| {
        let word = line.pointer(place);
        word.is_none_or(|word| words.split(' ').any(|known| word == known))
    };
    let at = line["timestamp"].as_str().unwrap_or_default();
    // One artifact a line, and one part an artifact beside the step's id.
    let parts = |place: &str| line[place].as_object().map(serde_json::Map::len);
    OCP.iter().all(has)
        && OCP_WORDS.iter().all(is_word)
        && parts("testRunArtifact").is_none_or(|parts| parts == 1)
        && parts("testStepArtifact").is_none_or(|parts| parts == 2)
        && line.as_object().is_some_and(|line| line.len() == 3)
        && humantime::parse_rfc3339(at).is_ok()
}

#[test]
fn ocp_output_has_the_shape_of_its_specification_and_the_verdict_of_the_report() {
    let failed = Report {
        status: crate::report::RunStatus::Failed {
            reason: "no driver".to_owned(),
        },
        ..report("n1", vec![])
    };
    let good = report("n1", vec![bandwidth("p2p", "GPU0->GPU1", 20.0)]);
    for (report, result) in [
        (rejected(), "FAIL"),
        (good, "PASS"),
        (failed, "NOT_APPLICABLE"),
    ] {
        let text = super::ocp::ocp(&report);
        let line = |line| serde_json::from_str::<serde_json::Value>(line).unwrap();
        let lines: Vec<_> = text.lines().map(line).collect();
        for (number, line) in lines.iter().enumerate() {
            assert!(is_ocp(line), "{line}");
            assert_eq!(line["sequenceNumber"], number);
        }
        assert_eq!(lines[0]["schemaVersion"]["major"], 2);
        let end = &lines.last().unwrap()["testRunArtifact"]["testRunEnd"];
        assert_eq!(end["result"], result);
    }
    // The narrow links of both cards are diagnoses of their hardware; a pair is one of the first with the pair as a part.
    let text = super::ocp::ocp(&rejected());
    let failed = text
        .lines()
        .filter(|line| line.contains("\"type\":\"FAIL\""));
    let failed: Vec<&str> = failed.collect();
    assert_eq!(failed.len(), 2, "{text}");
    assert!(failed[1].contains("\"hardwareInfoId\":\"GPU1\""));
    assert!(text.contains("\"subcomponent\":{\"name\":\"GPU0->GPU1\",\"type\":\"BUS\"}"));
}

#[test]
fn a_label_names_the_machine_everywhere_and_its_host_stays_on_the_screen() {
    let mut labelled = rejected();
    assert!(
        verdict(&labelled)
            .title
            .starts_with("REJECTED canary-host: ")
    );
    labelled.node.label = Some("rack3-node7".to_owned());
    let handed_on = redacted(labelled.clone(), false);
    for report in [&labelled, &handed_on] {
        assert!(verdict(report).title.starts_with("REJECTED rack3-node7: "));
    }
    assert!(
        !serde_json::to_string(&handed_on)
            .unwrap()
            .contains("canary-host")
    );
}
