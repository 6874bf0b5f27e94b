//! Who did the collectives and by which way: library, transports, engine and launcher.

use serde::{Deserialize, Serialize};

use super::operations::CollectiveKind;

/// A collective library as it describes itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibraryFacts {
    /// `nccl`, `rccl`, `mccl`, or `host` for this project's own over shared host memory.
    pub name: String,
    /// Its version, such as `2.29.2`.
    pub version: Option<String>,
    /// The file that was loaded, where it is known.
    pub file: Option<String>,
    /// The transport that the library said it chose; `None` where it did not say.
    pub transport: Option<String>,
}

/// What a collective library said that it chose, in a logged run that was not timed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransportFacts {
    /// The channels between ranks, each once.
    pub channels: Vec<Channel>,
    /// Algorithm and protocol of each call that the library told.
    pub choices: Vec<Choice>,
    /// What explains the transport.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<TransportReason>,
    /// Lines of the library's log that say why something is off, and of older records sentences; for display only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
    /// Why something is not known; `None` where all is.
    pub not_told: Option<String>,
}

/// A rule that explains why a library took its transport.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum TransportReason {
    /// Ranks are on different hosts, or neither direct access nor shared memory connects them.
    OtherHosts,
    /// A variable forbids direct access.
    P2pDisabled {
        /// `NCCL_P2P_DISABLE=1`.
        variable: String,
    },
    /// MIG instances have no peer access.
    Mig,
    /// The driver allows no peer access between these devices.
    PeerAccessDenied,
    /// Pairs are farther from each other than the library goes directly.
    BeyondLevel {
        /// How far it goes, as `PXB`.
        level: String,
        /// Who says so; for display only.
        detail: String,
        /// The pairs, as `0-1 (NODE)`.
        pairs: Vec<String>,
        /// What lets it try, as `NCCL_P2P_LEVEL=SYS`.
        variable: String,
        /// Whether the library is simulated and goes directly all the same.
        simulated: bool,
    },
    /// No rule that is known forbids direct access.
    Unexplained,
}

/// One channel from a rank to another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Channel {
    /// The channel's number.
    pub number: u32,
    /// The rank that sends.
    pub from: u32,
    /// The rank that receives.
    pub to: u32,
    /// The transport in the library's words, such as `P2P/CUMEM`, `SHM/direct` or `NET/IB/0`.
    pub via: String,
}

/// What the library chose for calls of one size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The operation.
    pub kind: CollectiveKind,
    /// As [`super::CollectivePoint::bytes_per_rank`].
    pub bytes_per_rank: u64,
    /// The algorithm in the library's words, such as `RING`.
    pub algorithm: String,
    /// The protocol in the library's words, such as `LL`.
    pub protocol: String,
    /// How many channels it took, where it said so.
    pub channels: Option<u32>,
}

/// A serving engine that timed its own all-reduce.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineRunFacts {
    /// `vllm`, `sglang`, or another that the probe knows.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
    /// The Python that ran it.
    pub python: String,
    /// Where the tensors were: `cuda` or `cpu`, in torch's words.
    pub device: String,
    /// What the engine said of how it does all-reduces, such as why its own kernel is off.
    pub notes: Vec<String>,
}

/// Who started the ranks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LauncherFacts {
    /// `mpirun`, `srun` or `torchrun`.
    pub name: String,
    /// The host of each rank, in rank order.
    pub hosts: Vec<String>,
}
