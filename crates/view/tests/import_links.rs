//! Links of other tools and of ours: every fixture is taken.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::Path;

use import::links::{LinkFile, LinkValue, TroubleKind, of_text, read};
use record::Endpoint::{self, All, Device, Host};
use record::quantity::Unit;
use record::{Record, Status};

fn text_of(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/fixtures");
    std::fs::read_to_string(path.join(name)).unwrap()
}

fn file(name: &str) -> LinkFile {
    of_text(&text_of(name), name).unwrap()
}

fn refusal(text: &str) -> String {
    of_text(text, "f").unwrap_err().to_string()
}

fn details(file: &LinkFile) -> Vec<&str> {
    let troubles = file.troubles.iter();
    troubles.map(|trouble| trouble.detail.as_str()).collect()
}

/// A value by test, ends and name.
fn value<'a>(
    file: &'a LinkFile,
    test: &str,
    from: Endpoint,
    to: Endpoint,
    name: &str,
) -> Option<&'a LinkValue> {
    file.values.iter().find(|value| {
        let ends = &value.ends;
        (ends.test.as_str(), ends.from, ends.to, ends.name.as_str()) == (test, from, to, name)
    })
}

fn number(file: &LinkFile, test: &str, from: Endpoint, to: Endpoint, name: &str) -> Option<f64> {
    value(file, test, from, to, name).map(|value| value.value)
}

#[test]
fn json_of_nvbandwidth_is_taken_by_the_name_of_its_tests() {
    let file = file("links/nvbandwidth-0.8.json");
    let number = |test, from, to, name| number(&file, test, from, to, name);
    assert_eq!(
        (
            file.made_by.as_str(),
            file.driver.as_deref(),
            file.interface.as_deref()
        ),
        ("nvbandwidth v0.8", Some("570.133.07"), Some("CUDA 12.8"))
    );
    assert_eq!(
        (
            file.devices[1].ordinal,
            file.devices[1].name.as_str(),
            file.host.as_deref()
        ),
        (1, "NVIDIA L40", Some("host1"))
    );
    assert_eq!(
        number("h2d_pinned_ce", Host, Device(0), "bandwidth"),
        Some(26.3457)
    );
    // Row 0, column 1 of a read is 22.1235: device 0 fetches from 1.
    assert_eq!(
        number("d2d_read_ce", Device(1), Device(0), "bandwidth"),
        Some(22.1235)
    );
    assert_eq!(
        number("d2d_read_ce", Device(0), Device(1), "bandwidth"),
        Some(22.2)
    );
    // Six rows of two columns: rows 0 and 1 are Read1, 2 and 3 Read2, 4 and 5 Total.
    let both = "d2d_bidir_read_ce";
    assert_eq!(number(both, Device(0), Device(1), "back"), Some(20.0));
    assert_eq!(number(both, Device(0), Device(1), "forward"), Some(21.0));
    assert_eq!(number(both, Device(0), Device(1), "sum"), Some(41.0));
    // 2 + 2 + 3 * 2 cells have a number; nothing is said about size, samples and interval.
    assert_eq!(file.values.len(), 10);
    assert!(
        file.values
            .iter()
            .all(|v| (v.bytes, v.n, v.interval) == (None, None, None))
    );
    assert_eq!(details(&file), ["all_to_one_write_ce: Waived"]);
}

#[test]
fn text_of_nvbandwidth_is_taken_with_its_latencies() {
    let file = file("links/nvbandwidth-0.8.txt");
    let number = |test, from, to, name| number(&file, test, from, to, name);
    assert_eq!(
        number("h2d_pinned_ce", Host, Device(1), "bandwidth"),
        Some(26.3)
    );
    assert_eq!(
        number("d2d_read_ce", Device(1), Device(0), "bandwidth"),
        Some(22.12)
    );
    // A write of row 0, column 1 goes from 0 to 1; its diagonal of 0.00 is absent.
    assert_eq!(
        number("d2d_write_ce", Device(0), Device(1), "bandwidth"),
        Some(21.5)
    );
    assert_eq!(
        number("d2d_write_ce", Device(0), Device(0), "bandwidth"),
        None
    );
    assert_eq!(
        number("d2d_bidir_write_ce", Device(1), Device(0), "back"),
        Some(20.5)
    );
    assert_eq!(
        number("d2d_bidir_write_ce", Device(1), Device(0), "sum"),
        Some(42.0)
    );
    // Its all_to_one_read is outbound from the one device.
    assert_eq!(
        number("one_to_all_read_ce", Device(0), All, "total"),
        Some(24.0)
    );
    let chase = value(&file, "d2d_chase_sm", Device(0), Device(1), "latency").unwrap();
    assert_eq!((chase.value, chase.unit), (1320.5, Unit::Nanoseconds));
    assert_eq!(
        number("host_chase_sm", Host, Device(1), "latency"),
        Some(1010.75)
    );
    assert_eq!(
        number("local_ce", Device(0), Device(0), "bandwidth"),
        Some(331.2)
    );
    assert_eq!(details(&file), ["", "Testcase no_such_test not found!"]);
}

#[test]
fn verbose_text_gives_the_samples_of_each_pair() {
    let file = file("links/nvbandwidth-0.8-verbose.txt");
    let read = value(&file, "d2d_read_ce", Device(1), Device(0), "bandwidth").unwrap();
    assert_eq!(read.samples, [22.10, 22.12, 22.15]);
    // Three samples have no 95% interval.
    assert_eq!((read.value, read.n, read.interval), (22.12, Some(3), None));
    assert_eq!(details(&file), [""; 0]);
}

#[test]
fn what_did_not_end_well_is_told_once() {
    let json = |tests: &str| format!("{{\"nvbandwidth\": {{\"testcases\": [{tests}]}}}}");
    let told = |tests: &str| {
        let file = of_text(&json(tests), "f").unwrap();
        assert!(file.values.is_empty());
        let of = |trouble: &import::links::LinkTrouble| {
            (
                trouble.kind,
                trouble.test.clone().unwrap(),
                trouble.detail.clone(),
            )
        };
        file.troubles.iter().map(of).collect::<Vec<_>>()
    };
    let name = "\"name\": \"device_local_copy\", \"status\":";
    let tell = |kind, words: &str| vec![(kind, "local_ce".to_owned(), words.to_owned())];
    // An error leaves the first entry running and adds a second one.
    assert_eq!(
        told(&format!("{{{name} \"Running\"}}, {{{name} \"Error\"}}")),
        tell(TroubleKind::Failed, "device_local_copy: Error")
    );
    assert_eq!(
        told(&format!("{{{name} \"Running\"}}")),
        tell(TroubleKind::Interrupted, "device_local_copy: Running")
    );
    assert_eq!(
        told(&format!("{{{name} \"Passed\"}}")),
        tell(
            TroubleKind::File,
            "device_local_copy: passed, and has no matrix"
        )
    );
    // Of a test of one row, three cannot be.
    let rows = "\"bandwidth_matrix\": [[\"1\"], [\"2\"], [\"3\"]]";
    assert!(
        told(&format!("{{{name} \"Passed\", {rows}}}"))[0]
            .2
            .contains("3 rows and 1 columns")
    );
    let zero = "\"bandwidth_matrix\": [[\"0\"]]";
    assert_eq!(
        told(&format!("{{{name} \"Passed\", {zero}}}")),
        tell(
            TroubleKind::File,
            "device_local_copy, row 0, column 0 is `0`, which is no measurement; it is left out"
        )
    );
}

#[test]
fn a_cell_that_does_not_apply_is_told_apart_from_one_that_cannot_be() {
    let test = "{\"name\": \"device_to_device_memcpy_write_ce\", \"status\": \"Passed\", \"bandwidth_matrix\": \
                [[\"N/A\", \"N/A\"], [\"-1\", \"N/A\"]]}";
    let text = format!("{{\"nvbandwidth\": {{\"testcases\": [{test}]}}}}");
    let file = of_text(&text, "f").unwrap();
    // A device and itself are no trouble. Row 0, column 1 of a write goes from 0 to 1.
    let troubles: Vec<_> = file
        .troubles
        .iter()
        .map(|trouble| (trouble.kind, trouble.ends.unwrap()))
        .collect();
    assert_eq!(
        troubles,
        [
            (TroubleKind::NotApplicable, (Device(0), Device(1))),
            (TroubleKind::File, (Device(1), Device(0)))
        ]
    );
}

#[test]
fn a_test_that_we_do_not_have_is_left_out_in_a_line() {
    let test = "{\"name\": \"multinode_x\", \"status\": \"Passed\", \"bandwidth_description\": \"x (GB/s)\", \
                \"bandwidth_matrix\": [[\"N/A\", \"7\"], [\"8\", \"N/A\"]]}";
    let text = format!("{{\"nvbandwidth\": {{\"testcases\": [{test}], \"Git Version\": \"v\"}}}}");
    let file = of_text(&text, "f").unwrap();
    assert_eq!((file.values.len(), file.troubles.len()), (0, 1));
    assert_eq!(file.troubles[0].kind, TroubleKind::Absent);
    assert_eq!(file.unused, ["Git Version"]);
}

#[test]
fn files_that_are_cut_off_say_so_in_a_line() {
    let json = text_of("links/nvbandwidth-0.8.json");
    // Cut behind the 20th line.
    let half: String = json.split_inclusive('\n').take(20).collect();
    assert_eq!(
        refusal(&half),
        "f begins as nvbandwidth's JSON and is cut off or broken, 20 lines in; give its whole output"
    );
    let text = text_of("links/nvbandwidth-0.8.txt");
    let matrix = text.find(" 1     22.20").unwrap();
    let file = of_text(&text[..matrix], "f").unwrap();
    // The two numbers of the first test are whole.
    assert_eq!(file.values.len(), 2);
    assert_eq!(
        details(&file),
        [
            "device_to_device_memcpy_read_ce: a matrix of 1 rows and 2 columns, not of 2 rows: the file is cut off or not nvbandwidth's; its numbers are left out",
            "the last lines of nvbandwidth are missing: the run ended early or the file is cut off"
        ]
    );
    assert!(refusal(&text[..200]).contains("ends before its first matrix"));
    assert!(refusal("hello").contains("looked for a record"));
    assert!(refusal("{\"nvbandwidth\": {}}").contains("holds no test"));
    assert!(read(Path::new("/nowhere/at/all")).is_err());
}

#[test]
fn no_control_character_of_a_file_gets_into_a_message() {
    // serde_json's own words name the unknown variant.
    let record = text_of("records/links.json").replace("\"complete\"", "\"\\u001b[2Jx\"");
    assert!(refusal(&record).contains("unknown variant `\u{fffd}[2Jx`"));
    let text = "nvbandwidth Version: v0.8\nERROR:\nNOTE: The reported results may not";
    assert_eq!(details(&of_text(text, "f").unwrap()), [""]);
}

#[test]
fn a_record_of_ours_is_told_by_the_backends_numbers() {
    let mut text: serde_json::Value = serde_json::from_str(&text_of("records/links.json")).unwrap();
    text["payload"]["links"]["devices"][0]["ordinal"] = 5.into();
    let file = of_text(&text.to_string(), "f").unwrap();
    let first = value(&file, "h2d_pinned_ce", Host, Device(5), "bandwidth").unwrap();
    assert_eq!(
        (first.value, first.n, first.bytes, first.samples.len()),
        (50.0, Some(6), Some(67_108_864), 6)
    );
    // What the copies of a ring go to depends on the order of the command line: from position 1 on to the first, which is 5.
    let ring = of_record(&record(&[("ring_ce", All, All, "share_1", 9.0)], None), 5);
    assert_eq!(
        number(&ring, "ring_ce", All, All, "share_1_5"),
        Some(9.0),
        "{:?}",
        ring.values
    );
    let serve = text_of("records/serve.json");
    assert!(refusal(&serve).contains("give a record of tplens p2p or a file of nvbandwidth"));
}

/// A record whose points are these: case, ends, name and value, on two devices.
fn record(points: &[(&str, Endpoint, Endpoint, &str, f64)], soft: Option<&str>) -> Record {
    let mut value: serde_json::Value =
        serde_json::from_str(&text_of("records/links.json")).unwrap();
    let template = value["payload"]["links"]["points"][0].clone();
    let made = points.iter().map(|(case, from, to, name, number)| {
        let mut point = template.clone();
        point["case"] = (*case).into();
        point["from"] = serde_json::to_value(from).unwrap();
        point["to"] = serde_json::to_value(to).unwrap();
        point["outcome"]["quantities"][0]["name"] = (*name).into();
        point["outcome"]["quantities"][0]["quantity"]["value"] = (*number).into();
        point
    });
    value["payload"]["links"]["points"] = made.collect();
    value["header"]["simulated"] = soft.map_or(
        serde_json::Value::Null,
        |name| serde_json::json!({ "box_name": name }),
    );
    Record::from_json(&value.to_string(), "made").unwrap()
}

#[test]
fn a_run_that_is_broken_off_says_nothing_of_its_links() {
    let mut run = record(
        &[("h2d_pinned_ce", Host, Device(0), "bandwidth", 50.0)],
        None,
    );
    let signal = "SIGTERM".to_owned();
    run.status = Status::Interrupted { signal };
    let told = view::record(&run).answer.join(" ");
    assert!(!told.contains("not normal"), "{told}");
}

/// A record as a file, whose first device has this number.
fn of_record(record: &Record, ordinal: usize) -> LinkFile {
    let mut value = serde_json::to_value(record).unwrap();
    value["payload"]["links"]["devices"][0]["ordinal"] = ordinal.into();
    of_text(&value.to_string(), "f").unwrap()
}

#[test]
fn a_time_of_this_machine_beside_a_virtual_clock_is_not_judged() {
    let record = record(
        &[("small_copy_h2d_ce", Host, Device(0), "issue", 2.0)],
        None,
    );
    let mut value = serde_json::to_value(&record).unwrap();
    let quantities = &mut value["payload"]["links"]["points"][0]["outcome"]["quantities"];
    let mut pace = quantities[0].clone();
    pace["name"] = "pace".into();
    quantities.as_array_mut().unwrap().push(pace);
    let mut is_judged = |pace: &str| {
        let quantities = &mut value["payload"]["links"]["points"][0]["outcome"]["quantities"];
        quantities[0]["quantity"]["timing"]["source"] = "host_monotonic".into();
        quantities[1]["quantity"]["timing"]["source"] = pace.into();
        let file = of_text(&value.to_string(), "f").unwrap();
        let values = file.values.iter();
        values.map(|value| value.is_judged).collect::<Vec<_>>()
    };
    assert_eq!(is_judged("virtual_clock"), [false, true]);
    // On a real device the host's time is that of its driver.
    assert_eq!(is_judged("device_event"), [true, true]);
}

#[test]
fn what_was_found_of_peers_is_told_by_the_backends_numbers() {
    let record = record(
        &[("local_ce", Device(0), Device(0), "bandwidth", 1.0)],
        None,
    );
    let mut value = serde_json::to_value(&record).unwrap();
    let links = &mut value["payload"]["links"];
    links["devices"][0]["ordinal"] = 5.into();
    links["probes"] = serde_json::json!([
        {"from": 0, "to": 1, "verdict": "denied", "rests_on": "access", "steps": [],
         "kernels": {"is": "usable"}}
    ]);
    links["pending"] = serde_json::json!([[1, 0]]);
    links["paths"] = serde_json::json!([{"a": 0, "b": 1, "path": "PHB"}]);
    let file = of_text(&value.to_string(), "f").unwrap();
    let states: Vec<_> = file
        .peers
        .iter()
        .map(|(pair, state)| (*pair, state.to_string()))
        .collect();
    assert_eq!(
        states,
        [
            ((1, 5), "begun without a verdict".to_owned()),
            ((5, 1), "denied".to_owned())
        ]
    );
    assert_eq!(file.paths[&(1, 5)].name(), "PHB");
    // The flag says nothing where there are probes all the same.
    value["header"]["provenance"]["arguments"] = serde_json::json!(["p2p-bw", "--no-peer"]);
    assert!(!of_text(&value.to_string(), "f").unwrap().without_peers);
    value["payload"]["links"]["probes"] = serde_json::json!([]);
    assert!(of_text(&value.to_string(), "f").unwrap().without_peers);
}
