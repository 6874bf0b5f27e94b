//! Counters of errors, read before the first load and after the last: of every device, every bridge above it, and the memory
//! controllers.
//!
//! What the kernel does not show is a row with the reason, never a zero. Counters that only a vendor's management library has are those
//! of the monitor, which asks it.

use std::collections::BTreeMap;
use std::time::Duration;

use record::{LinkDevice, MonitorDevice, MonitorLine, MonitorValues};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use topology::{Machine, PciAddress, PciTree, RasErrors, Sysfs};

use crate::findings::{Counter, Counters};
use crate::judge::{BLOCKED, has_ended};

/// One reading of all counters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reading {
    /// Seconds since the kernel started, which goes on while the machine sleeps.
    up_s: f64,
    /// The kernel's number of this boot.
    boot: Option<String>,
    rows: Vec<Row>,
}

/// One counter as it was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Row {
    place: String,
    key: String,
    devices: Vec<String>,
    count: Result<u64, String>,
}

impl Reading {
    /// Reads what the kernel shows of these devices.
    pub(crate) fn take(sysfs: &Sysfs, machine: &Machine, devices: &[LinkDevice]) -> Self {
        let is_guest = machine.hypervisor == Some(true);
        let tree = PciTree::read(sysfs, is_guest);
        // Each function once, with all devices whose link it is of.
        let mut functions: BTreeMap<PciAddress, Vec<String>> = BTreeMap::new();
        for device in devices {
            let Some(address) = device.address else {
                continue;
            };
            let bridges = machine.gpu(address).map(|pci| pci.chain.clone());
            for function in bridges.unwrap_or_default().into_iter().chain([address]) {
                let labels = functions.entry(function).or_default();
                if !labels.contains(&device.label) {
                    labels.push(device.label.clone());
                }
            }
        }
        let mut rows = Vec::new();
        for (address, labels) in functions {
            let counted = tree.at(address).and_then(|function| function.aer);
            let kinds = [
                (
                    "aer_correctable",
                    counted.and_then(|counted| counted.correctable),
                ),
                ("aer_nonfatal", counted.and_then(|counted| counted.nonfatal)),
                ("aer_fatal", counted.and_then(|counted| counted.fatal)),
            ];
            for (key, count) in kinds {
                let why = match is_guest {
                    true => "a guest of a hypervisor is not shown it",
                    false => "the kernel does not show it",
                };
                rows.push(Row {
                    place: address.to_string(),
                    key: key.to_owned(),
                    devices: labels.clone(),
                    count: count.ok_or_else(|| why.to_owned()),
                });
            }
        }
        rows.extend(devices.iter().flat_map(|device| own_memory(sysfs, device)));
        rows.extend(memory(sysfs));
        Self {
            up_s: up_s(),
            boot: machine.boot_id.clone(),
            rows,
        }
    }

    /// How long ago it was taken; `None` where the machine started anew since.
    pub(crate) fn ago(&self, boot: Option<&str>) -> Option<Duration> {
        let is_of_boot = boot.is_some() && self.boot.as_deref() == boot;
        is_of_boot.then(|| Duration::from_secs_f64((up_s() - self.up_s).max(0.0)))
    }

    /// Whether the machine started anew since, as far as it tells.
    pub(crate) fn is_of_other(&self, boot: Option<&str>) -> bool {
        let both = self.boot.as_deref().zip(boot);
        both.is_some_and(|(then, now)| then != now)
    }

    /// What rose between this reading and a later one. A row that only one of them has says so.
    pub(crate) fn until(&self, after: &Self) -> Counters {
        let row = |row: &Row| {
            let same = |other: &&Row| (&other.place, &other.key) == (&row.place, &row.key);
            let now = after
                .rows
                .iter()
                .find(same)
                .map(|other| other.count.clone());
            Counter {
                devices: row.devices.clone(),
                place: row.place.clone(),
                key: row.key.clone(),
                before: row.count.clone(),
                after: now.unwrap_or_else(|| Err("it was not there any more".to_owned())),
            }
        };
        Counters {
            over_s: (after.up_s - self.up_s).max(0.0),
            boot: [self.boot.clone(), after.boot.clone()],
            rows: self.rows.iter().map(row).collect(),
        }
    }
}

fn up_s() -> f64 {
    let now = clock_gettime(ClockId::Boottime);
    #[expect(
        clippy::cast_precision_loss,
        reason = "seconds since a start are far below 2^53"
    )]
    let seconds = now.tv_sec as f64;
    #[expect(clippy::cast_precision_loss, reason = "below 10^9")]
    let nanoseconds = now.tv_nsec as f64;
    seconds + nanoseconds * 1e-9
}

/// Errors of a device's own memory that its kernel driver counts; none where it counts none, as NVIDIA's.
fn own_memory(sysfs: &Sysfs, device: &LinkDevice) -> Vec<Row> {
    let Some(Ok(errors)) = device
        .address
        .map(|address| RasErrors::read(sysfs, address))
    else {
        return Vec::new();
    };
    let row = |(key, count): (&str, u64)| Row {
        place: device.label.clone(),
        key: key.to_owned(),
        devices: vec![device.label.clone()],
        count: Ok(count),
    };
    [
        ("ecc_correctable", errors.corrected),
        ("ecc_uncorrectable", errors.uncorrected),
    ]
    .map(row)
    .into()
}

/// Errors of the host's memory, by controller (Documentation/admin-guide/RAS/main.rst); none where no driver counts them.
fn memory(sysfs: &Sysfs) -> Vec<Row> {
    const FOLDER: &str = "sys/devices/system/edac/mc";
    let mut rows = Vec::new();
    for name in sysfs.names(FOLDER) {
        if !name.starts_with("mc") {
            continue;
        }
        for (file, key) in [
            ("ce_count", "ecc_correctable"),
            ("ue_count", "ecc_uncorrectable"),
        ] {
            let text = sysfs.read_text(format!("{FOLDER}/{name}/{file}"));
            rows.push(Row {
                place: format!("host memory {name}"),
                key: key.to_owned(),
                devices: vec!["host memory".to_owned()],
                count: text
                    .and_then(|text| text.parse().ok())
                    .ok_or_else(|| "it cannot be read".to_owned()),
            });
        }
    }
    rows
}

/// A value of a monitor's samples.
type Value = fn(&MonitorValues) -> Option<u64>;

/// What a monitor reads of counters: the counter's key here, the value's there, and how it is got.
const MONITORED: [(&str, &str, Value); 3] = [
    ("pcie_replays", "pcie_replays", |values| {
        values.pcie_replays.map(u64::from)
    }),
    ("ecc_correctable", "ecc_corrected", |values| {
        values.ecc_corrected
    }),
    ("ecc_uncorrectable", "ecc_uncorrected", |values| {
        values.ecc_uncorrected
    }),
];

/// What was told of one counter.
#[derive(Clone, Copy)]
struct Told {
    first: u64,
    last: u64,
    /// All steps upwards: a reset of the device takes none of them back.
    risen: u64,
    /// The monitor that told the last, by its place, and when, on that one's clock.
    at: (usize, u64),
}

/// What each device's counters rose by between the first and the last of a monitor's readings that say so; the reason of one that it
/// never gave, or gave no more at the end: for that the caller knows of a monitor that was `lost`. A rise that was seen is one all the
/// same. Packets that were sent again are told where they can be read alone: AER counts them, too.
pub(crate) fn monitored(lines: &[MonitorLine], lost: Option<&str>) -> Vec<Counter> {
    // By device and row of the table.
    let mut labels: Vec<String> = Vec::new();
    let mut seen: BTreeMap<(String, usize), Result<Told, String>> = BTreeMap::new();
    // Which monitor it is, and its last line's instant.
    let (mut monitor, mut until_ns) = (0, 0);
    for line in lines {
        until_ns = until_ns.max(line.written_ns());
        match line {
            MonitorLine::Header(header) => {
                (monitor, until_ns) = (monitor + 1, 0);
                let label = |device: &MonitorDevice| device.label.clone();
                labels = header.devices.iter().map(label).collect();
                for gap in &header.unavailable {
                    let row = MONITORED
                        .iter()
                        .position(|row| gap.key.as_deref() == Some(row.1));
                    let label = labels.get(gap.device);
                    if let (Some(row @ 1..), Some(label)) = (row, label) {
                        let reason = Err(gap.reason.clone());
                        seen.entry((label.clone(), row)).or_insert(reason);
                    }
                }
            }
            MonitorLine::Sample(sample) => {
                let Some(label) = labels.get(sample.device) else {
                    continue;
                };
                for (row, (_, _, value)) in MONITORED.iter().enumerate() {
                    let Some(last) = value(&sample.values) else {
                        continue;
                    };
                    let at = (monitor, sample.answered_ns);
                    let begun = Told {
                        first: last,
                        last,
                        risen: 0,
                        at,
                    };
                    let entry = seen.entry((label.clone(), row)).or_insert(Ok(begun));
                    match entry {
                        Ok(told) => {
                            told.risen += last.saturating_sub(told.last);
                            (told.last, told.at) = (last, at);
                        }
                        unread @ Err(_) => *unread = Ok(begun),
                    }
                }
            }
            _ => {}
        }
    }
    let no_more = |told: &Told| {
        let (by, at_ns) = told.at;
        let silent = Duration::from_nanos(until_ns.saturating_sub(at_ns));
        let is_over = by < monitor || has_ended(silent, Duration::from_nanos(until_ns));
        match lost {
            Some(why) => Some(why.to_owned()),
            None if is_over => Some(format!("it was told no more at the end: {BLOCKED}")),
            None => None,
        }
    };
    let counter = |((label, row), told): ((String, usize), Result<Told, String>)| {
        let after = match &told {
            Ok(told) if told.risen > 0 => Ok(told.first + told.risen),
            Ok(told) => no_more(told).map_or(Ok(told.last), Err),
            Err(why) => Err(why.clone()),
        };
        Counter {
            devices: vec![label.clone()],
            place: label,
            key: MONITORED[row].0.to_owned(),
            before: told.map(|told| told.first),
            after,
        }
    };
    seen.into_iter().map(counter).collect()
}

#[cfg(test)]
mod tests {
    use boxfile::{BoxFile, Fault, sysfs as tree};

    use super::*;

    fn device(label: &str, address: &str) -> LinkDevice {
        LinkDevice {
            label: label.to_owned(),
            ordinal: 0,
            name: "a device of a test".to_owned(),
            uuid: None,
            address: address.parse().ok(),
            node: None,
            memory_bytes: None,
            mig: None,
            idle: None,
            loaded: None,
            max_payload_bytes: None,
            busy: None,
        }
    }

    #[test]
    fn every_bridge_of_a_device_is_read_and_what_rose_is_told() {
        let root = std::env::temp_dir().join(format!("tplens-counters-{}", std::process::id()));
        let mut described = BoxFile::builtin("l40x4").unwrap();
        described.fault = vec![Fault::LinkErrors {
            address: "0000:20:01.1".to_owned(),
            correctable: 7,
            nonfatal: 0,
            fatal: 0,
        }];
        tree::write_tree(&described, &root).unwrap();
        let sysfs = Sysfs::at(&root);
        let machine = Machine::read(&sysfs).unwrap();
        let devices = [device("GPU0", "0000:21:00.0")];
        let unshown = Reading::take(&sysfs, &machine, &devices);
        assert!(
            unshown.rows.iter().all(|row| row.count.is_err()),
            "{unshown:?}"
        );
        tree::show_link_errors(&described, &root).unwrap();
        let before = Reading::take(&sysfs, &machine, &devices);
        tree::count_link_errors(&described, &root).unwrap();
        let after = Reading::take(&sysfs, &machine, &devices);
        std::fs::remove_dir_all(&root).unwrap();
        let counters = before.until(&after);
        // The root port and the device, three kinds each.
        assert_eq!(counters.rows.len(), 6);
        let risen: Vec<&Counter> = counters
            .rows
            .iter()
            .filter(|row| row.before != row.after)
            .collect();
        assert_eq!(risen.len(), 1);
        assert_eq!(
            (risen[0].place.as_str(), risen[0].key.as_str()),
            ("0000:20:01.1", "aer_correctable")
        );
        assert_eq!((&risen[0].before, &risen[0].after), (&Ok(0), &Ok(7)));
        assert_eq!(risen[0].devices, ["GPU0"]);
        assert_eq!(counters.boot[0], counters.boot[1]);
    }

    #[test]
    fn memory_errors_of_amd_s_driver_are_told_by_device() {
        let root = std::env::temp_dir().join(format!("tplens-ras-{}", std::process::id()));
        let mut described = BoxFile::builtin("r9700-x16").unwrap();
        described.fault = vec![Fault::MemoryErrors {
            device: 1,
            corrected: 4,
            uncorrected: 1,
            after_readings: 0,
        }];
        tree::write_tree(&described, &root).unwrap();
        tree::show_link_errors(&described, &root).unwrap();
        let sysfs = Sysfs::at(&root);
        let machine = Machine::read(&sysfs).unwrap();
        let devices = [0, 1].map(|at| device(&format!("GPU{at}"), &described.device[at].address));
        let before = Reading::take(&sysfs, &machine, &devices);
        tree::count_link_errors(&described, &root).unwrap();
        let after = Reading::take(&sysfs, &machine, &devices);
        std::fs::remove_dir_all(&root).unwrap();
        let counters = before.until(&after);
        let ecc: Vec<_> = counters
            .rows
            .iter()
            .filter(|row| row.key.starts_with("ecc"))
            .map(|row| (row.place.as_str(), row.key.as_str(), row.after.clone()))
            .collect();
        // The other device has no such files.
        let expected = [
            ("GPU1", "ecc_correctable", Ok(4)),
            ("GPU1", "ecc_uncorrectable", Ok(1)),
        ];
        assert_eq!(ecc, expected);
    }
}
