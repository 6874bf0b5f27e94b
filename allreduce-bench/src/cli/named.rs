//! Choices that the command line has by name, and what each stands for.

use clap::ValueEnum;
use record::{CallMode, CollectiveKind, ElementType};

/// A serving engine by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineArg {
    /// vLLM.
    Vllm,
    /// SGLang.
    Sglang,
}

/// An operation by its name in nccl-tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OpArg {
    /// Every rank ends with the sum.
    #[value(name = "all_reduce", alias = "all-reduce")]
    AllReduce,
    /// Every rank ends with what each had.
    #[value(name = "all_gather", alias = "all-gather")]
    AllGather,
    /// Every rank ends with its part of the sum.
    #[value(name = "reduce_scatter", alias = "reduce-scatter")]
    ReduceScatter,
    /// All of them.
    All,
}

impl OpArg {
    /// The operations that it names.
    pub(crate) fn kinds(self) -> Vec<CollectiveKind> {
        match self {
            Self::AllReduce => vec![CollectiveKind::AllReduce],
            Self::AllGather => vec![CollectiveKind::AllGather],
            Self::ReduceScatter => vec![CollectiveKind::ReduceScatter],
            Self::All => vec![
                CollectiveKind::AllReduce,
                CollectiveKind::AllGather,
                CollectiveKind::ReduceScatter,
            ],
        }
    }
}

/// A type of elements by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DtypeArg {
    /// bfloat16.
    Bf16,
    /// IEEE 754 binary16.
    F16,
    /// IEEE 754 binary32.
    F32,
}

impl From<DtypeArg> for ElementType {
    fn from(named: DtypeArg) -> Self {
        match named {
            DtypeArg::Bf16 => Self::Bf16,
            DtypeArg::F16 => Self::F16,
            DtypeArg::F32 => Self::F32,
        }
    }
}

/// A mode by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    /// Barrier, one call, wait, by the host's clock: launch included.
    HostSynced,
    /// Many calls queued one after another: mean of a call.
    BackToBack,
    /// Many calls in a captured graph: mean of a call without its launch.
    Graph,
    /// Calls with the device's own work between them, less the time of that work: what a call adds to a step.
    Interleaved,
}

impl From<ModeArg> for CallMode {
    fn from(named: ModeArg) -> Self {
        match named {
            ModeArg::HostSynced => Self::HostSynced,
            ModeArg::BackToBack => Self::BackToBack,
            ModeArg::Graph => Self::Graph,
            ModeArg::Interleaved => Self::Interleaved,
        }
    }
}
