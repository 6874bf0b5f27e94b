//! [`Report`]: what was bound, what was refused, and where each process was; its JSON is an interface.

use std::collections::BTreeMap;

use serde::Serialize;
use topology::{CpuSet, PciAddress};

/// Version of the JSON.
pub(super) const SCHEMA: u32 = 2;

/// A program from its start to its end.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Report {
    pub(super) schema: u32,
    /// The command that binds the same way.
    pub(super) numactl: String,
    /// What of the binding was refused; empty where all of it holds.
    pub(super) not_bound: Vec<String>,
    pub(super) processes: Vec<ProcessReport>,
    /// Seconds from the start to the end; `None` while it runs.
    pub(super) ended_after_s: Option<f64>,
    /// Its exit code, 128 and the number where a signal ended it; `None` while it runs.
    pub(super) exit_code: Option<u8>,
    /// Processes that it left behind.
    pub(super) still_running: Vec<u32>,
}

/// One process, as of the last look at it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ProcessReport {
    pub(super) pid: u32,
    pub(super) command: String,
    /// GPUs whose device files it has opened.
    pub(super) gpus: Vec<PciAddress>,
    /// The nodes that it was to be on: those of its GPUs where each rank is moved, else those of the program.
    pub(super) wanted_nodes: Vec<u32>,
    /// Whether it was moved to them on its own.
    pub(super) moved: bool,
    /// What was refused of that.
    pub(super) not_bound: Vec<String>,
    /// When it was looked at last, in seconds since the start.
    pub(super) looked_at_s: f64,
    /// CPUs that its threads may run on, all together.
    pub(super) cpus_allowed: CpuSet,
    /// Threads by the node on which they ran last.
    pub(super) threads_on: BTreeMap<u32, usize>,
    /// Its memory; `None` before it was looked at.
    pub(super) memory: Option<MemoryReport>,
    /// Why there is none.
    pub(super) memory_unknown: Option<String>,
}

/// Memory of a process.
#[derive(Debug, Clone, Serialize)]
pub(super) struct MemoryReport {
    /// When it was looked at, in seconds since the start.
    pub(super) looked_at_s: f64,
    /// Bytes that it has made, by node. What a driver maps itself, as CUDA's pinned memory, is not among it.
    pub(super) own_bytes: BTreeMap<u32, u64>,
    /// Bytes of mapped files, by node; who read a file first decides where these are.
    pub(super) file_bytes: BTreeMap<u32, u64>,
    /// The part of its own on the nodes that were wanted, 0 to 1; `None` where it has none.
    pub(super) on_wanted: Option<f64>,
}
