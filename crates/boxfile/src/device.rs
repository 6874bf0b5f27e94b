//! The `[[device]]` tables: one GPU each.

use crate::{Figure, Link};
use serde::{Deserialize, Serialize};

/// One physical GPU of the box.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// PCI address, lower case with domain and function: `0000:21:00.0`.
    pub address: String,
    /// Address of the port above, or a root such as `pci0000:20`.
    pub parent: String,
    /// The vendor's unique id, for NVIDIA `GPU-` and a UUID.
    pub uuid: String,
    /// Marketing name as the driver prints it.
    pub name: String,
    /// PCI vendor and device id in hexadecimal: `10de:26b5`.
    pub pci_id: String,
    /// PCI class in hexadecimal, six digits: `030200`.
    pub class: String,
    /// NUMA node, or absent where the firmware does not say (sysfs then shows -1).
    pub node: Option<u32>,
    /// Device memory in MiB.
    pub memory_mib: u64,
    /// Size of the window through which others reach the device's memory (PCI BAR), MiB; absent: all of the memory.
    pub bar_mib: Option<u64>,
    /// Copies that can run at one time on this device.
    pub copy_engines: u32,
    /// Multiprocessors or compute units, as the driver counts them; absent: the driver does not say.
    pub multiprocessors: Option<u32>,
    /// Link under load as the device function shows it; absent where a guest cannot read it. On AMD cards with an on-card
    /// switch this is the internal link.
    pub link: Option<Link>,
    /// Link while no context is open, where it downshifts.
    pub idle_link: Option<Link>,
    /// What the device function shows as maximum.
    pub maximum: Option<Link>,
    /// Payload rate host to device from pinned memory, decimal GB/s, one direction, device timed.
    pub h2d_pinned: Figure,
    /// Payload rate device to host into pinned memory, decimal GB/s.
    pub d2h_pinned: Figure,
    /// Payload rate host to device from pageable memory, decimal GB/s.
    pub h2d_pageable: Figure,
    /// Payload rate device to host into pageable memory, decimal GB/s.
    pub d2h_pageable: Figure,
    /// What smaller pageable copies reach, where the driver treats them in another way; absent: as larger ones.
    pub pageable_up_to: Option<PageableUpTo>,
    /// Copy within the device, bytes copied per second (each byte is read once and written once, and counted once), decimal GB/s.
    pub local: Figure,
    /// Time from the start of a copy until its first byte moves, microseconds.
    pub copy_latency_us: Figure,
    /// What kernels do on the device; absent: it takes none, and loading code is refused.
    pub kernels: Option<KernelFigures>,
    /// Segments that host copies of this device cross.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_segments: Vec<String>,
    /// What somebody else already holds on the device.
    pub busy: Option<Busy>,
    /// What the management library reports.
    pub sensors: Option<Sensors>,
    /// MIG instances; when there are any, MIG is on and the instances are the CUDA devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mig: Vec<MigInstance>,
}

/// What kernels of a device reach; all of them are above 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelFigures {
    /// Rate at which a copy kernel reads pinned host memory, decimal GB/s.
    pub h2d: Figure,
    /// Rate at which a copy kernel writes pinned host memory, decimal GB/s.
    pub d2h: Figure,
    /// Rate of a kernel within the device's memory, decimal GB/s: of a copy, counted as [`Device::local`] is, a fill, a check.
    pub local: Figure,
    /// Time from the start of a kernel until its first byte moves or its first load is issued, microseconds.
    pub launch_us: Figure,
    /// Time of one dependent load from pinned host memory, nanoseconds.
    pub host_chase_ns: Figure,
    /// Time of one dependent load from the device's own memory, nanoseconds.
    pub local_chase_ns: Figure,
    /// Rate of single-precision multiply-adds in registers, TFLOP/s, each counted as two; absent: kernels that only calculate are
    /// refused.
    pub fp32_tflops: Option<Figure>,
}

/// What pageable copies of up to some size reach, which a driver sends through a buffer of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageableUpTo {
    /// The largest such copy in bytes.
    pub bytes: u64,
    /// Payload rate host to device, decimal GB/s, in place of [`Device::h2d_pageable`].
    pub h2d: Figure,
    /// Payload rate device to host, decimal GB/s, in place of [`Device::d2h_pageable`].
    pub d2h: Figure,
}

/// What somebody else already holds on a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Busy {
    /// Memory in use, MiB.
    pub memory_mib: u64,
    /// Compute processes that the management library lists; may be empty although memory is held.
    #[serde(default)]
    pub processes: Vec<Process>,
}

/// A process on a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Process name.
    pub name: String,
}

/// What the management library reports of a device; what is absent is "not supported".
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sensors {
    /// Power draw in watts.
    pub power_w: Option<f64>,
    /// Temperature of the GPU in degrees Celsius.
    pub temperature_c: Option<u32>,
    /// Temperature that it lowers its clocks at to protect itself.
    pub slowdown_c: Option<u32>,
    /// Temperature that it switches itself off at.
    pub shutdown_c: Option<u32>,
    /// Temperature that it is to work at, at most.
    pub most_operating_c: Option<u32>,
    /// Temperature of an AMD chip at its hottest place; `temperature_c` is that at its edge. Others tell the one alone.
    pub junction_c: Option<u32>,
    /// Temperature there that an AMD chip lowers its clocks at.
    pub junction_slowdown_c: Option<u32>,
    /// Degrees Celsius below the nearest temperature that it slows down at, as newer drivers of NVIDIA tell it beside or instead of that.
    pub margin_c: Option<i32>,
    /// NVIDIA performance state, 0 (full speed) to 15.
    pub performance_state: Option<u32>,
    /// Utilisation of the GPU in percent.
    pub utilization_percent: Option<u32>,
    /// Utilisation of the device memory's interface in percent.
    pub memory_utilization_percent: Option<u32>,
    /// Clock of the multiprocessors in MHz.
    pub sm_clock_mhz: Option<u32>,
    /// Clock of the memory in MHz.
    pub memory_clock_mhz: Option<u32>,
    /// What the device receives over PCIe, KB/s as NVML counts them.
    pub pcie_rx_kb_per_s: Option<u32>,
    /// What it sends, KB/s.
    pub pcie_tx_kb_per_s: Option<u32>,
    /// Packets that the link had to send again so far.
    pub pcie_replays: Option<u32>,
    /// Why clocks are held down, as NVML's bits; without it a device that idles says so and another says nothing.
    pub throttle_bits: Option<u64>,
}

/// One MIG instance of a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MigInstance {
    /// Profile name: `4g.96gb`.
    pub profile: String,
    /// `MIG-` and a UUID.
    pub uuid: String,
    /// Memory of the instance in MiB.
    pub memory_mib: u64,
}

impl Device {
    /// The 16 bytes of the device's UUID, prefix removed; `None` where the text is not a UUID.
    #[must_use]
    pub fn uuid_bytes(&self) -> Option<[u8; 16]> {
        uuid_bytes(self.uuid.split_once('-')?.1)
    }
}

impl MigInstance {
    /// The 16 bytes of the instance's UUID, prefix removed; `None` where the text is not a UUID.
    #[must_use]
    pub fn uuid_bytes(&self) -> Option<[u8; 16]> {
        uuid_bytes(self.uuid.split_once('-')?.1)
    }
}

/// The 16 bytes of a UUID's text `8-4-4-4-12`.
#[must_use]
pub(crate) fn uuid_bytes(text: &str) -> Option<[u8; 16]> {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    if lengths != [8, 4, 4, 4, 12] {
        return None;
    }
    let digits = text.replace('-', "");
    let mut bytes = [0; 16];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some(bytes)
}
