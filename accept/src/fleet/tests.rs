//! What is said of fleets whose truth is known: planted in numbers by the seed, and in reports by hand.

use std::path::PathBuf;

use measure::stats::SplitMix;

use super::find::find;
use super::gather::{Fleet, gather};
use super::judge::judge;
use super::member::{self, Kind, Member, Value};
use super::outcome::{Against, Outcome, Scope, Spread};
use super::page::page;
use super::text::text;
use crate::made::{bandwidth, folder, measured, report, samples, soft, write};
use crate::report::{BoxVerdict, Check, Report, RunStatus, Side, Verdict};

/// A nearly normal number of mean 0 and standard deviation 1: the sum of twelve uniform ones, less 6.
fn normal(random: &mut SplitMix) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "53 bits")]
    let mut uniform = || (random.next() >> 11) as f64 / (1u64 << 53) as f64;
    (0..12).map(|_| uniform()).sum::<f64>() - 6.0
}

/// A fleet of boxes with so many devices each, of 25 GB/s with this deviation; `slow` is what the first box's first device has of it.
fn fleet(boxes: usize, devices: usize, cv: f64, slow: f64, seed: u64) -> Fleet {
    let mut random = SplitMix::new(seed);
    let member = |index: usize| Member {
        path: format!("box-{index}/report.json"),
        node: format!("box-{index}"),
        is_named: true,
        started: String::new(),
        verdict: BoxVerdict::Accepted,
        reasons: vec![],
        devices: vec![],
        figures: vec![],
    };
    let mut boxes: Vec<Member> = (0..boxes).map(member).collect();
    for (index, member) in boxes.iter_mut().enumerate() {
        for device in 0..devices {
            let part = if index == 0 && device == 0 { slow } else { 1.0 };
            member.figures.push(Value {
                kind: Kind {
                    check: "h2d_pinned".to_owned(),
                    what: "copies".to_owned(),
                    unit: "GB/s".to_owned(),
                },
                about: vec![format!("GPU{device}")],
                class: Some("Gen4 x16".to_owned()),
                good: Side::AtLeast,
                value: 25.0 * part * (1.0 + cv * normal(&mut random)),
                n: 15,
            });
        }
    }
    let fingerprint = report("x", vec![]).node.fingerprint;
    let profile = ("l40x4".to_owned(), "aa".to_owned());
    Fleet {
        groups: vec![member::Group {
            profile,
            fingerprint,
            soft_box: None,
            boxes,
        }],
        ..Fleet::default()
    }
}

fn is_slow(outcome: &Outcome, node: &str, about: &str) -> bool {
    let outliers = outcome.groups.iter().flat_map(|group| &group.outliers);
    outliers
        .filter(|one| one.scope == Scope::Device)
        .any(|one| one.node == node && one.about == [about])
}

#[test]
fn one_slow_device_of_sixteen_is_found_and_good_ones_are_left_alone() {
    // Sixteen devices in boxes of 1, 2, 4 and 8; 5% slow is 5 of the floor's 1% and 16 of a deviation of 0.3%, so that it is always found.
    // At 1% it lies 5 - 3.5 = 1.5 deviations beyond the line, which is met in 93% where median and spread are exact.
    for (boxes, devices) in [(16, 1), (8, 2), (4, 4), (2, 8)] {
        let (mut at_low, mut at_high, mut false_alarms) = (0_u32, 0_u32, 0_usize);
        for seed in 0..1000 {
            at_low += u32::from(is_slow(
                &judge(&fleet(boxes, devices, 0.003, 0.95, seed), None),
                "box-0",
                "GPU0",
            ));
            at_high += u32::from(is_slow(
                &judge(&fleet(boxes, devices, 0.01, 0.95, seed), None),
                "box-0",
                "GPU0",
            ));
            for cv in [0.003, 0.01] {
                let good = judge(&fleet(boxes, devices, cv, 1.0, seed), None);
                false_alarms += good.groups[0].outliers.len();
            }
        }
        let shape = format!(
            "{boxes} boxes of {devices}: {at_low}, {at_high} of 1000, {false_alarms} of 32000"
        );
        assert_eq!(at_low, 1000, "{shape}");
        assert!(at_high >= 750, "{shape}");
        // At most one in 1,000 devices: 2 deviations, 1,000 seeds, 16 devices.
        assert!(false_alarms <= 32, "{shape}");
    }
}

#[test]
fn a_slow_box_is_one_finding_and_a_slow_device_in_it_another() {
    // Box 0 has 0.9 of what the others have, and its GPU0 0.8 of that: the box is 10% slow, the device 20% slower than its box.
    let mut planted = fleet(6, 4, 0.001, 0.8, 1);
    for value in &mut planted.groups[0].boxes[0].figures {
        value.value *= 0.9;
    }
    let outcome = judge(&planted, None);
    let outliers = &outcome.groups[0].outliers;
    let found: Vec<_> = outliers
        .iter()
        .map(|one| (one.scope, one.node.as_str(), one.about.join(" ")))
        .collect();
    assert_eq!(
        found,
        [
            (Scope::Node, "box-0", String::new()),
            (Scope::Device, "box-0", "GPU0".to_owned())
        ]
    );
    assert!(
        (outliers[0].worse_percent - 10.0).abs() < 0.5,
        "{outliers:?}"
    );
    assert!(
        (outliers[1].worse_percent - 20.0).abs() < 0.5,
        "{outliers:?}"
    );
    let against: Vec<Against> = outliers.iter().map(|one| one.against).collect();
    assert_eq!(against, [Against::Boxes, Against::OwnBox]);
    // Of 25 GB/s three of the box's four devices have 0.9, and one 0.72: the median is 22.5, of 4 times 15 samples.
    assert!((outliers[0].value - 22.5).abs() < 0.1, "{outliers:?}");
    assert!((outliers[0].median - 25.0).abs() < 0.1, "{outliers:?}");
    assert_eq!((outliers[0].places, outliers[0].n), (4, 60));
    let shown = text(&outcome);
    assert!(
        shown.contains("GB/s (median of 4 devices, n=60), 10.")
            && shown.contains("worse than the rest of its box, which is slow itself"),
        "{shown}"
    );
    assert_eq!(outcome.exit_code, 1);
}

#[test]
fn two_slow_cards_of_four_are_two_cards_and_three_are_the_box() {
    // Of 0.9, 0.9, 1 and 1 the median is 0.95, which no device has; of 0.9, 0.9, 0.9 and 1 it is 0.9. Six boxes, then three.
    for boxes in [6, 3] {
        for (slow, expected) in [(2, vec![Scope::Device; 2]), (3, vec![Scope::Node])] {
            let mut planted = fleet(boxes, 4, 0.001, 1.0, 8);
            for value in &mut planted.groups[0].boxes[1].figures[..slow] {
                value.value *= 0.9;
            }
            let outcome = judge(&planted, None);
            let scopes: Vec<Scope> = found(&outcome).iter().map(|one| one.0).collect();
            assert_eq!(scopes, expected, "{boxes} boxes, {slow} slow");
        }
    }
}

/// Pairs of the boxes of a fleet, each of 20 GB/s but those of the last box, which have this part of it.
fn with_pairs(fleet: &mut Fleet, pairs: &[(&str, &str)], part: f64) {
    let last = fleet.groups[0].boxes.len() - 1;
    for (index, member) in fleet.groups[0].boxes.iter_mut().enumerate() {
        for (pair, class) in pairs {
            member.figures.push(Value {
                kind: Kind {
                    check: "p2p".to_owned(),
                    what: "copies".to_owned(),
                    unit: "GB/s".to_owned(),
                },
                about: vec![(*pair).to_owned()],
                class: Some((*class).to_owned()),
                good: Side::AtLeast,
                value: match *class {
                    "near" if index == last => 20.0 * part,
                    _ => 20.0,
                },
                n: 15,
            });
        }
    }
}

/// The scope of each outlier, its check, and whether it follows from its box.
fn found(outcome: &Outcome) -> Vec<(Scope, &str, bool)> {
    let outliers = outcome.groups[0].outliers.iter();
    outliers
        .map(|one| (one.scope, one.check.as_str(), one.follows_box))
        .collect()
}

#[test]
fn fewer_than_four_boxes_are_never_cleared_as_a_whole() {
    // The last box has 0.92 of what the others have on everything. Of one, two and three boxes of four devices:
    for (boxes, exit_code) in [(1, 3), (2, 3), (3, 1)] {
        let mut planted = fleet(boxes, 4, 0.001, 1.0, 5);
        for value in &mut planted.groups[0].boxes[boxes - 1].figures {
            value.value *= 0.92;
        }
        let outcome = judge(&planted, None);
        let group = &outcome.groups[0];
        assert_eq!(
            (
                outcome.exit_code,
                group.boxes_alike,
                group.whole_boxes_judged
            ),
            (exit_code, boxes, false)
        );
        for shown in [text(&outcome), page(&outcome).html()] {
            assert!(
                shown.contains(&format!(
                    "boxes as a whole cannot be judged: {boxes} of at least 4; "
                )) && shown.contains("boxes as a whole were not judged: gather reports")
                    && !shown.contains("none is slower"),
                "{shown}"
            );
        }
        if boxes == 3 {
            // All four devices are slow: that is the box, once, and no card. 0.92 of the median of twelve, 25 GB/s, is 23 GB/s.
            assert_eq!(found(&outcome), [(Scope::Node, "h2d_pinned", false)]);
            let slow = &group.outliers[0];
            assert_eq!((slow.node.as_str(), slow.places), ("box-2", 4));
            assert!((slow.value - 23.0).abs() < 0.1 && (slow.median - 25.0).abs() < 0.1);
            let shown = text(&outcome);
            assert!(
                shown.contains("it is the box and not each card")
                    && shown.contains("; other boxes as a whole cannot be judged: 3 of")
                    && !shown.contains("reseat"),
                "{shown}"
            );
        } else {
            assert_eq!(group.outliers, []);
        }
    }
    // A slow device of one box is found also among the devices of two.
    let outcome = judge(&fleet(2, 4, 0.001, 0.9, 5), None);
    assert!(is_slow(&outcome, "box-0", "GPU0"));
    assert!(text(&outcome).contains("reseat the card"));
    // Four boxes are judged as a whole, and none is slow.
    let outcome = judge(&fleet(4, 4, 0.001, 1.0, 5), None);
    assert_eq!(outcome.exit_code, 0);
    assert!(text(&outcome).contains("none is slower than its like; "));
}

#[test]
fn near_pairs_that_are_all_slow_are_the_box_and_one_card_s_pairs_are_not() {
    const PAIRS: [(&str, &str); 6] = [
        ("GPU0->GPU1", "near"),
        ("GPU1->GPU0", "near"),
        ("GPU2->GPU3", "near"),
        ("GPU3->GPU2", "near"),
        ("GPU0->GPU2", "far"),
        ("GPU2->GPU0", "far"),
    ];
    for boxes in [3, 6] {
        let mut planted = fleet(boxes, 4, 0.001, 1.0, 6);
        with_pairs(&mut planted, &PAIRS, 0.94);
        let outcome = judge(&planted, None);
        assert_eq!(found(&outcome), [(Scope::Node, "p2p", false)], "{boxes}");
        let slow = &outcome.groups[0].outliers[0];
        // Four pairs of 18.8 of 20 GB/s; all others are equal, so that the spread is the floor.
        assert_eq!((slow.places, slow.of_pairs), (4, true));
        assert!((slow.worse_percent - 6.0).abs() < 1e-9, "{slow:?}");
        assert_eq!(slow.spread, Spread::Floor);
        let shown = text(&outcome);
        assert!(
            shown.contains("18.80 GB/s (median of 4 pairs, n=60), 6.0% worse than 20.00 GB/s")
                && shown.contains("(no modified z where what is alike differs by less")
                && !shown.contains("; modified z"),
            "{shown}"
        );
    }
    // All pairs of GPU1 and none beside: a card.
    let mut planted = fleet(6, 4, 0.001, 1.0, 6);
    let of_one = [
        ("GPU0->GPU1", "near"),
        ("GPU1->GPU0", "near"),
        ("GPU2->GPU3", "far"),
        ("GPU3->GPU2", "far"),
    ];
    with_pairs(&mut planted, &of_one, 0.94);
    let device = (Scope::Device, "p2p", false);
    assert_eq!(found(&judge(&planted, None)), [device, device]);
}

#[test]
fn pairs_of_a_box_that_is_slow_as_a_whole_follow_from_it_unless_they_are_worse() {
    // A box of two: both devices have 0.92, which is the box. Both its pairs hold GPU0 and GPU1, so that they alone would not say that.
    let pairs = [("GPU0->GPU1", "near"), ("GPU1->GPU0", "near")];
    for (part, follows) in [(0.93, true), (0.8, false)] {
        let mut planted = fleet(6, 2, 0.001, 1.0, 7);
        with_pairs(&mut planted, &pairs, part);
        for value in &mut planted.groups[0].boxes[5].figures[..2] {
            value.value *= 0.92;
        }
        let outcome = judge(&planted, None);
        let pair = (Scope::Device, "p2p", follows);
        assert_eq!(
            found(&outcome),
            [(Scope::Node, "h2d_pinned", false), pair, pair]
        );
        for shown in [text(&outcome), page(&outcome).html()] {
            assert_eq!(shown.contains("follows from the whole box"), follows);
            assert_eq!(shown.contains("reseat the card"), !follows);
        }
        let named = text(&outcome).contains("in a device or pair");
        assert_eq!((named, outcome.exit_code), (!follows, 1));
    }
}

#[test]
fn a_topology_is_told_by_its_beginning_and_boxes_in_the_order_of_their_folders() {
    let folder = folder("fleet-order");
    // The names are in another order than the folders.
    for (index, name) in ["d", "c", "b", "a"].into_iter().enumerate() {
        let mut one = report(name, good(25.0));
        one.node.fingerprint.topology = Some("0123456789abcdef".to_owned());
        write(&folder, &format!("n{index}"), &one);
    }
    let fleet = gather(&find(std::slice::from_ref(&folder)).unwrap()).unwrap();
    let nodes: Vec<&str> = fleet.groups[0]
        .boxes
        .iter()
        .map(|one| one.node.as_str())
        .collect();
    assert_eq!(nodes, ["d", "c", "b", "a"]);
    let outcome = judge(&fleet, None);
    // Boxes in the picture bear the names of their folders.
    let page = page(&outcome).html();
    let at = |name: &str| page.find(&format!(">{name}<")).unwrap();
    assert!(at("n0") < at("n1") && at("n2") < at("n3"));
    let shown = text(&outcome);
    assert!(
        shown.contains("topology 0123456789ab\n") && !shown.contains("abc"),
        "{shown}"
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_slot_that_is_slower_in_every_box_makes_no_device_an_outlier() {
    // GPU3 has 0.8 of the others in all boxes: its like are the GPU3 of the other boxes.
    let mut planted = fleet(8, 4, 0.003, 1.0, 2);
    for member in &mut planted.groups[0].boxes {
        member.figures[3].value *= 0.8;
    }
    assert_eq!(judge(&planted, None).groups[0].outliers, []);
    planted.groups[0].boxes[5].figures[3].value *= 0.9;
    let outcome = judge(&planted, None);
    assert!(is_slow(&outcome, "box-5", "GPU3"));
    assert_eq!(outcome.groups[0].outliers.len(), 1);
}

#[test]
fn fewer_than_four_alike_are_not_judged_and_that_is_no_pass() {
    let outcome = judge(&fleet(3, 1, 0.003, 0.5, 3), None);
    assert_eq!(
        (outcome.groups[0].figures[0].judged, outcome.exit_code),
        (0, 3)
    );
    assert!(text(&outcome).contains("fewer than 4 alike"));
    // Two boxes of two of one class are four; of two classes they are not.
    assert_eq!(
        judge(&fleet(2, 2, 0.003, 1.0, 3), None).groups[0].figures[0].judged,
        4
    );
    let mut apart = fleet(2, 2, 0.003, 1.0, 3);
    for member in &mut apart.groups[0].boxes {
        member.figures[1].class = Some("Gen4 x8".to_owned());
    }
    assert_eq!(judge(&apart, None).groups[0].figures[0].judged, 0);
}

#[test]
fn a_time_is_slow_where_it_is_long() {
    let mut planted = fleet(8, 1, 0.003, 1.0, 4);
    for member in &mut planted.groups[0].boxes {
        member.figures[0].good = Side::AtMost;
    }
    planted.groups[0].boxes[2].figures[0].value *= 1.2;
    planted.groups[0].boxes[3].figures[0].value *= 0.8;
    let outcome = judge(&planted, None);
    assert!(is_slow(&outcome, "box-2", "GPU0"));
    assert_eq!(outcome.groups[0].outliers.len(), 1);
}

fn good(median: f64) -> Vec<Check> {
    vec![
        bandwidth("h2d_pinned", "GPU0", median),
        bandwidth("p2p", "GPU0->GPU1", 20.0),
    ]
}

/// Six good boxes in a folder, each in a folder of its own.
fn boxes(name: &str) -> PathBuf {
    let folder = folder(name);
    for index in 0..6 {
        write(
            &folder,
            &format!("n{index}"),
            &report(&format!("n{index}"), good(25.0)),
        );
    }
    folder
}

fn judged(folder: &PathBuf) -> Outcome {
    judge(
        &gather(&find(std::slice::from_ref(folder)).unwrap()).unwrap(),
        None,
    )
}

#[test]
fn a_slow_device_is_named_with_box_slot_and_identity_in_every_form() {
    let folder = boxes("fleet-forms");
    write(
        &folder,
        "slow",
        &report(
            "slow",
            vec![
                bandwidth("h2d_pinned", "GPU0", 25.0),
                bandwidth("p2p", "GPU0->GPU1", 18.0),
            ],
        ),
    );
    let outcome = judged(&folder);
    let outlier = &outcome.groups[0].outliers[0];
    // 18 of 20 is 10% worse; no spread, so 1% of it: z -10.
    assert!(
        (outlier.worse_percent - 10.0).abs() < 1e-9 && (outlier.z + 10.0).abs() < 1e-9,
        "{outlier:?}"
    );
    assert_eq!(
        (outlier.alike, outlier.devices.len(), outcome.exit_code),
        (7, 2, 1)
    );
    let page = page(&outcome).html();
    for shown in [text(&outcome), page] {
        for told in ["slow", "0000:11:00.0", "GPU-slow-1", "18.00 GB/s", "7 "] {
            assert!(shown.contains(told), "{told} in {shown}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn boxes_that_were_not_accepted_come_first_with_their_reasons() {
    let folder = boxes("fleet-refused");
    write(
        &folder,
        "bad",
        &report(
            "bad",
            vec![measured(
                "h2d_pinned",
                "GPU0",
                Verdict::Fail,
                "GB/s",
                samples(24.9),
            )],
        ),
    );
    let mut broken = report("torn", good(25.0));
    broken.status = RunStatus::Broken;
    broken.verdict = BoxVerdict::Inconclusive;
    broken.exit_code = measure::exit::INCONCLUSIVE;
    write(&folder, "torn", &broken);
    let outcome = judged(&folder);
    let refused: Vec<_> = outcome.groups[0]
        .not_accepted
        .iter()
        .map(|one| (one.node.as_str(), one.verdict))
        .collect();
    assert_eq!(
        refused,
        [
            ("bad", BoxVerdict::Rejected),
            ("torn", BoxVerdict::Inconclusive)
        ]
    );
    assert_eq!(outcome.exit_code, 1);
    let shown = text(&outcome);
    assert!(
        shown.contains("REJECTED bad") && shown.contains("h2d_pinned GPU0: below_floor"),
        "{shown}"
    );
    // Without the rejected one an undecided box is left: that is no pass either.
    std::fs::remove_dir_all(folder.join("bad")).unwrap();
    assert_eq!(judged(&folder).exit_code, 3);
    std::fs::remove_dir_all(folder.join("torn")).unwrap();
    assert_eq!(judged(&folder).exit_code, 0);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn other_profiles_and_drivers_are_groups_of_their_own() {
    let folder = boxes("fleet-groups");
    let mut other: Report = report("other", good(12.0));
    other.node.fingerprint.driver = Some("580.10".to_owned());
    write(&folder, "other", &other);
    let outcome = judged(&folder);
    assert_eq!(
        outcome
            .groups
            .iter()
            .map(|group| group.boxes)
            .collect::<Vec<_>>(),
        [6, 1]
    );
    // Half as fast, and nothing that it is held against: that is no pass.
    assert_eq!(outcome.exit_code, 3);
    assert!(
        text(&outcome)
            .contains("boxes as a whole cannot be judged in 1 of 2 groups: fewer than 4 alike; ")
    );
    assert!(text(&outcome).contains("2 groups that are not compared"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn simulated_and_real_boxes_never_stand_together() {
    let folder = boxes("fleet-mixed");
    write(&folder, "soft", &soft(report("soft", good(25.0)), "l40x4"));
    let refused = gather(&find(std::slice::from_ref(&folder)).unwrap()).unwrap_err();
    assert!(
        refused.contains("soft/report.json is of a soft box"),
        "{refused}"
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_later_run_of_a_box_takes_the_place_of_an_earlier_one() {
    let folder = boxes("fleet-later");
    let mut later = report("n3", good(25.1));
    later.started = "2026-11-21T08:00:00Z".to_owned();
    write(&folder, "n3-again", &later);
    let outcome = judged(&folder);
    assert_eq!((outcome.reports, outcome.groups[0].boxes), (7, 6));
    assert!(
        outcome.superseded[0].ends_with("n3/report.json"),
        "{:?}",
        outcome.superseded
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn boxes_that_nothing_identifies_stay_apart_and_a_copy_is_the_same_run() {
    let folder = boxes("fleet-nameless");
    for name in ["a", "b"] {
        let mut nameless = report("node-withheld", good(25.0));
        for device in &mut nameless.devices {
            device.identity = None;
        }
        nameless.started = format!("2026-11-21T08:00:0{}Z", name.len());
        // Figures of their own, so that they are no copies.
        let checks = if name == "a" { good(25.0) } else { good(25.1) };
        nameless.checks = checks;
        write(&folder, name, &nameless);
    }
    write(&folder, "n3-copy", &report("n3", good(25.0)));
    let outcome = judged(&folder);
    // Six boxes, and two without a name.
    let boxes: usize = outcome.groups.iter().map(|group| group.boxes).sum();
    assert_eq!(boxes, 8, "{:?}", outcome.superseded);
    assert!(outcome.superseded.is_empty());
    assert_eq!(outcome.copies.len(), 1, "{:?}", outcome.copies);
    assert!(text(&outcome).contains("left out, as it is the same run: "));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn hostile_and_broken_files_are_counted_and_harm_nothing() {
    let folder = boxes("fleet-hostile");
    let whole = std::fs::read(folder.join("n0/report.json")).unwrap();
    let file = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
    file("torn.json", &whole[..whole.len() / 2]);
    file("empty.json", b"");
    file("zeros.json", &[0; 4096]);
    let mut deep = b"{\"schema\":1,\"program\":\"accept\",\"x\":".to_vec();
    deep.extend(vec![b'['; 1_000_000]);
    file("deep.json", &deep);
    file(
        "huge-number.json",
        &String::from_utf8(whole.clone())
            .unwrap()
            .replacen("25.0", "1e999", 1)
            .into_bytes(),
    );
    std::fs::create_dir(folder.join("named.json")).unwrap();
    std::os::unix::fs::symlink(&folder, folder.join("round")).unwrap();
    std::os::unix::fs::symlink(folder.join("n0"), folder.join("again.json")).unwrap();
    // A record of another program, and JSON that has nothing to do with us.
    file("record.json", b"{\"schema\": 3, \"program\": \"p2p-bw\"}");
    file("settings.json", b"{\"a\": 1}");
    let mut named = report(
        "x\u{1b}[2J\n<script>alert(1)</script>",
        vec![bandwidth("h2d_pinned", "<b>GPU0</b>\u{202e}", 10.0)],
    );
    named.devices[0].identity = Some("</style><script>".to_owned());
    write(&folder, "hostile", &named);
    let outcome = judged(&folder);
    let unreadable: Vec<&str> = outcome
        .unreadable
        .iter()
        .filter_map(|file| file.path.rsplit('/').next())
        .collect();
    assert_eq!(
        unreadable,
        [
            "deep.json",
            "empty.json",
            "huge-number.json",
            "torn.json",
            "zeros.json"
        ]
    );
    assert_eq!(
        (
            outcome.passed_over,
            outcome.groups[0].boxes,
            outcome.exit_code
        ),
        (2, 7, 3)
    );
    let (shown, page) = (text(&outcome), page(&outcome).html());
    for unseen in ['\u{1b}', '\u{202e}'] {
        assert!(!shown.contains(unseen) && !page.contains(unseen));
    }
    assert!(!page.contains("<script") && !page.contains("<b>GPU0"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn runs_below_the_folder_of_a_run_are_found_and_what_lies_too_deep_is_named() {
    let folder = boxes("fleet-nested");
    write(&folder.join("n0/later"), "n9", &report("n9", good(25.1)));
    // What a run itself keeps in its folder is none, and neither are forms of its report.
    std::fs::create_dir_all(folder.join("n0/groups/host-links-1")).unwrap();
    std::fs::write(folder.join("n0/groups/host-links-1/journal.jsonl"), "{}").unwrap();
    std::fs::copy(folder.join("n0/report.json"), folder.join("n0/form.json")).unwrap();
    // a, b and c are three levels; d is the fourth.
    write(&folder.join("a/b"), "c", &report("n7", good(25.2)));
    write(&folder.join("a/b/c"), "d", &report("n8", good(25.3)));
    let outcome = judged(&folder);
    // Six, n9 and n7.
    assert_eq!((outcome.reports, outcome.groups[0].boxes), (8, 8));
    assert!(outcome.unreadable.is_empty(), "{:?}", outcome.unreadable);
    assert_eq!((outcome.not_searched.len(), outcome.exit_code), (1, 3));
    let shown = text(&outcome);
    assert!(
        shown.contains("more than 3 levels below what was named: 1 folder, the first of them")
            && shown.contains("a/b/c/d; name them")
            && shown.contains("no journal beside 8 of 8 reports"),
        "{shown}"
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_run_that_looked_at_no_device_is_of_no_box_and_no_real_hardware() {
    let folder = folder("fleet-empty");
    for index in 0..4 {
        let name = format!("n{index}");
        write(&folder, &name, &soft(report(&name, good(25.0)), "l40x4"));
    }
    let mut empty = report("n0", vec![]);
    empty.devices.clear();
    empty.status = RunStatus::Failed {
        reason: "no driver among libcuda.so.1".to_owned(),
    };
    write(&folder, "empty", &empty);
    let outcome = judged(&folder);
    let boxes: usize = outcome.groups.iter().map(|group| group.boxes).sum();
    assert_eq!(
        (
            outcome.reports,
            boxes,
            outcome.without_devices.len(),
            outcome.exit_code
        ),
        (5, 4, 1, 3)
    );
    let shown = text(&outcome);
    assert!(
        shown.contains("empty/report.json: no driver among libcuda.so.1")
            && shown.contains(", 1 run without a device,")
            && shown.contains("runs without a device: mend what each names"),
        "{shown}"
    );
    let page = page(&outcome).html();
    for told in [
        "What to do",
        "box to box: 1.4826",
        "bandwidth as a part of the median of its like (%)",
    ] {
        assert!(page.contains(told), "{told} in {page}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_rejected_box_without_devices_is_rejected_and_one_box_six_times_is_one() {
    let folder = folder("fleet-bare");
    let slow = |kind: &str| measured(kind, "GPU0->GPU1", Verdict::Fail, "GB/s", samples(4.0));
    let mut bare = report("n0", vec![slow("p2p")]);
    bare.devices.clear();
    write(&folder, "bare", &bare);
    let outcome = judged(&folder);
    assert_eq!((outcome.without_devices.len(), outcome.exit_code), (0, 1));
    std::fs::remove_dir_all(folder.join("bare")).unwrap();
    // The same UUIDs six times, begun at six times: five are left out.
    for hour in 0..6 {
        let mut again = report("n1", good(25.0 + f64::from(hour)));
        again.started = format!("2026-11-20T0{hour}:00:00Z");
        write(&folder, &format!("run-{hour}"), &again);
    }
    let found = gather(&find(std::slice::from_ref(&folder)).unwrap()).unwrap();
    let shown = text(&judge(&found, Some(6)));
    assert!(
        shown.contains("fewer boxes than reports: those that are left out are of a box that another report is of")
            && !shown.contains("wrote no report"),
        "{shown}"
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_box_is_named_with_the_folder_of_its_report_once() {
    for (node, report, shown) in [
        ("node-1f3a", "f/n6/report.json", "node-1f3a (f/n6)"),
        ("n6", "f/n6/report.json", "n6"),
        (
            "node-withheld (n6)",
            "f/n6/report.json",
            "node-withheld (n6)",
        ),
        ("node-1f3a", "report.json", "node-1f3a"),
    ] {
        assert_eq!(super::text::place(node, report), shown);
    }
}

#[test]
fn a_folder_without_reports_is_a_wrong_command_line() {
    let folder = folder("fleet-none");
    let find_in = |folder: &PathBuf| find(std::slice::from_ref(folder));
    assert!(find_in(&folder).unwrap_err().contains("no report.json"));
    assert!(
        find_in(&folder.join("none"))
            .unwrap_err()
            .contains("cannot read")
    );
    std::fs::write(folder.join("settings.json"), "{}").unwrap();
    assert!(
        gather(&find_in(&folder).unwrap())
            .unwrap_err()
            .contains("no file is a report")
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn reports_with_any_byte_changed_are_read_or_counted() {
    let folder = folder("fleet-mutated");
    let whole = serde_json::to_vec(&report("n0", good(25.0))).unwrap();
    let mut random = SplitMix::new(11);
    for index in 0..300 {
        let mut bytes = whole.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len());
            match random.below(3) {
                0 => bytes[at] = b"\"{}[]:,0e-9\\x\0\xff"[random.below(15)],
                1 => drop(bytes.drain(at..(at + random.below(20)).min(bytes.len()))),
                _ => bytes.insert(at, bytes[random.below(bytes.len())]),
            }
        }
        let run = folder.join(format!("n{index}"));
        std::fs::create_dir_all(&run).unwrap();
        std::fs::write(run.join("report.json"), bytes).unwrap();
    }
    let outcome = judged(&folder);
    // Each file is one of the two; both forms can be made of them.
    assert_eq!(outcome.reports + outcome.unreadable.len(), 300);
    assert!(!outcome.unreadable.is_empty());
    assert!(!text(&outcome).is_empty() && page(&outcome).html().ends_with("</html>\n"));
    std::fs::remove_dir_all(&folder).unwrap();
}
