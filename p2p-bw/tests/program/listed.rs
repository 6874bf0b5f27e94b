//! `--list --json`: the devices as a record without numbers, for other programs.

use record::{Payload, Record, Status};

use crate::program::common::Scratch;

#[test]
fn the_devices_that_were_asked_for_are_listed_as_a_record_without_numbers() {
    let scratch = Scratch::new();
    let ran = scratch.run(&["--list", "--json", "-", "--sim", "l40x4", "--gpus", "2,0"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let record = Record::from_json(&ran.stdout, "the list").unwrap();
    assert_eq!((record.status, record.exit_code), (Status::Complete, 0));
    assert_eq!(record.header.simulated.unwrap().box_name, "l40x4");
    let Payload::Links(links) = record.payload else {
        panic!("no links");
    };
    let labels: Vec<&str> = links
        .devices
        .iter()
        .map(|device| device.label.as_str())
        .collect();
    assert_eq!(labels, ["GPU2", "GPU0"]);
    // The box's owner says that others hold 448 MiB of device 0: 448 * 2^20 bytes.
    assert_eq!(
        links.devices[1].busy.as_ref().unwrap().used_bytes,
        469_762_048
    );
    assert_eq!(
        (links.paths.len(), links.points.len(), links.probes.len()),
        (1, 0, 0)
    );
    let file = scratch.text("devices.json");
    let ran = scratch.run(&["--list", "--json", &file, "--backend", "host"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    let listed = std::fs::read_to_string(&file).unwrap();
    assert!(listed.contains("\"HOST1\""), "{listed}");
    let refused = scratch.run(&[
        "--list",
        "--json",
        "-",
        "--backend",
        "host",
        "--gpus",
        "99999",
    ]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
}
