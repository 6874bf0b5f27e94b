//! The `[[collective]]` tables: how long one call of a collective library takes on this box, by bytes.

use crate::Figure;
use serde::{Deserialize, Serialize};

/// The time of one collective by message size, for one library and one number of ranks.
///
/// A library may have several tables for an operation and a number of ranks, which differ in protocol, transport or both.
///
/// In TOML `points = [[bytes, microseconds], ..]`, and exactly one of `published = "source"` and `assumed = "why"`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collective {
    /// Who does it.
    pub library: CollectiveLibrary,
    /// The operation.
    pub kind: CollectiveKind,
    /// Number of ranks, at least 2.
    pub ranks: u32,
    /// The protocol whose time it is; `None` for whatever the library takes.
    pub protocol: Option<Protocol>,
    /// The transport whose time it is; `None` for whatever the library takes.
    pub transport: Option<Transport>,
    /// Bytes of a rank (all-reduce: its message; all-gather: what it brings; reduce-scatter: what it gets)
    /// with the time of one call on the device in microseconds; bytes ascend.
    pub points: Vec<(u64, f64)>,
    /// Who published the points.
    pub published: Option<String>,
    /// Why these points were taken, which nobody published.
    pub assumed: Option<String>,
    /// What one call costs the host in microseconds: calls that are issued one by one take no less. A graph's calls have none.
    pub launch_us: Option<Figure>,
}

/// Who does a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CollectiveLibrary {
    /// NVIDIA's library.
    Nccl,
    /// AMD's library.
    Rccl,
    /// MetaX's library.
    Mccl,
    /// An engine's own one-shot kernel over peer memory.
    Custom,
}

/// A collective operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CollectiveKind {
    /// Every rank ends with the sum over all ranks.
    AllReduce,
    /// Every rank ends with what each rank had, one after the other.
    AllGather,
    /// Every rank ends with its part of the sum over all ranks.
    ReduceScatter,
}

/// A protocol of NCCL and its relatives: how data and flags go over a transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Protocol {
    /// A flag beside every 4 bytes.
    #[serde(rename = "LL")]
    Ll,
    /// A flag in every 128 bytes.
    #[serde(rename = "LL128")]
    Ll128,
    /// Data in large pieces and flags apart.
    Simple,
}

/// How bytes go from rank to rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// Directly between devices.
    P2p,
    /// Through host memory that processes share.
    Shm,
}

/// What limits a library's choice among the tables of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// The transport that it has to take; `None` for direct where the box has such a table.
    pub transport: Option<Transport>,
    /// The protocols that it may take; empty for all.
    pub protocols: Vec<Protocol>,
}

impl Collective {
    /// The time of one call in microseconds; `None` for 0 bytes.
    ///
    /// Between two points linear in the logarithms of both, or of the bytes alone where a time is 0; below the first its time;
    /// above the last the bandwidth of the last, that is bytes over its time.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "messages are far below 2^53 bytes"
    )]
    pub fn us(&self, bytes: u64) -> Option<f64> {
        let (first, last) = (self.points.first()?, self.points.last()?);
        if bytes == 0 {
            return None;
        }
        if bytes <= first.0 {
            return Some(first.1);
        }
        if bytes >= last.0 {
            return Some(last.1 * (bytes as f64 / last.0 as f64));
        }
        let above = self.points.partition_point(|point| point.0 <= bytes);
        let (below, above) = (self.points.get(above - 1)?, self.points.get(above)?);
        let part = (bytes as f64 / below.0 as f64).ln() / (above.0 as f64 / below.0 as f64).ln();
        if below.1 == 0.0 || above.1 == 0.0 {
            return Some(below.1 + (above.1 - below.1) * part);
        }
        Some(below.1 * (above.1 / below.1).powf(part))
    }
}
