//! The `[[fault]]` tables: what a simulated driver shall do wrong. Counters are per process and start at its start.

use crate::Protocol;
use serde::{Deserialize, Serialize};

/// One injected fault; `kind` in TOML names the variant in snake case.
///
/// Device numbers are positions in the file's `[[device]]` list. A fault on a peer pair concerns copies that go directly
/// (peer access is enabled), by copy engines and by kernels; what the driver stages through the host is not touched by it.
/// A fault on host or local copies, and the count of copies, concern copy engines only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// The `nth` allocation of that site, counted from 1, reports out of memory.
    AllocFailure {
        /// Device or pinned host memory.
        on: AllocSite,
        /// Which allocation, from 1.
        nth: u64,
    },
    /// Initialising the driver returns this code.
    InitFailure {
        /// The vendor's error code, not 0.
        code: i32,
    },
    /// `pair = [a, b]`: a may not access b. Reported as not possible, and enabling it fails.
    PeerDenied {
        /// Accessing device, then accessed device.
        pair: [usize; 2],
    },
    /// `pair = [a, b]`: direct copies from a to b return success and move nothing.
    DropData {
        /// Source, then destination.
        pair: [usize; 2],
    },
    /// `pair = [a, b]`: direct copies from a to b, by copy engines and by kernels, have so many percent of their rate; those from b to a
    /// are as fast as ever.
    SlowWay {
        /// Source, then destination.
        pair: [usize; 2],
        /// Of the rate, 1 to 99.
        percent: u8,
    },
    /// Copies arrive with wrong bytes: either `pair` (direct copies from a to b), or `direction` and `device`.
    WrongData {
        /// Source, then destination.
        pair: Option<[usize; 2]>,
        /// Direction of a host copy.
        direction: Option<Direction>,
        /// Device of the host copy.
        device: Option<usize>,
    },
    /// Placing host memory on a node is refused with EPERM, as default profiles of containers do.
    MbindRefused {
        /// The node; absent: every node.
        node: Option<u32>,
    },
    /// After this many copies that touch the device, the next is refused and the device stays lost in this process.
    DeviceLost {
        /// The device.
        device: usize,
        /// Copies that still go well.
        after_copies: u64,
        /// The driver's code of a device that fell off the bus, which the management library then reports lost; absent: that of
        /// a launch that failed.
        off_the_bus: Option<i32>,
    },
    /// An NVLink of the device is down, and copies over its links have the rate of the others.
    NvlinkDown {
        /// The device.
        device: usize,
        /// The link's number.
        link: u8,
    },
    /// The device's NVLinks counted so many failed checks (CRC).
    NvlinkErrors {
        /// The device.
        device: usize,
        /// Failed checks.
        errors: u64,
        /// Whether as many more are counted in each tenth of a second.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        rising: bool,
    },
    /// After this many matching operations, the next never ends.
    Hang {
        /// Which operation.
        op: HangOp,
        /// Its device, for host and local copies and for kernels.
        device: Option<usize>,
        /// Source and destination for `peer`, accessing and accessed device for `enable_peer`.
        pair: Option<[usize; 2]>,
        /// Matching operations that still go well.
        #[serde(default)]
        after_copies: u64,
    },
    /// After this many copies that touch the device, its slot link falls to this generation and width.
    Retrain {
        /// The device.
        device: usize,
        /// Copies at the full rate.
        after_copies: u64,
        /// Generation from then on.
        generation: u8,
        /// Width from then on.
        width: u8,
    },
    /// After this many such kernels of the device, each further one goes wrong: a bit of the middle word that it wrote flips, or its
    /// first sum is wrong.
    KernelWrong {
        /// The device.
        device: usize,
        /// Which kernels.
        op: WrongOp,
        /// Launches that still go well.
        #[serde(default)]
        after_launches: u64,
    },
    /// The function at this address counts so many errors of its link while the box is under load. Who reads the counters plays it, by
    /// `sysfs::count_link_errors`: a driver does not.
    LinkErrors {
        /// A device or a port.
        address: String,
        /// Errors that the link corrected.
        #[serde(default)]
        correctable: u64,
        /// Packets lost.
        #[serde(default)]
        nonfatal: u64,
        /// Links lost.
        #[serde(default)]
        fatal: u64,
    },
    /// The device replaced so many rows of its memory by spare ones, as the management library tells from a reading on. Several of one
    /// device are added up. NVIDIA's devices alone; a device that has sensors and no such fault replaced none.
    RowRemaps {
        /// The device.
        device: usize,
        /// For errors that the memory corrected.
        #[serde(default)]
        corrected: u64,
        /// For errors that it did not.
        #[serde(default)]
        uncorrected: u64,
        /// Whether a row waits for a reset.
        #[serde(default)]
        pending: bool,
        /// Whether a row could not be replaced.
        #[serde(default)]
        failed: bool,
        /// Readings of a process in which nothing of it is told yet.
        #[serde(default)]
        after_readings: u64,
    },
    /// The driver took so many pages of the device's memory out of use: NVIDIA's management library tells it from a reading on, AMD's
    /// kernel driver in a file.
    RetiredPages {
        /// The device.
        device: usize,
        /// All of them.
        #[serde(default)]
        retired: u64,
        /// Those on which data was lost, which AMD's driver does not tell.
        #[serde(default)]
        after_lost_data: u64,
        /// Whether one of them waits: for a reset on NVIDIA's devices, for the driver's next window on AMD's.
        #[serde(default)]
        pending: bool,
        /// Readings of a process in which nothing of it is told yet; 0 on AMD's devices.
        #[serde(default)]
        after_readings: u64,
    },
    /// Joining a communicator as this rank returns this code of the collective library.
    CollectiveInitFailure {
        /// The rank.
        rank: u32,
        /// The library's result code: `ncclResult_t`, 1 to 6.
        code: i32,
    },
    /// After this many calls of a communicator, every result on this rank is wrong; the other ranks' are right.
    CollectiveWrong {
        /// The rank.
        rank: u32,
        /// Calls that still go well; launches of graphs count the calls in them.
        after_calls: u64,
        /// Only calls that were captured in a graph.
        #[serde(default)]
        captured: bool,
    },
    /// After this many calls of a communicator, this rank's next never ends, and so neither does any other rank's.
    CollectiveHang {
        /// The rank.
        rank: u32,
        /// Calls that still go well.
        after_calls: u64,
        /// The protocol whose calls hang, where only these do; the count is of all calls.
        protocol: Option<Protocol>,
    },
    /// After this many calls of a communicator, the process of this rank is killed when it issues the next.
    CollectiveDeath {
        /// The rank.
        rank: u32,
        /// Calls that still go well.
        after_calls: u64,
    },
}

/// Where an allocation fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AllocSite {
    /// Device memory.
    Device,
    /// Pinned host memory.
    Host,
}

/// Direction of a host copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Host to device.
    H2d,
    /// Device to host.
    D2h,
}

/// Kernels that go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WrongOp {
    /// Fills of memory.
    Fill,
    /// Calculations in registers.
    Arithmetic,
}

/// The operation that never ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HangOp {
    /// A direct peer copy by a copy engine.
    Peer,
    /// A host to device copy.
    H2d,
    /// A device to host copy.
    D2h,
    /// A copy within a device.
    Local,
    /// A copy kernel of the device, whatever it copies.
    Kernel,
    /// Enabling peer access.
    EnablePeer,
    /// Initialising the driver.
    Init,
}
