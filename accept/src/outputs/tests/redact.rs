//! Identities: none of them in any form, and stand-ins that stay the same where they should.

use super::sample::{self, HOST, SERIAL, UUID};
use crate::outputs::{html, json, junit, prometheus, redacted, text};
use crate::report::{Evidence, Report, Setting};

/// Words that would tell the machine or a person.
const CANARIES: &[&str] = &[
    HOST,
    "canary-node-017",
    "CANARY-NODE-017",
    UUID,
    "c0ffee00",
    SERIAL,
    "deadbeef-0000-4000-8000-feedfacef00d",
    "s3cret",
    "intranet.example",
    "alice",
    "04:3f:72:aa:bb:cc",
    "0323518081234",
];

/// A report with canaries in every place that has words.
fn with_canaries() -> Report {
    let mut report = sample::bad();
    let homes = "/home";
    let words = format!(
        "on {HOST} (CANARY-NODE-017): {UUID} serial {SERIAL}; root=UUID=deadbeef-0000-4000-8000-feedfacef00d, asked http://alice:s3cret@intranet.example:8000/v1 \
         from {homes}/alice/run, /mnt/users/alice/x.log, mac 04:3f:72:aa:bb:cc; NVRM: GPU Board Serial Number: 0323518081234"
    );
    for check in &mut report.checks {
        check.reason.text.clone_from(&words);
        check.advice = Some(words.clone());
        for evidence in &mut check.evidence {
            match evidence {
                Evidence::Measured { what, source, .. }
                | Evidence::Counted { what, source, .. } => {
                    what.clone_from(&words);
                    source.clone_from(&words);
                }
                Evidence::Seen {
                    what,
                    value,
                    expected,
                    source,
                    ..
                } => {
                    for text in [what, value, source].into_iter().chain(expected) {
                        text.clone_from(&words);
                    }
                }
            }
        }
    }
    report.notes.push(words.clone());
    report.not_covered.push(words.clone());
    report.settings.push(Setting {
        name: "command line".to_owned(),
        value: Some(words.clone()),
        why_not: Some(words.clone()),
    });
    report.series[1].states.push((50.0, words.clone()));
    report.status = crate::report::RunStatus::Failed { reason: words };
    report.devices[0].name = format!("NVIDIA L40 of {HOST}");
    report
}

#[test]
fn no_form_shows_an_identity_unless_it_is_asked_for() {
    let forms = |report: &Report| {
        [
            text(report),
            html(report),
            junit(report),
            prometheus(report),
            json(report).unwrap(),
        ]
    };
    let hidden = redacted(with_canaries(), false);
    assert!(!hidden.node.identified);
    for form in forms(&hidden) {
        for canary in CANARIES {
            assert!(!form.contains(canary), "{canary} in {form}");
        }
        // What belongs to the box and to nobody stays.
        assert!(form.contains("0000:20:01.1"), "{form}");
    }
    let shown = redacted(with_canaries(), true);
    assert_eq!(shown, with_canaries());
    assert!(json(&shown).unwrap().contains(HOST));
}

#[test]
fn a_node_has_the_same_stand_in_in_every_report_and_a_card_in_every_node() {
    let names = |report: Report| {
        let report = redacted(report, false);
        let ids: Vec<String> = report
            .devices
            .iter()
            .flat_map(|device| device.identity.clone())
            .collect();
        (report.node.name, ids)
    };
    let (node, ids) = names(sample::good());
    assert!(node.starts_with("node-") && node.len() == 15, "{node}");
    assert_eq!((node.clone(), ids.clone()), names(sample::bad()));
    // The card with a UUID in another machine: another node, the same card; the serial can be guessed and has another stand-in.
    let mut moved = sample::good();
    moved.node.name = "other".to_owned();
    let (other, there) = names(moved);
    assert_ne!(node, other);
    assert_eq!(ids[0], there[0]);
    assert_ne!(ids[1], there[1]);
    // The same UUID without the vendor's letters.
    let mut bare = sample::good();
    bare.devices[0].identity = Some(UUID.trim_start_matches("GPU-").to_uppercase());
    assert_eq!(names(bare).1[0], ids[0]);
}

#[test]
fn a_name_that_could_be_guessed_is_withheld() {
    let mut report = sample::good();
    for device in &mut report.devices {
        device.identity = None;
    }
    assert_eq!(redacted(report, false).node.name, "node-withheld");
}

#[test]
fn labels_that_others_refer_to_stay_whatever_the_machine_is_called() {
    for name in ["GPU0", "box", "a", "", "link"] {
        let mut report = sample::good();
        report.node.name = name.to_owned();
        let hidden = redacted(report.clone(), false);
        let keys = |report: &Report| {
            let checks = report.checks.iter();
            checks
                .map(|check| (check.id.clone(), check.kind.clone(), check.about.clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(keys(&hidden), keys(&report));
        assert_ne!(hidden.node.name, name);
        assert_eq!(crate::report::unsound(&hidden), None);
    }
}

#[test]
fn a_report_that_has_none_is_left_as_it_is() {
    let hidden = redacted(sample::good(), false);
    assert_eq!(redacted(hidden.clone(), false), hidden);
    assert_eq!(redacted(hidden.clone(), true), hidden);
}
