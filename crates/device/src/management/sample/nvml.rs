//! A sample from NVIDIA's management library.

use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::{
    Clock, EccCounter, MemoryError, PcieUtilCounter, TemperatureSensor,
};
use nvml_wrapper::error::{Bits, NvmlError};
use topology::PcieLink;

use super::super::Answer;
use super::super::ffi::margin;
use super::repairs::{Thresholds, repairs};
use super::values::{Sample, told};

/// Reasons for lower clocks by their bit (`nvmlClocksEventReason*` in nvml.h), in words that `nvidia-smi -q` uses.
const REASONS: [(u64, &str); 9] = [
    (0x001, "idle"),
    (0x002, "applications clocks setting"),
    (0x004, "software power cap"),
    (0x008, "hardware slowdown"),
    (0x010, "sync boost"),
    (0x020, "software thermal slowdown"),
    (0x040, "hardware thermal slowdown"),
    (0x080, "hardware power brake slowdown"),
    (0x100, "display clocks setting"),
];

/// Reads a physical device now, its link by `link`; the two PCIe counters take 20 ms each.
pub(in crate::management) fn nvml_sample(
    device: &Device<'_>,
    link: impl FnOnce() -> Answer<Option<PcieLink>>,
) -> Sample {
    // The counters first, 20 ms each: a link that wakes up meanwhile is then read as it was for the last of that traffic, and
    // never as idle beside the bytes of a load.
    let received = told(device.pcie_throughput(PcieUtilCounter::Receive));
    let sent = told(device.pcie_throughput(PcieUtilCounter::Send));
    let link = link().and_then(|link| {
        let unknown = || "the library gives a link that PCI Express does not have".to_owned();
        link.ok_or_else(unknown)
    });
    let (row_remaps, retired_pages) = repairs(device);
    let thresholds = Thresholds::of(device);
    let temperature = told(device.temperature(TemperatureSensor::Gpu));
    Sample {
        device_link: link,
        pcie_replays: told(device.pcie_replay_counter()),
        // Volatile: those of the device's life are written only now and then.
        ecc_corrected: told(device.total_ecc_errors(MemoryError::Corrected, EccCounter::Volatile)),
        ecc_uncorrected: told(
            device.total_ecc_errors(MemoryError::Uncorrected, EccCounter::Volatile),
        ),
        sm_clock_mhz: told(device.clock_info(Clock::SM)),
        memory_clock_mhz: told(device.clock_info(Clock::Memory)),
        // The library says milliwatts.
        power_w: told(device.power_usage()).map(|milliwatts| f64::from(milliwatts) / 1000.0),
        temperature_margin_c: thresholds.margin(&temperature, || margin(device)),
        // The library has this one alone (`nvmlTemperatureSensors_t`).
        temperature_sensor: temperature.clone().map(|_| "GPU".to_owned()),
        temperature_c: temperature,
        slowdown_c: thresholds.slowdown,
        shutdown_c: thresholds.shutdown,
        most_operating_c: thresholds.most_operating,
        row_remaps,
        retired_pages,
        utilisation_percent: told(device.utilization_rates()).map(|rates| rates.gpu),
        memory_used_bytes: told(device.memory_info()).map(|memory| memory.used),
        throttle: bits(device).map(names),
        pcie_rx_kb_per_s: received,
        pcie_tx_kb_per_s: sent,
    }
}

/// All bits that the library gives, those that the binding has no name for among them.
fn bits(device: &Device<'_>) -> Answer<u64> {
    match device.current_throttle_reasons_strict() {
        Ok(reasons) => Ok(reasons.bits()),
        Err(NvmlError::IncorrectBits(Bits::U64(bits))) => Ok(bits),
        Err(error) => Err(error.to_string()),
    }
}

fn names(bits: u64) -> Vec<String> {
    let set = (0..64)
        .map(|bit| 1_u64 << bit)
        .filter(|bit| bits & bit != 0);
    set.map(|bit| {
        let known = REASONS.iter().find(|(known, _)| *known == bit);
        known.map_or_else(|| format!("{bit:#x}"), |(_, name)| (*name).to_owned())
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bit_is_a_reason_and_an_unknown_one_keeps_its_number() {
        // 4 + 64 + 4096.
        assert_eq!(
            names(0x1044),
            ["software power cap", "hardware thermal slowdown", "0x1000"]
        );
        assert!(names(0).is_empty());
    }
}
