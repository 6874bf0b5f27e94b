//! Counters of errors, read before the first load and after the last: of every device, every bridge above it, the memory
//! controllers, and the ports of network cards.
//!
//! What the kernel does not show is a row without a count, never a zero. Counters that only a vendor's management library has are those
//! of the monitor, which asks it.

use std::collections::BTreeMap;
use std::time::Duration;

use record::LinkDevice;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use topology::{Machine, PciAddress, PciTree, RasErrors, Sysfs};

use crate::findings::{Counter, Counters};

const CORRECTABLE: &str = "ecc_correctable";
const UNCORRECTABLE: &str = "ecc_uncorrectable";

/// One reading of all counters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reading {
    /// Seconds since the kernel started, which goes on while the machine sleeps.
    up_s: f64,
    /// Without what they are after.
    rows: Vec<Counter>,
}

impl Reading {
    /// How long ago it was taken.
    pub(crate) fn age(&self) -> Duration {
        Duration::from_secs_f64((up_s() - self.up_s).max(0.0))
    }

    /// Reads what the kernel shows of these devices.
    pub(crate) fn take(sysfs: &Sysfs, machine: &Machine, devices: &[LinkDevice]) -> Self {
        let is_guest = machine.hypervisor == Some(true);
        let tree = PciTree::read(sysfs, is_guest);
        // Each function once, with all devices whose link it is of.
        let mut functions: BTreeMap<PciAddress, Vec<String>> = BTreeMap::new();
        let placed = devices.iter();
        for (device, address) in placed.filter_map(|device| Some((device, device.address?))) {
            let bridges = machine.gpu(address).map(|pci| pci.chain.clone());
            for function in bridges.unwrap_or_default().into_iter().chain([address]) {
                let labels = functions.entry(function).or_default();
                labels.push(device.label.clone());
            }
        }
        let mut rows = Vec::new();
        for (address, labels) in functions {
            let counted = tree.at(address).and_then(|function| function.aer);
            let kinds = [
                ("aer_correctable", counted.and_then(|aer| aer.correctable)),
                ("aer_nonfatal", counted.and_then(|aer| aer.nonfatal)),
                ("aer_fatal", counted.and_then(|aer| aer.fatal)),
            ];
            let place = address.to_string();
            rows.extend(kinds.map(|(key, count)| row(&place, key, &labels, count)));
        }
        rows.extend(devices.iter().flat_map(|device| own_memory(sysfs, device)));
        rows.extend(memory(sysfs));
        rows.extend(network(sysfs, is_guest, &tree));
        Self { up_s: up_s(), rows }
    }

    /// What rose between this reading and a later one. A row that only one of them has says so.
    pub(crate) fn until(&self, after: &Self) -> Counters {
        let row = |row: &Counter| {
            let same = |other: &&Counter| (&other.place, &other.key) == (&row.place, &row.key);
            Counter {
                after: after.rows.iter().find(same).and_then(|now| now.before),
                ..row.clone()
            }
        };
        Counters {
            over_s: (after.up_s - self.up_s).max(0.0),
            rows: self.rows.iter().map(row).collect(),
        }
    }
}

fn row(place: &str, key: &str, devices: &[String], count: Option<u64>) -> Counter {
    Counter {
        devices: devices.to_vec(),
        place: place.to_owned(),
        key: key.to_owned(),
        before: count,
        after: None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn up_s() -> f64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// Errors of a device's own memory that its kernel driver counts; none where it counts none, as NVIDIA's.
fn own_memory(sysfs: &Sysfs, device: &LinkDevice) -> Vec<Counter> {
    let read = |address| RasErrors::read(sysfs, address);
    let Some(Ok(errors)) = device.address.map(read) else {
        return Vec::new();
    };
    let (label, of) = (&device.label, [device.label.clone()]);
    let counted = |key, count| row(label, key, &of, Some(count));
    let mended = counted(CORRECTABLE, errors.corrected);
    vec![mended, counted(UNCORRECTABLE, errors.uncorrected)]
}

/// Errors of the host's memory, by controller (Documentation/admin-guide/RAS/main.rst); none where no driver counts them.
fn memory(sysfs: &Sysfs) -> Vec<Counter> {
    const FOLDER: &str = "sys/devices/system/edac/mc";
    let names = sysfs.names(FOLDER).into_iter();
    let names = names.filter(|name| name.starts_with("mc"));
    let of = |name: String| {
        [("ce_count", CORRECTABLE), ("ue_count", UNCORRECTABLE)].map(|(file, key)| {
            let text = sysfs.read_text(format!("{FOLDER}/{name}/{file}"));
            let count = text.and_then(|text| text.parse().ok());
            let place = format!("host memory {name}");
            row(&place, key, &["host memory".to_owned()], count)
        })
    };
    names.flat_map(of).collect()
}

/// Errors of the ports of network cards; none where the kernel shows none.
fn network(sysfs: &Sysfs, is_guest: bool, tree: &PciTree) -> Vec<Counter> {
    let cards = doctor::Card::read_all(sysfs, is_guest, tree).into_iter();
    let mut rows = Vec::new();
    for port in cards.flat_map(|card| card.ports) {
        let about = [port.label.clone()];
        for (name, count) in &port.errors {
            let place = format!("{} {name}", about[0]);
            rows.push(row(&place, "nic_errors", &about, Some(*count)));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use boxfile::{BoxFile, Fault, sysfs as tree};

    use super::*;
    use crate::tests::made::device;

    #[test]
    fn a_network_cards_errors_are_of_its_port() {
        let root = std::env::temp_dir().join(format!("tplens-nic-{}", std::process::id()));
        let described = BoxFile::builtin("l40x4").unwrap();
        tree::write_tree(&described, &root).unwrap();
        let folder = root.join("sys/class/infiniband/mlx5_1/ports/1/hw_counters");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("packet_seq_err"), "4\n").unwrap();
        let sysfs = Sysfs::at(&root);
        let rows = network(&sysfs, false, &PciTree::read(&sysfs, false));
        std::fs::remove_dir_all(&root).unwrap();
        let about = "mlx5_1 port 1";
        let place = format!("{about} packet_seq_err");
        assert_eq!(
            rows,
            [row(&place, "nic_errors", &[about.to_owned()], Some(4))]
        );
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
        let devices = [device(0, "L40", "0000:21:00.0")];
        let unshown = Reading::take(&sysfs, &machine, &devices);
        assert!(
            unshown.rows.iter().all(|row| row.before.is_none()),
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
        let mut rows = counters.rows;
        rows.retain(|row| row.before != row.after);
        let risen = Counter {
            after: Some(7),
            ..row(
                "0000:20:01.1",
                "aer_correctable",
                &["GPU0".to_owned()],
                Some(0),
            )
        };
        assert_eq!(rows, [risen]);
    }
}
