//! What a run found, as the judges take it: records of the other programs, lines of the monitor, counters, and why a part is missing.
//!
//! Nothing here is judged. A part that was measured in several runs stands there several times, and its samples are pooled.

use std::collections::BTreeMap;

use record::{Links, MonitorLine, Payload, Record};
use serde::{Deserialize, Serialize};

use crate::checks::Group;
use crate::report::{Came, Check};

/// Everything that stands for judging.
#[derive(Debug, Clone, Default)]
pub(crate) struct Findings {
    /// Records of `tplens p2p`, each with its place below the result folder; several where samples were added.
    pub(crate) links: Vec<Found<Record>>,
    /// Records of `tplens numa`.
    pub(crate) numa: Vec<Found<Record>>,
    /// Records of `tplens allreduce`.
    pub(crate) collectives: Vec<Found<Record>>,
    /// Records of `tplens serve run`.
    pub(crate) serving: Vec<Found<Record>>,
    /// Lines of `tplens monitor` while the groups ran.
    pub(crate) monitor: Vec<MonitorLine>,
    /// Counters before the first load and after the last.
    pub(crate) counters: Option<Counters>,
    /// Lines of the kernel log since the start that tell of a fault; `None` where it may not be read.
    pub(crate) kernel_log: Option<Result<Vec<String>, String>>,
    /// What stood in it before.
    pub(crate) kernel_log_before: Vec<String>,
    /// Devices that stopped answering while groups ran, by their labels, each with the words that say so and their place.
    pub(crate) lost: BTreeMap<String, Found<String>>,
    /// Groups that have no evidence, and why.
    pub(crate) missing: BTreeMap<Group, Came>,
    /// How many devices are there that the command line left out with `--gpus`.
    pub(crate) left_out: usize,
    /// What the figures of a baseline make of this run's, where one was given.
    pub(crate) baseline: Vec<Check>,
}

/// Something with the place that it came from.
#[derive(Debug, Clone)]
pub(crate) struct Found<T> {
    /// The thing.
    pub(crate) it: T,
    /// Its place, relative to the result folder.
    pub(crate) source: String,
}

impl Found<Record> {
    /// The payload of a record of `tplens p2p`.
    pub(crate) fn links(&self) -> Option<&Links> {
        match &self.it.payload {
            Payload::Links(links) => Some(links),
            _ => None,
        }
    }
}

impl<T> Found<T> {
    /// Whether it is of a round of a soak, in which memory and processors were loaded besides.
    pub(crate) fn is_of_soak(&self) -> bool {
        self.source.contains("soak-")
    }
}

/// Counters by name before and after.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Counters {
    /// Seconds between the readings.
    pub(crate) over_s: f64,
    /// One row for each counter of each device and bridge.
    pub(crate) rows: Vec<Counter>,
}

/// One counter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counter {
    /// Labels of the devices whose link or memory it is of; several for a bridge above several.
    pub(crate) devices: Vec<String>,
    /// Where it was read: a PCI address or the device's label.
    pub(crate) place: String,
    /// `aer_correctable`, `aer_nonfatal`, `aer_fatal`, `pcie_replays`, `ecc_correctable`, `ecc_uncorrectable`, `nic_errors`.
    pub(crate) key: String,
    /// Before; `None` where it was not read.
    pub(crate) before: Option<u64>,
    /// After.
    pub(crate) after: Option<u64>,
}

impl Counter {
    /// By how much it rose; `None` where it fell or was not read.
    pub(crate) fn rise(&self) -> Option<u64> {
        self.after?.checked_sub(self.before?)
    }
}
