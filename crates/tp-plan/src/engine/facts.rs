//! How an engine runs a model: the facts that decide counts, padding and paths.

use serde::{Deserialize, Serialize};

/// An engine as it was, or would be, started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineFacts {
    /// Which engine.
    pub engine: Engine,
    /// Its version, such as `0.13.0`; `None` where unknown.
    pub version: Option<String>,
    /// Tensor parallel size.
    pub tp: u32,
    /// Captured graphs, or eager.
    pub execution: Execution,
    /// The engine's own all-reduce.
    pub custom_all_reduce: CustomAllReduce,
    /// Tokens of one step at most; for SGLang of one prefill chunk.
    pub max_batched_tokens: u32,
    /// Sequences that run at once at most; `None` where the engine decides by free memory.
    pub max_num_seqs: Option<u32>,
    /// Whose GPUs.
    pub vendor: Vendor,
    /// The GPU's architecture, such as `sm_90`; `None` where unknown.
    pub architecture: Option<String>,
    /// Whether every pair of ranks has a direct NVLink or xGMI.
    #[serde(default)]
    pub full_nvlink: bool,
    /// What was assumed and not read from the engine, a sentence each.
    pub assumed: Vec<String>,
}

/// A serving engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// vLLM.
    Vllm,
    /// SGLang.
    Sglang,
    /// TensorRT-LLM.
    Trtllm,
}

/// How steps are launched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Execution {
    /// Captured graphs of these batch sizes, ascending; larger batches run eagerly.
    Graph {
        /// The sizes.
        capture_sizes: Vec<u32>,
    },
    /// No graphs (`--enforce-eager`).
    Eager,
}

/// The state of the engine's own all-reduce.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CustomAllReduce {
    /// Used for messages below its limit.
    Active,
    /// Not used.
    Off {
        /// The rule that switched it off; for display only.
        reason: String,
        /// What kind of rule.
        #[serde(default)]
        cause: OffCause,
    },
}

/// Why the engine's own all-reduce is not used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OffCause {
    /// A flag of the engine.
    Flag,
    /// The GPUs have no peer access.
    NoPeers,
    /// Another rule of the engine, or an unknown one.
    #[default]
    Rule,
}

impl CustomAllReduce {
    /// Not used, by a rule of the engine.
    pub(crate) fn off(reason: impl Into<String>) -> Self {
        let (reason, cause) = (reason.into(), OffCause::Rule);
        Self::Off { reason, cause }
    }

    /// Whether it is off for this cause.
    #[must_use]
    pub fn is_off_by(&self, wanted: OffCause) -> bool {
        matches!(self, Self::Off { cause, .. } if *cause == wanted)
    }
}

/// Whose GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Vendor {
    /// NVIDIA.
    Nvidia,
    /// AMD.
    Amd,
    /// MetaX.
    Metax,
    /// No GPU: CPUs of this host.
    Host,
    /// Another vendor, for whose GPUs no engine's rules are known here.
    Other,
}

/// The vendors by the names of their drivers in records and by their words in box files.
const VENDORS: [(&str, Vendor); 7] = [
    ("cuda", Vendor::Nvidia),
    ("nvidia", Vendor::Nvidia),
    ("hip", Vendor::Amd),
    ("amd", Vendor::Amd),
    ("maca", Vendor::Metax),
    ("metax", Vendor::Metax),
    ("host", Vendor::Host),
];

impl Vendor {
    /// The vendor of a driver's name in a record, such as `hip`, or of a word in a box file, such as `amd`.
    #[must_use]
    pub fn of(name: &str) -> Self {
        let known = VENDORS.iter().find(|(own, _)| *own == name);
        known.map_or(Self::Other, |(_, vendor)| *vendor)
    }
}

/// What is known of the box around an engine, as far as it decides paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surroundings {
    /// Whose GPUs.
    pub vendor: Vendor,
    /// The GPU's architecture where it matters, such as `gfx1201` or `sm_120`; `None` where unknown.
    pub architecture: Option<String>,
    /// Whether every pair reaches the other's memory; `None` where it was not probed.
    pub peer_access: Option<bool>,
    /// Why there is no peer access, such as `MIG`; empty where there is.
    pub no_peer_reason: String,
    /// Whether every pair has a direct NVLink.
    pub full_nvlink: bool,
    /// Memory of one GPU in bytes; decides the default of the largest batch of tokens.
    pub memory_bytes: Option<u64>,
}

impl Engine {
    /// Its name as its authors write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Vllm => "vLLM",
            Self::Sglang => "SGLang",
            Self::Trtllm => "TensorRT-LLM",
        }
    }

    /// The version whose sources the rules were read in.
    #[must_use]
    pub fn rules_version(self) -> &'static str {
        match self {
            Self::Vllm => "0.13.0",
            Self::Sglang => "0.5.6",
            Self::Trtllm => "1.2.0",
        }
    }
}

impl EngineFacts {
    /// What an engine of that kind does by default.
    #[must_use]
    pub fn of(engine: Engine, tp: u32, around: &Surroundings) -> Self {
        match engine {
            Engine::Vllm => Self::vllm(tp, around),
            Engine::Sglang => Self::sglang(tp, around),
            Engine::Trtllm => Self::trtllm(tp, around),
        }
    }

    /// The engine with its version and mode, in words.
    #[must_use]
    pub fn describe(&self) -> String {
        let name = self.engine.name();
        let version = match &self.version {
            Some(version) => format!("{name} {version}"),
            None => format!("{name} (rules of {})", self.engine.rules_version()),
        };
        match &self.execution {
            Execution::Eager => format!("{version}, eager"),
            Execution::Graph { capture_sizes } => match capture_sizes.last() {
                Some(largest) => format!("{version}, graphs up to {largest}"),
                None => format!("{version}, eager"),
            },
        }
    }

    /// The smallest captured size that holds `tokens`, or `tokens` where none does or there are no graphs; 0 stays 0.
    #[must_use]
    pub fn padded(&self, tokens: u32) -> u32 {
        match &self.execution {
            Execution::Graph { capture_sizes } if tokens > 0 => capture_sizes
                .iter()
                .copied()
                .find(|size| *size >= tokens)
                .unwrap_or(tokens),
            _ => tokens,
        }
    }

    /// Runs without graphs (`--enforce-eager`, `--disable-cuda-graph`).
    #[must_use]
    pub fn with_eager(mut self) -> Self {
        self.execution = Execution::Eager;
        self
    }

    /// Leaves every all-reduce to the vendor's library: neither the engine's own kernel nor torch's symmetric memory, whose rule
    /// here is the NVLink between all pairs. `reason` is what switched them off.
    #[must_use]
    pub fn with_library_only(mut self, reason: &str) -> Self {
        self.custom_all_reduce = CustomAllReduce::Off {
            reason: reason.to_owned(),
            cause: OffCause::Flag,
        };
        self.full_nvlink = false;
        self
    }

    /// Names the engine's version, such as `0.10.2`.
    #[must_use]
    pub fn with_version(mut self, version: &str) -> Self {
        let rules = self.engine.rules_version();
        let minor = |version: &str| -> Vec<String> {
            version.split('.').take(2).map(str::to_owned).collect()
        };
        if minor(version.trim_start_matches('v')) != minor(rules) {
            self.assumed.push(format!(
                "the rules are those of {} {rules}, the engine is {version}",
                self.engine.name()
            ));
        }
        self.version = Some(version.to_owned());
        self
    }
}
