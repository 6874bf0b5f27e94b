//! The `[[far]]` tables: what copies lose to memory, and to threads, on another NUMA node than the device's.

use crate::Figure;
use serde::{Deserialize, Serialize};

/// What is different at one distance between nodes, or from one node to another.
///
/// The way goes from where a device or a thread is to where the memory is. Parts are of the near figure, and one above 1 says
/// that far is faster than near.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Far {
    /// The distance, as the `[[node]]` tables give it from the first node to the memory's.
    pub distance: Option<u32>,
    /// The two nodes instead: of the device or the thread, then of the memory. Such a table comes before one by distance.
    pub nodes: Option<[u32; 2]>,
    /// Part of the host to device rate from memory that devices reach: pinned.
    pub h2d: Figure,
    /// Part of the device to host rate into such memory.
    pub d2h: Figure,
    /// Part of the host to device rate from pageable memory.
    pub h2d_pageable: Figure,
    /// Part of the device to host rate into pageable memory.
    pub d2h_pageable: Figure,
    /// Part of a pageable copy's rate where the thread that issues it is this far from the memory, besides.
    pub pageable_thread: Figure,
    /// What the latency of a copy is longer, microseconds.
    pub latency_us: Figure,
    /// Segments that such copies cross besides the device's `host_segments`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<String>,
}
