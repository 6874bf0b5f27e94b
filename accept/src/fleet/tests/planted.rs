//! Fleets planted in numbers by the seed: which devices and boxes are called slow.
//!
//! No file is read here.

use measure::stats::SplitMix;

use crate::fleet::gather::Fleet;
use crate::fleet::judge::judge;
use crate::fleet::member::{self, Kind, Member, Value};
use crate::fleet::outcome::{Against, Outcome, Scope, Spread};
use crate::fleet::page::page;
use crate::fleet::text::text;
use crate::made::report;
use crate::report::{BoxVerdict, Side};

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
