//! What monitor and counters see of a played box.

use std::collections::BTreeMap;

use record::{
    BackendFacts, MONITOR_SCHEMA, MonitorDevice, MonitorHeader, MonitorLine, MonitorSample,
    MonitorValues,
};
use topology::PcieLink;

use super::played::Played;
use crate::findings::{Counter, Counters};

/// Nanoseconds from one reading to the next: ten a second.
const PERIOD: u64 = 100_000_000;

/// Readings of each device.
const READINGS: u64 = 50;

/// Lines of the monitor: every device ten times a second for five seconds.
pub(crate) fn monitor(played: &Played) -> Vec<MonitorLine> {
    let devices = &played.described.device;
    let label = |number: usize| {
        let kind = if devices[number].mig.is_empty() {
            "GPU"
        } else {
            "MIG"
        };
        format!("{kind}{number}")
    };
    let header = MonitorHeader {
        schema: MONITOR_SCHEMA,
        program: "p2p-bw monitor".to_owned(),
        version: "0".to_owned(),
        started: "2026-11-22T10:00:00Z".to_owned(),
        started_unix_ns: None,
        boot_id: None,
        hz: 10.0,
        duration_s: None,
        soft_box: Some(played.described.name.clone()),
        backend: BackendFacts::default(),
        devices: (0..devices.len())
            .map(|number| MonitorDevice {
                label: label(number),
                name: devices[number].name.clone(),
                uuid: None,
                address: None,
                node: None,
                mig: None,
            })
            .collect(),
        processes: vec![],
        unavailable: vec![],
    };
    let mut lines = vec![MonitorLine::Header(Box::new(header))];
    for reading in 0..READINGS {
        for number in 0..devices.len() {
            let own = played.described.slot_link(number);
            let own = own.and_then(|link| PcieLink::new(link.generation, link.width).ok());
            let is_hot = played.plants.is_hot(number) && reading > READINGS / 2;
            let throttle = if is_hot {
                vec!["hardware thermal slowdown".to_owned()]
            } else {
                vec!["idle".to_owned()]
            };
            lines.push(MonitorLine::Sample(Box::new(MonitorSample {
                device: number,
                asked_ns: reading * PERIOD,
                answered_ns: reading * PERIOD + 1_000_000,
                values: MonitorValues {
                    slot_link: played.plants.slot(number).or(own),
                    temperature_c: Some(if is_hot { 91 } else { 50 }),
                    throttle: Some(throttle),
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
    let kind = |number: usize| {
        if played.described.device[number].mig.is_empty() {
            "GPU"
        } else {
            "MIG"
        }
    };
    let rows = (0..played.described.device.len()).flat_map(|number| {
        // Errors that memory could not mend stood nowhere before: those would be worth a warning.
        let stood = |key: &str| if key == "ecc_uncorrectable" { 0 } else { 3 };
        let row = move |key: &str, rise: u64| Counter {
            devices: vec![format!("{}{number}", kind(number))],
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
