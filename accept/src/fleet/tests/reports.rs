//! Fleets of reports in folders: what is read, what is told of it in each form, and what broken and hostile files do.
//!
//! Whether good fleets are left alone is asked of numbers, not here.

use std::path::PathBuf;

use measure::stats::SplitMix;

use crate::fleet::find::find;
use crate::fleet::gather::gather;
use crate::fleet::judge::judge;
use crate::fleet::outcome::Outcome;
use crate::fleet::page::page;
use crate::fleet::text::text;
use crate::made::{bandwidth, folder, measured, report, samples, soft, write};
use crate::report::{BoxVerdict, Check, Report, RunStatus, Verdict};

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
        assert_eq!(crate::fleet::text::place(node, report), shown);
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
