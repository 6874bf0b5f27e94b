//! Checks that bear on each other: a reading that copies disprove, a spread that follows from a link, devices that were left out, a step that
//! was broken off, and what is to be done where cores stand in for devices.

use measure::record::Payload;
use topology::PcieLink;

use super::{Plant, Played, profile, run, verdict};
use crate::checks::Group;
use crate::cli::Level;
use crate::findings::Findings;
use crate::judge::judge;
use crate::report::{BoxVerdict, Check, ReasonCode as R, Verdict};

fn good() -> Findings {
    Played::new("l40x4", 1, &[]).idle().findings(20)
}

fn judged(findings: &Findings) -> Vec<Check> {
    judge(&profile("l40x4"), Level::Standard, findings, &[]).unwrap()
}

fn one<'a>(checks: &'a [Check], id: &str) -> &'a Check {
    checks.iter().find(|check| check.id == id).unwrap()
}

fn links(findings: &mut Findings) -> &mut measure::record::Links {
    match &mut findings.links[0].it.payload {
        Payload::Links(links) => links,
        other => panic!("{other:?}"),
    }
}

/// The good box whose device 1 shows both ends of its link at half the width, while its copies are those of the whole.
fn at_odds() -> Findings {
    let mut findings = good();
    let half = PcieLink::new(4, 8).ok();
    let loaded = links(&mut findings).devices[1].loaded.as_mut().unwrap();
    (loaded.slot, loaded.card, loaded.device) = (half, half, half);
    findings
}

#[test]
fn copies_above_what_the_link_carries_leave_the_reading_and_the_figure_untold() {
    let checks = judged(&at_odds());
    // Gen4 x8 at 256 B: 15.754 * 256 / 280 = 14.40 GB/s; copies have about 25.6, 1.78 times that.
    let words = "GB/s (20 samples), and Gen4 x8 carries 14.4 at most: the reading is not that of this copy (stale, or a guest's)";
    for id in ["link GPU1", "h2d_pinned GPU1", "d2h_pinned GPU1"] {
        let check = one(&checks, id);
        let came = (check.verdict, check.reason.code);
        assert_eq!(came, (Verdict::Inconclusive, R::Unreadable), "{check:#?}");
        assert!(
            check.reason.text.starts_with("copies carried 25."),
            "{check:#?}"
        );
        assert!(check.reason.text.contains(words), "{check:#?}");
    }
    let advice = one(&checks, "link GPU1").advice.clone().unwrap();
    assert!(
        advice.starts_with("the link of GPU1 was read as Gen4 x8 and its copies carried 25.")
            && advice.contains("`lspci -vv -s ADDRESS`")
            && advice.contains("nvidia-smi --query-gpu=pstate,"),
        "{advice}"
    );
    for id in ["h2d_pinned GPU1", "d2h_pinned GPU1", "p2p GPU1->GPU0"] {
        assert_eq!(one(&checks, id).causes(), ["link GPU1"], "{id}");
    }
    let other = one(&checks, "h2d_pinned GPU0");
    assert_ne!(other.reason.code, R::Unreadable, "{other:#?}");
    assert_eq!(verdict(&checks), BoxVerdict::Inconclusive);
}

#[test]
fn a_link_that_fell_for_a_while_is_not_cleared_by_copies_before() {
    let mut findings = at_odds();
    let loaded = links(&mut findings).devices[1].loaded.as_mut().unwrap();
    let whole = PcieLink::new(4, 16).ok();
    (loaded.slot, loaded.card, loaded.device) = (whole, whole, whole);
    loaded.narrowed_to = PcieLink::new(4, 8).ok();
    let checks = judged(&findings);
    assert_eq!(one(&checks, "link GPU1").reason.code, R::LinkDegraded);
}

#[test]
fn a_spread_that_follows_from_a_failed_link_gives_no_advice_of_its_own() {
    let plant = Plant::Slot {
        device: 1,
        link: PcieLink::new(4, 8).unwrap(),
    };
    let checks = run(
        &profile("l40x4"),
        &mut Played::new("l40x4", 1, &[plant]).idle(),
        None,
    );
    assert_eq!(one(&checks, "link GPU1").verdict, Verdict::Fail);
    let follow = "follows from link GPU1: do what is said there";
    for id in ["spread h2d_pinned", "spread d2h_pinned"] {
        let check = one(&checks, id);
        assert_eq!(check.verdict, Verdict::Fail, "{check:#?}");
        assert_eq!(check.advice.as_deref(), Some(follow));
    }
    // One device of four is slow behind a link that is whole, and then all are.
    let slow = |device| Plant::SlowDevice { device, part: 0.7 };
    let advice = |plants: &[Plant]| {
        let mut played = Played::new("l40x4", 1, plants).idle();
        let checks = run(&profile("l40x4"), &mut played, None);
        one(&checks, "h2d_pinned GPU1").advice.clone().unwrap()
    };
    let of_one = advice(&[slow(1)]);
    assert!(
        of_one.starts_with("the link is as expected, so look behind it: payload size, IOMMU"),
        "{of_one}"
    );
    let of_all = advice(&[slow(0), slow(1), slow(2), slow(3)]);
    assert!(
        of_all.starts_with(
            "all 4 devices are slow and their links are as expected: look at the host"
        ),
        "{of_all}"
    );
    // A slow device whose link is whole is still to be exchanged.
    let slow = Plant::SlowDevice {
        device: 1,
        part: 0.7,
    };
    let checks = run(
        &profile("l40x4"),
        &mut Played::new("l40x4", 1, &[slow]).idle(),
        None,
    );
    let advice = one(&checks, "spread h2d_pinned").advice.clone().unwrap();
    assert!(advice.starts_with("exchange the named card"), "{advice}");
}

#[test]
fn devices_that_were_left_out_are_not_missing_and_others_are() {
    let mut six = profile("l40x4");
    six.matches.as_mut().unwrap().count = 6;
    let came = |left_out| {
        let mut findings = good();
        findings.left_out = left_out;
        let checks = judge(&six, Level::Standard, &findings, &[]).unwrap();
        let check = one(&checks, "inventory devices").clone();
        (check, verdict(&checks))
    };
    let (check, of_box) = came(2);
    assert_eq!(check.reason.code, R::ExcludedByUser);
    assert_eq!(
        check.reason.text,
        "2 of the profile's 6 devices were left out with --gpus: a whole box is judged without --gpus"
    );
    assert_eq!(of_box, BoxVerdict::Inconclusive);
    for left_out in [0, 1] {
        let (check, of_box) = came(left_out);
        assert_eq!(check.reason.code, R::DeviceMissing);
        assert!(check.reason.text.contains("4 of 6 devices there"));
        assert_eq!(of_box, BoxVerdict::Rejected);
    }
}

#[test]
fn nodes_of_the_devices_that_were_chosen_are_those_of_their_places_among_all() {
    // Six devices by their addresses, of which the first and the fourth were left out: 01, 21, 61, 70, a1, e1.
    let mut findings = good();
    findings.left_out = 2;
    findings.left_out_at = ["0000:70:00.0", "0000:01:00.0"]
        .map(|address| address.parse().unwrap())
        .to_vec();
    let came = |nodes: [u32; 6]| {
        let mut six = profile("l40x4");
        six.numa.as_mut().unwrap().nodes = nodes.to_vec();
        let checks = judge(&six, Level::Standard, &findings, &[]).unwrap();
        let of = checks.into_iter().filter(|check| check.kind == "numa_node");
        of.map(|check| (check.about.join(" "), check.verdict))
            .collect::<Vec<_>>()
    };
    let all = |verdicts: [Verdict; 4]| {
        let labels = ["GPU0", "GPU1", "GPU2", "GPU3"].map(str::to_owned);
        labels.into_iter().zip(verdicts).collect::<Vec<_>>()
    };
    use Verdict::{Fail, Pass};
    assert_eq!(came([7, 0, 0, 7, 1, 1]), all([Pass; 4]));
    assert_eq!(came([7, 0, 1, 7, 1, 1]), all([Pass, Fail, Pass, Pass]));
}

#[test]
fn what_a_broken_off_step_did_not_come_to_is_interrupted() {
    let mut other = profile("l40x4");
    other.allreduce.large_bytes = 12_345;
    let mut findings = good();
    let large = |findings: &Findings| {
        let checks = judge(&other, Level::Standard, findings, &[]).unwrap();
        one(&checks, "allreduce large").reason.clone()
    };
    assert_eq!(large(&findings).code, R::WorkerFailed);
    findings.cut = Some(Group::Collectives);
    let reason = large(&findings);
    assert_eq!(reason.code, R::Interrupted);
    assert_eq!(reason.text, "interrupted before it was measured");
}

#[test]
fn no_card_is_to_be_exchanged_where_cores_stand_in_for_devices() {
    let slow = Plant::SlowDevice {
        device: 1,
        part: 0.7,
    };
    let mut findings = Played::new("l40x4", 1, &[slow]).idle().findings(20);
    links(&mut findings).backend.as_mut().unwrap().name = "host".to_owned();
    let checks = judged(&findings);
    let spread = one(&checks, "spread h2d_pinned");
    assert_eq!(spread.verdict, Verdict::Fail, "{spread:#?}");
    for check in &checks {
        let advice = check.advice.as_deref().unwrap_or_default();
        let is_of_cards = ["card and", "named card", "reseat", "upstream"];
        assert!(
            !is_of_cards.iter().any(|word| advice.contains(word)),
            "{check:#?}"
        );
    }
    assert!(
        spread
            .advice
            .as_deref()
            .unwrap()
            .contains("cores stand in for devices")
    );
}
