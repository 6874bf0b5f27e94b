//! `p2p-bw compare` of boxes that changed: peer access, links, addresses, paths; and what is not judged.

use boxfile::{BoxFile, Fault};
use serde_json::{Value, json};

use super::common::{Scratch, two_gpus, with};
use super::compare::{compare, kept_run, record_of};

/// A copy from the host, and between the two devices by copy engine and by kernel.
const CASES: [&str; 2] = ["--cases", "h2d_pinned_ce,d2d_write_ce,d2d_write_sm"];

/// A run on two GPUs with direct access, and one after something changed.
fn before_and_after(scratch: &Scratch, after: &BoxFile, more: &[&str]) {
    kept_run(scratch, &two_gpus(), "a", &CASES);
    kept_run(scratch, after, "b", &[&CASES, more].concat());
}

fn write(scratch: &Scratch, name: &str, record: &Value) {
    std::fs::write(scratch.join(name), record.to_string()).unwrap();
}

/// A file in nvbandwidth's form, with devices at these addresses and these entries.
fn theirs(scratch: &Scratch, name: &str, addresses: &[&str], tests: &str) {
    let devices: Vec<String> = addresses
        .iter()
        .enumerate()
        .map(|(number, address)| format!("\"{number}: X (00000000:{address}:00): (h)\""))
        .collect();
    let devices = devices.join(", ");
    let text = format!(
        "{{\"nvbandwidth\": {{\"GPU Device list\": [{devices}], \"testcases\": [{tests}]}}}}"
    );
    std::fs::write(scratch.join(name), text).unwrap();
}

fn passed(test: &str, matrix: &str) -> String {
    format!(
        "{{\"name\": \"{test}\", \"status\": \"Passed\", \"bandwidth_description\": \"x (GB/s)\", \
         \"bandwidth_matrix\": {matrix}}}"
    )
}

#[test]
fn peer_access_that_was_left_off_leaves_a_part_of_a_uncompared() {
    let scratch = Scratch::new();
    before_and_after(&scratch, &two_gpus(), &["--no-peer"]);
    let ran = compare(&scratch, &["a", "b"]);
    assert_eq!(ran.code, 3, "{}", ran.stdout);
    for said in [
        "  peer access of GPU0 and GPU1 was direct in A and is switched off in B\n",
        // Two directions by copy engine and two by kernel.
        "  4 numbers of A were not tried in B: a part of A is not compared\n",
        "NOT COMPARED: measured in A, not tried in B:\n  not applicable: peer access is switched off by --no-peer:\n    \
         d2d_write_ce (2), d2d_write_sm (2)\n",
        "2 numbers compared: 0 regressions, 0 lost, 0 faster, 2 the same, 4 of A not tried in B; threshold 5%; intervals \
         cover one run each, not what differs from run to run\n",
    ] {
        assert!(ran.stdout.contains(said), "no `{said}` in {}", ran.stdout);
    }
    // The other way round nothing of A is missing.
    assert_eq!(compare(&scratch, &["b", "a"]).code, 0);
}

#[test]
fn what_goes_with_peer_access_is_lost() {
    let scratch = Scratch::new();
    before_and_after(&scratch, &with(Fault::PeerDenied { pair: [0, 1] }), &[]);
    let ran = compare(&scratch, &["a", "b"]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    for said in [
        // One direction only.
        "  peer access of GPU0 to GPU1 was direct in A and is denied in B\n",
        "LOST: measured in A, gone in B:\n  in B not applicable: peer access is denied",
        "    d2d_write_ce GPU0 to GPU1, 64 KiB: ",
        // From the host to both, and from GPU1 to GPU0 by both engines.
        "4 numbers compared: 0 regressions, 2 lost, 0 faster, 4 the same",
        ", peer access worse in 1 direction; threshold 5%",
    ] {
        assert!(ran.stdout.contains(said), "no `{said}` in {}", ran.stdout);
    }
    let better = compare(&scratch, &["b", "a"]);
    assert_eq!(better.code, 0, "{}", better.stdout);
    assert!(
        better
            .stdout
            .contains("was denied in A and is direct in B\n")
    );
}

#[test]
fn a_path_that_became_staged_is_worse_and_named_beside_what_it_slows() {
    let scratch = Scratch::new();
    kept_run(&scratch, &two_gpus(), "a", &CASES);
    let mut record = record_of(&scratch, "a");
    let links = &mut record["payload"]["links"];
    for probe in links["probes"].as_array_mut().unwrap() {
        probe["verdict"] = "staged".into();
    }
    for point in links["points"].as_array_mut().unwrap() {
        if point["case"] == "d2d_write_sm" {
            point["outcome"] = json!({"is": "not_applicable", "reason": "peer access is staged"});
        } else if point["case"] == "d2d_write_ce" {
            // A hundredth of what it was.
            let quantity = &mut point["outcome"]["quantities"][0]["quantity"];
            quantity["value"] = (quantity["value"].as_f64().unwrap() / 100.0).into();
            for sample in quantity["samples"].as_array_mut().unwrap() {
                *sample = (sample.as_f64().unwrap() / 100.0).into();
            }
        }
    }
    write(&scratch, "b.json", &record);
    let ran = compare(&scratch, &["a", "b.json"]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    assert!(
        ran.stdout
            .contains("peer access of GPU0 and GPU1 was direct in A and is staged in B\n")
    );
    let slow = "REGRESSION (changed: peer access of GPU0 and GPU1)";
    assert_eq!(ran.stdout.matches(slow).count(), 2, "{}", ran.stdout);
    assert!(ran.stdout.contains("2 regressions, 2 lost"));
}

#[test]
fn a_test_of_nvbandwidth_that_is_waived_or_has_no_cell_any_more_is_lost() {
    let scratch = Scratch::new();
    let addresses = ["21", "61"];
    let write_test = "device_to_device_memcpy_write_ce";
    let whole = [
        passed("device_local_copy", "[[\"300\", \"300\"]]"),
        passed(write_test, "[[\"N/A\", \"20\"], [\"20\", \"N/A\"]]"),
    ];
    theirs(&scratch, "a.json", &addresses, &whole.join(", "));
    let waived = format!("{{\"name\": \"{write_test}\", \"status\": \"Waived\"}}");
    let absent = passed(write_test, "[[\"N/A\", \"N/A\"], [\"20\", \"N/A\"]]");
    // Both numbers of the test are gone, or the one of its first row.
    for (test, lost) in [(waived, 2), (absent, 1)] {
        let tests = [whole[0].clone(), test];
        theirs(&scratch, "b.json", &addresses, &tests.join(", "));
        let ran = compare(&scratch, &["a.json", "b.json"]);
        assert_eq!(ran.code, 1, "{}", ran.stdout);
        assert!(
            ran.stdout.contains(&format!("0 regressions, {lost} lost")),
            "{}",
            ran.stdout
        );
    }
}

#[test]
fn what_this_machine_took_beside_a_soft_box_is_not_judged() {
    let scratch = Scratch::new();
    kept_run(
        &scratch,
        &two_gpus(),
        "a",
        &["--cases", "small_copy_h2d_ce"],
    );
    let mut record = record_of(&scratch, "a");
    for point in record["payload"]["links"]["points"].as_array_mut().unwrap() {
        for named in point["outcome"]["quantities"].as_array_mut().unwrap() {
            if named["name"] == "issue" {
                // Ten times as long.
                let quantity = &mut named["quantity"];
                quantity["value"] = (quantity["value"].as_f64().unwrap() * 10.0).into();
                for sample in quantity["samples"].as_array_mut().unwrap() {
                    *sample = (sample.as_f64().unwrap() * 10.0).into();
                }
            }
        }
    }
    write(&scratch, "b.json", &record);
    let ran = compare(&scratch, &["a", "b.json"]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    let rows: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|line| line.contains("GPU0, issue"))
        .collect();
    assert!(rows[0].ends_with("not judged"), "{rows:?}");
    // The pace of both devices is judged.
    assert!(
        ran.stdout.contains(
            "2 numbers compared: 0 regressions, 0 lost, 0 faster, 2 the same, 2 not judged"
        )
    );
}

#[test]
fn a_link_that_was_read_idle_only_is_not_said_to_have_changed() {
    let scratch = Scratch::new();
    kept_run(&scratch, &two_gpus(), "a", &CASES);
    let mut record = record_of(&scratch, "a");
    let devices = record["payload"]["links"]["devices"]
        .as_array_mut()
        .unwrap();
    // An idle link saves power.
    for device in devices.iter_mut() {
        for side in ["device", "slot", "card"] {
            device["idle"][side] = json!({"generation": 1, "width": 16});
            device["loaded"][side] = json!({"generation": 3, "width": 16});
        }
    }
    write(&scratch, "loaded.json", &record);
    let changed = compare(&scratch, &["a", "loaded.json"]);
    assert!(
        changed
            .stdout
            .contains("GPU1 has Gen4 x16 under load in A, Gen3 x16 in B: the link itself changed"),
        "{}",
        changed.stdout
    );
    let devices = record["payload"]["links"]["devices"]
        .as_array_mut()
        .unwrap();
    for device in devices {
        device["loaded"] = Value::Null;
    }
    write(&scratch, "idle.json", &record);
    let unknown = compare(&scratch, &["a", "idle.json"]);
    assert!(!unknown.stdout.contains("under load"), "{}", unknown.stdout);
    assert_eq!(unknown.code, 0);
}

#[test]
fn a_link_that_fell_under_load_stands_beside_what_it_slows() {
    let scratch = Scratch::new();
    let cases = ["--cases", "h2d_pinned_ce"];
    kept_run(&scratch, &two_gpus(), "a", &cases);
    let narrowed = with(Fault::Retrain {
        device: 1,
        after_copies: 0,
        generation: 4,
        width: 4,
    });
    kept_run(&scratch, &narrowed, "b", &cases);
    let ran = compare(&scratch, &["a", "b"]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    let changed = ran.stdout.lines().find(|line| line.contains("under load"));
    assert!(
        changed.is_some_and(|line| line.starts_with("  GPU1 has Gen4 x16 under load in A, Gen4 x")),
        "{}",
        ran.stdout
    );
    // A quarter of the lanes; GPU0 keeps its own.
    let slow = "REGRESSION (changed: link of GPU1)";
    assert_eq!(ran.stdout.matches(slow).count(), 1, "{}", ran.stdout);
    assert!(ran.stdout.contains("1 regression,"), "{}", ran.stdout);
}

#[test]
fn a_run_that_broke_off_leaves_the_rest_of_a_uncompared() {
    let scratch = Scratch::new();
    kept_run(&scratch, &two_gpus(), "a", &CASES);
    let journal = std::fs::read_to_string(scratch.join("a/journal.jsonl")).unwrap();
    let points = journal.match_indices("{\"links\":{\"event\":{\"point\"");
    // Two of the six points: those of the host.
    let (end, _) = points.clone().nth(2).unwrap();
    assert_eq!(points.count(), 6);
    std::fs::write(scratch.join("cut.jsonl"), &journal[..end]).unwrap();
    let ran = compare(&scratch, &["a", "cut.jsonl"]);
    assert_eq!(ran.code, 3, "{}", ran.stdout);
    assert!(
        ran.stdout.contains("2 the same, 4 of A not tried in B"),
        "{}",
        ran.stdout
    );
}

#[test]
fn another_path_class_is_a_reservation() {
    let scratch = Scratch::new();
    kept_run(&scratch, &two_gpus(), "a", &CASES);
    let mut record = record_of(&scratch, "a");
    record["payload"]["links"]["paths"][0]["path"] = "PHB".into();
    write(&scratch, "b.json", &record);
    let ran = compare(&scratch, &["a", "b.json"]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    assert!(
        ran.stdout
            .contains("  the path of GPU0 and GPU1 is NODE in A, PHB in B\n"),
        "{}",
        ran.stdout
    );
}

#[test]
fn devices_are_told_by_their_addresses() {
    let scratch = Scratch::new();
    let local = |cells: &str| passed("device_local_copy", cells);
    let a = local("[[\"300\", \"200\"]]");
    theirs(&scratch, "a.json", &["21", "61"], &a);
    // The same cards in the other order, and the same numbers of each.
    let b = local("[[\"200\", \"300\"]]");
    theirs(&scratch, "b.json", &["61", "21"], &b);
    let ran = compare(&scratch, &["a.json", "b.json"]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    assert!(ran.stdout.contains("devices have other numbers in B"));
    assert!(ran.stdout.contains("2 the same"), "{}", ran.stdout);
}

#[test]
fn a_device_at_another_address_is_told_by_its_number_and_named() {
    let scratch = Scratch::new();
    let local = passed("device_local_copy", "[[\"300\", \"200\"]]");
    theirs(&scratch, "a.json", &["21", "61"], &local);
    theirs(&scratch, "b.json", &["21", "81"], &local);
    let ran = compare(&scratch, &["a.json", "b.json"]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    let said = "  told by their numbers alone, since their addresses differ: GPU1 (0000:61:00.0 in A, 0000:81:00.0 in B)\n";
    assert!(ran.stdout.contains(said), "{}", ran.stdout);
    assert!(ran.stdout.contains("2 the same"), "{}", ran.stdout);
    // A's second card is B's first one; B's second one is none of A's, and A's first one none of B's.
    let moved = passed("device_local_copy", "[[\"200\", \"200\"]]");
    theirs(&scratch, "c.json", &["61", "81"], &moved);
    let ran = compare(&scratch, &["a.json", "c.json"]);
    for said in [
        "  in one of the files only, and not compared: GPU1 of B (0000:81:00.0), GPU0 of A (0000:21:00.0)\n",
        "Only in A:\n  local_ce GPU0\n",
        "Only in B:\n  local_ce B's GPU1\n",
        "1 number compared: 0 regressions, 0 lost, 0 faster, 1 the same",
    ] {
        assert!(ran.stdout.contains(said), "no `{said}` in {}", ran.stdout);
    }
}

#[test]
fn several_devices_at_once_are_compared_with_the_same_devices_only() {
    let scratch = Scratch::new();
    let described = BoxFile::builtin("l40x4").unwrap();
    let cases = ["--cases", "h2d_pinned_ce,all_pairs_ce"];
    kept_run(
        &scratch,
        &described,
        "a",
        &[&cases[..], &["--gpus", "0,1"]].concat(),
    );
    kept_run(
        &scratch,
        &described,
        "b",
        &[&cases[..], &["--gpus", "0,2"]].concat(),
    );
    let ran = compare(&scratch, &["a", "b"]);
    // The total of GPU0 and GPU1 against that of GPU0 and GPU2; their streams have other names.
    let said = "not judged, as it is GPU0, GPU1 in A and GPU0, B's GPU2 in B: 1 number of several devices at once";
    assert!(ran.stdout.contains(said), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("1 numbers compared") || ran.stdout.contains("1 number compared"),
        "{}",
        ran.stdout
    );
}
