//! The lines that `tplens monitor` writes: what there is to read, one line for each reading, and what came late.
//!
//! Its own small schema, since a stream has no envelope; changes add to it. Nothing is read or judged here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use topology::{PciAddress, PcieLink, RetiredPages, RowRemaps};

use super::devices::{BackendFacts, Mig};

/// Version of these lines.
pub const MONITOR_SCHEMA: u32 = 1;

/// One line of a monitor's output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum MonitorLine {
    /// What follows; first and once.
    Header(Box<MonitorHeader>),
    /// One reading of one device.
    Sample(Box<MonitorSample>),
    /// A device whose last reading has no answer yet: no new one was asked for.
    Late(MonitorLate),
    /// CPU use of one process since its last line.
    Cpu(MonitorCpu),
    /// A process that was watched is gone.
    Gone {
        /// Nanoseconds since the start.
        at_ns: u64,
        /// Its id.
        pid: u32,
    },
    /// The process that reads devices ended; it was started again, once.
    Lost {
        /// Nanoseconds since the start; 0 where it ended before.
        at_ns: u64,
        /// How it ended.
        what: String,
    },
    /// The end; last and once, unless the reader or the machine went away.
    End(MonitorEnd),
}

impl MonitorLine {
    /// When it was written at the earliest, nanoseconds since the monitor's start; 0 for the header.
    #[must_use]
    pub fn written_ns(&self) -> u64 {
        match self {
            Self::Header(_) => 0,
            Self::Sample(sample) => sample.answered_ns,
            Self::Late(late) => late.at_ns,
            Self::Cpu(cpu) => cpu.at_ns,
            Self::Gone { at_ns, .. } | Self::Lost { at_ns, .. } => *at_ns,
            Self::End(end) => end.at_ns,
        }
    }
}

/// What a stream holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MonitorHeader {
    /// [`MONITOR_SCHEMA`].
    pub schema: u32,
    /// The program.
    pub program: String,
    /// Its version.
    pub version: String,
    /// Wall clock at the start, RFC 3339; all `_ns` count from then on the monotonic clock.
    pub started: String,
    /// The same in nanoseconds since 1970, to lay other logs beside; `None` where the clock stands before that.
    pub started_unix_ns: Option<u64>,
    /// The boot it ran in, from the kernel's boot id; `None` where that could not be read, and in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// Readings a second that are aimed at.
    pub hz: f64,
    /// Seconds that it is to last; `None` until it is stopped.
    pub duration_s: Option<f64>,
    /// Name of the simulated machine, where the driver is a simulated one: its numbers are arithmetic, never measurements.
    pub soft_box: Option<String>,
    /// The driver that answered.
    pub backend: BackendFacts,
    /// The devices; a sample names one by its place here.
    pub devices: Vec<MonitorDevice>,
    /// The processes whose CPU use is reported.
    pub processes: Vec<MonitorProcess>,
    /// Values that were not there when it started, with the reason; they are `null` in samples.
    pub unavailable: Vec<MonitorGap>,
}

/// A device that is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonitorDevice {
    /// `GPU0`, `MIG0` or `HOST0`, the number being the backend's.
    pub label: String,
    /// The vendor's name of it.
    pub name: String,
    /// UUID of the device or MIG instance.
    pub uuid: Option<String>,
    /// PCI address of the physical device, which is what is read.
    pub address: Option<PciAddress>,
    /// NUMA node it hangs on; `None` where the kernel does not say.
    pub node: Option<u32>,
    /// The MIG instance, where it is one: its values are those of the whole device.
    pub mig: Option<Mig>,
}

/// A process whose CPU use is reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonitorProcess {
    /// Its id.
    pub pid: u32,
    /// Its command's name, as the kernel has it.
    pub command: String,
}

/// A value that a device does not give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonitorGap {
    /// Place of the device in the header.
    pub device: usize,
    /// Key of the value; `None` where the device did not answer at all.
    pub key: Option<String>,
    /// Why.
    pub reason: String,
}

/// One reading of one device: the values are of some moment between the two instants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MonitorSample {
    /// Place of the device in the header.
    pub device: usize,
    /// When it was asked, nanoseconds since the start.
    pub asked_ns: u64,
    /// When its answer came.
    pub answered_ns: u64,
    /// The values.
    pub values: MonitorValues,
    /// Reasons of missing values that the header does not give, by key.
    pub missing: BTreeMap<String, String>,
}

/// The values of a reading; `None` where missing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MonitorValues {
    /// The narrowest link between root complex and card.
    pub slot_link: Option<PcieLink>,
    /// The device's own link.
    pub device_link: Option<PcieLink>,
    /// KB/s received over PCIe.
    pub pcie_rx_kb_per_s: Option<u32>,
    /// KB/s sent over PCIe.
    pub pcie_tx_kb_per_s: Option<u32>,
    /// Packets sent again over PCIe.
    pub pcie_replays: Option<u32>,
    /// Memory errors that were corrected; absent in streams of before.
    pub ecc_corrected: Option<u64>,
    /// Memory errors that were not.
    pub ecc_uncorrected: Option<u64>,
    /// Rows of memory that were replaced; absent in streams of before, as the next one and the four of temperature.
    pub row_remaps: Option<RowRemaps>,
    /// Pages of memory that were taken out of use.
    pub retired_pages: Option<RetiredPages>,
    /// MHz of the multiprocessors.
    pub sm_clock_mhz: Option<u32>,
    /// MHz of the memory.
    pub memory_clock_mhz: Option<u32>,
    /// Watts.
    pub power_w: Option<f64>,
    /// The sensor that the temperature and its thresholds are of; absent in streams of before.
    pub temperature_sensor: Option<String>,
    /// Degrees Celsius.
    pub temperature_c: Option<u32>,
    /// Degrees Celsius below the temperature that it slows down at; below 0 where it is hotter.
    pub temperature_margin_c: Option<i32>,
    /// Degrees Celsius that it lowers its clocks at to protect itself.
    pub slowdown_c: Option<u32>,
    /// Degrees Celsius that it switches itself off at.
    pub shutdown_c: Option<u32>,
    /// Degrees Celsius that it is to work at, at most.
    pub most_operating_c: Option<u32>,
    /// Percent of time with a kernel.
    pub utilisation_percent: Option<u32>,
    /// Bytes of memory in use.
    pub memory_used_bytes: Option<u64>,
    /// What holds the clocks down; empty where nothing does.
    pub throttle: Option<Vec<String>>,
}

/// A device that has not answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonitorLate {
    /// Place of the device in the header.
    pub device: usize,
    /// Nanoseconds since the start.
    pub at_ns: u64,
    /// How long its reading has been waited for.
    pub waited_ns: u64,
    /// The same in words.
    pub what: String,
}

/// CPU use of a process with its threads over a span.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MonitorCpu {
    /// Its id.
    pub pid: u32,
    /// End of the span, nanoseconds since the start.
    pub at_ns: u64,
    /// Length of the span.
    pub over_ns: u64,
    /// Threads at its end.
    pub threads: usize,
    /// CPU seconds a second by the NUMA node of the CPU that each thread was on at the end of the span.
    pub by_node: Vec<NodeUse>,
    /// CPU seconds a second of threads on no known node, of threads that ended, and of rounding to clock ticks.
    pub unplaced: f64,
}

/// CPU use on one NUMA node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeUse {
    /// The node.
    pub node: u32,
    /// CPU seconds a second.
    pub cpus: f64,
}

/// How a stream ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonitorEnd {
    /// Nanoseconds since the start.
    pub at_ns: u64,
    /// `duration`, the signal's name, or what went wrong.
    pub reason: String,
    /// Samples written.
    pub samples: u64,
    /// Lines about late devices.
    pub late: u64,
    /// Readings that were not asked for because this process itself fell behind, as with a slow reader.
    pub skipped: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_apart_by_their_kind_and_read_back() {
        let lines = [
            MonitorLine::Gone { at_ns: 5, pid: 12 },
            MonitorLine::Cpu(MonitorCpu {
                pid: 12,
                at_ns: 2_000_000_000,
                over_ns: 1_000_000_000,
                threads: 3,
                by_node: vec![NodeUse { node: 1, cpus: 1.5 }],
                unplaced: 0.0,
            }),
            MonitorLine::Sample(Box::new(MonitorSample {
                device: 0,
                asked_ns: 1,
                answered_ns: 2,
                values: MonitorValues {
                    slot_link: PcieLink::new(4, 16).ok(),
                    ..MonitorValues::default()
                },
                missing: BTreeMap::new(),
            })),
        ];
        for line in lines {
            let json = serde_json::to_string(&line).unwrap();
            assert!(json.starts_with("{\"line\":\""), "{json}");
            assert_eq!(serde_json::from_str::<MonitorLine>(&json).unwrap(), line);
        }
    }

    #[test]
    fn a_later_version_may_add_keys() {
        let json = r#"{"line":"gone","at_ns":5,"pid":12,"why":"killed"}"#;
        let line = serde_json::from_str::<MonitorLine>(json).unwrap();
        assert_eq!(line, MonitorLine::Gone { at_ns: 5, pid: 12 });
    }
}
