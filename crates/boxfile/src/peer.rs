//! Paths between devices: the `[peer_default]` table, the `[[peer]]` exceptions, and what they make of a pair.

use crate::Figure;
use serde::{Deserialize, Serialize};

/// What holds for every pair that has no `[[peer]]` table of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerDefault {
    /// Whether the driver reports that peer access is possible. Never true by default between MIG instances.
    pub access: bool,
    /// Whether the pair is joined by links of its own (NVLink, MetaXLink), so that copies do not cross the PCIe links.
    #[serde(default)]
    pub fabric: bool,
    /// Payload rate between devices of one NUMA node, decimal GB/s, one direction.
    pub same_node: Option<Figure>,
    /// Payload rate between devices of different (or unknown) NUMA nodes, decimal GB/s, one direction.
    pub cross_node: Option<Figure>,
    /// Time from the start of a copy until its first byte moves, microseconds.
    pub latency_us: Option<Figure>,
    /// Rate at which a copy kernel reads the other device's memory, decimal GB/s; absent: the pair's rate.
    pub kernel_read: Option<Figure>,
    /// Rate at which a copy kernel writes the other device's memory, decimal GB/s; absent: the pair's rate.
    pub kernel_write: Option<Figure>,
    /// Time of one dependent load from the other device's memory, nanoseconds; absent: such a load is refused.
    pub chase_ns: Option<Figure>,
    /// Segments that every peer copy crosses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<String>,
    /// Segments that peer copies between different NUMA nodes cross besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cross_segments: Vec<String>,
}

/// What is different for one pair, in both directions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// The two devices, as positions in the `[[device]]` list.
    pub pair: [usize; 2],
    /// Whether the driver reports that peer access is possible.
    pub access: Option<bool>,
    /// Whether the pair has links of its own.
    pub fabric: Option<bool>,
    /// Payload rate, decimal GB/s, one direction.
    pub gbps: Option<Figure>,
    /// Time from the start of a copy until its first byte moves, microseconds.
    pub latency_us: Option<Figure>,
    /// Rate at which a copy kernel reads the other device's memory, decimal GB/s; absent: that of `[peer_default]`.
    pub kernel_read: Option<Figure>,
    /// Rate at which a copy kernel writes the other device's memory, decimal GB/s; absent: that of `[peer_default]`.
    pub kernel_write: Option<Figure>,
    /// Time of one dependent load from the other device's memory, nanoseconds; absent: that of `[peer_default]`.
    pub chase_ns: Option<Figure>,
    /// Segments crossed instead of those of `[peer_default]`.
    pub segments: Option<Vec<String>>,
    /// The access flag says yes, yet the bytes go through host memory, at this pair's own rate and latency.
    #[serde(default)]
    pub staged: bool,
}

/// What the file says about copies between two devices, defaults applied.
#[derive(Debug, Clone, PartialEq)]
pub struct PeerPath {
    /// Whether the driver reports peer access, before faults.
    pub access: bool,
    /// Payload rate of one direction, decimal GB/s; absent where the file gives none.
    pub gbps: Option<f64>,
    /// Start-up time of a copy in microseconds; absent where the file gives none.
    pub latency_us: Option<f64>,
    /// Rate at which a copy kernel reads the other device's memory, decimal GB/s: `gbps` where the file gives none of its own.
    pub kernel_read: Option<f64>,
    /// Rate at which a copy kernel writes the other device's memory, decimal GB/s: `gbps` where the file gives none of its own.
    pub kernel_write: Option<f64>,
    /// Time of one dependent load from the other device's memory, nanoseconds; absent where the file gives none.
    pub chase_ns: Option<f64>,
    /// Segments crossed, by id.
    pub segments: Vec<String>,
    /// The bytes go through host memory although access is reported.
    pub staged: bool,
    /// The pair has links of its own and does not use the PCIe links.
    pub fabric: bool,
}
