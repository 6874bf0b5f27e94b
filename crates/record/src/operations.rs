//! What is called and how: operations, element types, where buffers lie, and how calls follow each other.

use serde::{Deserialize, Serialize};

/// A collective operation.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, strum::Display,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum CollectiveKind {
    /// Every rank ends with the sum over all ranks.
    AllReduce,
    /// Every rank ends with what each rank had, one after the other.
    AllGather,
    /// Every rank ends with its part of the sum over all ranks.
    ReduceScatter,
    /// Every rank ends with what rank 0 had.
    Broadcast,
    /// Every rank sends to the next one and receives from the one before, round the ring.
    #[serde(rename = "sendrecv")]
    #[strum(serialize = "sendrecv")]
    SendRecv,
}

impl CollectiveKind {
    /// Every operation.
    pub const ALL: [Self; 5] = [
        Self::AllReduce,
        Self::AllGather,
        Self::ReduceScatter,
        Self::Broadcast,
        Self::SendRecv,
    ];

    /// How many times the bytes of a rank make the bytes that `algbw` counts: as often as there are ranks where parts of all ranks
    /// make a whole, else once.
    #[must_use]
    pub fn parts(self, ranks: u32) -> u32 {
        match self {
            Self::AllGather | Self::ReduceScatter => ranks,
            Self::AllReduce | Self::Broadcast | Self::SendRecv => 1,
        }
    }
}

/// The type of the elements that are reduced.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, strum::Display,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "lowercase")]
pub enum ElementType {
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary16.
    F16,
    /// bfloat16.
    Bf16,
    /// 8 bits with 4 of exponent and 3 of fraction (OCP OFP8 E4M3).
    #[serde(rename = "f8e4m3")]
    F8E4m3,
    /// 8 bits with 5 of exponent and 2 of fraction (OCP OFP8 E5M2).
    #[serde(rename = "f8e5m2")]
    F8E5m2,
}

impl ElementType {
    /// Bytes of one element.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::F8E4m3 | Self::F8E5m2 => 1,
        }
    }
}

/// Where the result lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BufferPlacement {
    /// In another buffer than what is sent, as engines call it.
    OutOfPlace,
    /// In the buffer that is sent; what lies there before the next call is the last result.
    InPlace,
}

/// How calls follow each other; times of different modes are different numbers and are never merged.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, strum::Display,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum CallMode {
    /// Barrier, one call, wait: wall clock of the host, launch included.
    HostSynced,
    /// Many calls queued one after another between two events: mean of a call.
    BackToBack,
    /// Many calls in one captured graph, replayed: mean of a call without launch cost.
    Graph,
    /// Calls with work of the device between them, less the time of that work alone: what a call adds to a step, with the ranks'
    /// unequal arrival. In a graph where the backend has graphs.
    Interleaved,
}

impl CallMode {
    /// Every mode.
    pub const ALL: [Self; 4] = [
        Self::HostSynced,
        Self::BackToBack,
        Self::Graph,
        Self::Interleaved,
    ];
}
