//! What monitor and counters see of a played box.

use std::collections::BTreeMap;

use record::{
    BackendFacts, MONITOR_SCHEMA, MonitorHeader, MonitorLine, MonitorSample, MonitorValues,
};
use serde_json::json;

use super::plant::Plant;
use super::played::Played;
use crate::findings::{Counter, Counters};

/// Nanoseconds from one reading to the next: ten a second.
const PERIOD: u64 = 100_000_000;

/// Readings of each device.
const READINGS: u64 = 50;

/// Lines of the monitor: every device ten times a second for five seconds.
pub(crate) fn monitor(played: &Played) -> Vec<MonitorLine> {
    let devices = &played.described.device;
    let of = |number: usize| json!({"label": played.label(number), "name": devices[number].name, "uuid": null, "address": null, "node": null, "mig": null});
    let header = json!({
        "schema": MONITOR_SCHEMA, "program": "p2p-bw monitor", "version": "0", "started": "2026-11-22T10:00:00Z",
        "started_unix_ns": null, "boot_id": null, "hz": 10.0, "duration_s": null, "soft_box": played.described.name,
        "backend": BackendFacts::default(), "devices": (0..devices.len()).map(of).collect::<Vec<_>>(),
        "processes": [], "unavailable": [],
    });
    let header: MonitorHeader = serde_json::from_value(header).unwrap();
    let mut lines = vec![MonitorLine::Header(Box::new(header))];
    for reading in 0..READINGS {
        for number in 0..devices.len() {
            let is_hot = played.plants.has(Plant::Hot { device: number }) && reading > READINGS / 2;
            let throttle = ["idle", "hardware thermal slowdown"][usize::from(is_hot)];
            lines.push(MonitorLine::Sample(Box::new(MonitorSample {
                device: number,
                asked_ns: reading * PERIOD,
                answered_ns: reading * PERIOD + 1_000_000,
                values: MonitorValues {
                    slot_link: played.slot(number),
                    temperature_c: Some(if is_hot { 91 } else { 50 }),
                    throttle: Some(vec![throttle.to_owned()]),
                    ..MonitorValues::default()
                },
                missing: BTreeMap::new(),
            })));
        }
    }
    lines
}

/// Counters over a run of 200 s.
pub(crate) fn counters(played: &Played) -> Counters {
    let rows = (0..played.described.device.len()).flat_map(|number| {
        // Errors that memory could not mend stood nowhere before: those would be worth a warning.
        let stood = |key: &str| if key == "ecc_uncorrectable" { 0 } else { 3 };
        let row = move |key: &str, rise: u64| Counter {
            devices: vec![played.label(number)],
            place: format!("0000:2{number}:00.0"),
            key: key.to_owned(),
            before: Some(stood(key)),
            after: Some(stood(key) + rise),
        };
        [
            row("aer_correctable", played.plants.aer(number)),
            row("aer_fatal", 0),
            row("ecc_uncorrectable", 0),
        ]
    });
    Counters {
        over_s: 200.0,
        rows: rows.collect(),
    }
}
