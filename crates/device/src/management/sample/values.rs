//! [`Sample`]: one reading of a device's link, counters, clocks, power and load. Nothing is kept between readings.

use nvml_wrapper::error::NvmlError;
use topology::{PcieLink, RetiredPages, RowRemaps};

use super::super::Answer;

/// What a device said at one moment; of each value that is missing, why.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The device's own link.
    pub device_link: Answer<PcieLink>,
    /// What it received over PCIe, KB/s over the 20 ms before the answer.
    pub pcie_rx_kb_per_s: Answer<u32>,
    /// What it sent, KB/s.
    pub pcie_tx_kb_per_s: Answer<u32>,
    /// Packets that its link had to send again since the driver was loaded.
    pub pcie_replays: Answer<u32>,
    /// Errors that its memory corrected since the driver was loaded.
    pub ecc_corrected: Answer<u64>,
    /// Errors that its memory did not mend.
    pub ecc_uncorrected: Answer<u64>,
    /// Rows of its memory that were replaced by spare ones.
    pub row_remaps: Answer<RowRemaps>,
    /// Pages of its memory that were taken out of use.
    pub retired_pages: Answer<RetiredPages>,
    /// Clock of the multiprocessors, MHz.
    pub sm_clock_mhz: Answer<u32>,
    /// Clock of the memory, MHz.
    pub memory_clock_mhz: Answer<u32>,
    /// Power draw, W.
    pub power_w: Answer<f64>,
    /// The sensor that this temperature and its thresholds are of, where a device has several the one nearest to slowing it down.
    pub temperature_sensor: Answer<String>,
    /// Temperature of it, degrees Celsius.
    pub temperature_c: Answer<u32>,
    /// How far it is below the temperature that it slows down at, degrees Celsius.
    pub temperature_margin_c: Answer<i32>,
    /// Temperature that it lowers its clocks at to protect itself.
    pub slowdown_c: Answer<u32>,
    /// Temperature that it switches itself off at.
    pub shutdown_c: Answer<u32>,
    /// Temperature that it is to work at, at most.
    pub most_operating_c: Answer<u32>,
    /// Utilisation of the compute units, percent.
    pub utilisation_percent: Answer<u32>,
    /// Memory in use, bytes.
    pub memory_used_bytes: Answer<u64>,
    /// What holds the clocks down, by name; empty where nothing does.
    pub throttle: Answer<Vec<String>>,
}

impl Sample {
    /// A sample in which everything is missing for one reason.
    #[must_use]
    pub fn missing(reason: &str) -> Self {
        fn no<T>(reason: &str) -> Answer<T> {
            Err(reason.to_owned())
        }
        Self {
            device_link: no(reason),
            pcie_rx_kb_per_s: no(reason),
            pcie_tx_kb_per_s: no(reason),
            pcie_replays: no(reason),
            ecc_corrected: no(reason),
            ecc_uncorrected: no(reason),
            row_remaps: no(reason),
            retired_pages: no(reason),
            sm_clock_mhz: no(reason),
            memory_clock_mhz: no(reason),
            power_w: no(reason),
            temperature_sensor: no(reason),
            temperature_c: no(reason),
            temperature_margin_c: no(reason),
            slowdown_c: no(reason),
            shutdown_c: no(reason),
            most_operating_c: no(reason),
            utilisation_percent: no(reason),
            memory_used_bytes: no(reason),
            throttle: no(reason),
        }
    }
}

/// An answer of NVIDIA's library, with its words where there is none.
pub(in crate::management) fn told<T>(answer: Result<T, NvmlError>) -> Answer<T> {
    answer.map_err(|error| error.to_string())
}
