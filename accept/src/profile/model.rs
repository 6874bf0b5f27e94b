//! A profile as its TOML has it: what box it is for, what it must be like, and where each limit comes from.
//!
//! Every table refuses keys that it does not know. What a file extends is joined in `load`, and what its values must be is checked there.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::cli::Level;

/// The word that a profile begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Schema {
    #[serde(rename = "accept-profile/1")]
    First,
}

/// A whole profile, after what it extends was put below it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profile {
    pub(crate) schema: Schema,
    /// Its name.
    pub(crate) name: String,
    /// What box it is for, in words.
    pub(crate) title: String,
    /// The profile that it adds to: one that came with the program, or a file beside it.
    pub(crate) extends: Option<String>,
    /// The devices that it is for; a profile without it can only be extended.
    #[serde(rename = "match")]
    pub(crate) matches: Option<Match>,
    /// Seconds that the levels may take.
    pub(crate) budget: Budget,
    /// How often things are measured.
    pub(crate) sampling: Sampling,
    /// The link that every device must have at its slot.
    pub(crate) link: Link,
    /// How devices reach each other.
    pub(crate) peer: Peer,
    /// NUMA node of each device, by its place; absent where it does not matter.
    pub(crate) numa: Option<Numa>,
    /// Sizes of the all-reduce.
    pub(crate) allreduce: Allreduce,
    /// Limits, each on one kind of check.
    #[serde(default)]
    pub(crate) limit: Vec<LimitRow>,
    /// Keys of kinds of checks without which a box is not accepted, by level.
    pub(crate) required: Required,
}

/// Keys of kinds of checks by level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Required {
    pub(crate) quick: Vec<String>,
    pub(crate) standard: Vec<String>,
    pub(crate) soak: Vec<String>,
}

impl Required {
    /// Those of a level.
    pub(crate) fn at(&self, level: Level) -> &[String] {
        [&self.quick, &self.standard, &self.soak][level as usize]
    }
}

/// What the devices must be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Match {
    /// `cuda`, `hip`, `maca` or `host`.
    pub(crate) backend: String,
    /// Names as the driver shows them, any of these; one that ends in `*` stands for all that begin so.
    pub(crate) names: Vec<String>,
    /// How many devices; more may be there where `--gpus` chooses.
    pub(crate) count: usize,
    /// Whether more devices than that are as good; absent: they are not.
    pub(crate) more: Option<bool>,
    /// Whether they are MIG instances; absent: either.
    pub(crate) mig: Option<bool>,
    /// Whether the machine is a guest; absent: either.
    pub(crate) guest: Option<bool>,
    /// Memory of each device in GiB, at least.
    pub(crate) memory_gib_at_least: Option<f64>,
}

/// Seconds that a level may take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Budget {
    /// Of `quick`.
    pub(crate) quick_s: f64,
    /// Of `standard`.
    pub(crate) standard_s: f64,
}

/// How often things are measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sampling {
    /// Samples of a figure at first.
    pub(crate) repeats: usize,
    /// Samples at most, where the interval lies across a limit.
    pub(crate) max_repeats: usize,
}

/// The link at the slot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Link {
    /// Generation under load; absent: not stated, and the check is inconclusive.
    pub(crate) generation: Option<u8>,
    /// Lanes under load.
    pub(crate) width: Option<u8>,
    /// Changes of the link under load that are borne.
    pub(crate) transitions_at_most: u32,
    /// Where what is expected comes from.
    pub(crate) source: String,
}

/// How devices reach each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Peer {
    /// `direct`, `staged` or `forbidden`; absent: not stated.
    pub(crate) expect: Option<Expected>,
    /// NVLinks of each device that are up; absent: all that there are, where one is.
    pub(crate) nvlinks: Option<usize>,
    /// Where that comes from.
    pub(crate) source: String,
}

/// How a device is expected to reach another one's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Expected {
    /// Directly.
    Direct,
    /// Possible by the driver's word and led through the host.
    Staged,
    /// Not possible.
    Forbidden,
}

/// NUMA nodes of the devices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Numa {
    /// Node of each device in the order of their PCI addresses.
    pub(crate) nodes: Vec<u32>,
    /// Where that comes from.
    pub(crate) source: String,
}

/// Sizes of the all-reduce that is timed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Allreduce {
    /// Bytes of a small one.
    pub(crate) small_bytes: u64,
    /// Bytes of a large one.
    pub(crate) large_bytes: u64,
}

/// A limit on one kind of check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitRow {
    /// Key of the kind.
    pub(crate) check: String,
    /// Of which of its figures, where it has several: a path class (`PIX`, `NODE`, `SYS`, `MX`, `NVLINK`), `small`, `large`, a counter's key.
    pub(crate) of: Option<String>,
    /// Which side is good.
    pub(crate) good: crate::report::Side,
    /// Beyond it the check fails.
    pub(crate) fail: Option<f64>,
    /// Beyond it the check warns.
    pub(crate) warn: Option<f64>,
    /// What both are in.
    pub(crate) unit: LimitUnit,
    /// Where they come from; a choice says that it is one.
    pub(crate) source: String,
}

/// What a limit is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum LimitUnit {
    /// A fraction of the payload ceiling of the link that was negotiated.
    #[serde(rename = "of_ceiling")]
    OfCeiling,
    /// A ratio of two figures of this run.
    #[serde(rename = "ratio")]
    Ratio,
    /// Decimal GB/s.
    #[serde(rename = "GB/s")]
    GbPerS,
    /// Microseconds.
    #[serde(rename = "us")]
    Microseconds,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Events in all of the run.
    #[serde(rename = "events")]
    Events,
    /// Events an hour.
    #[serde(rename = "events/h")]
    EventsPerHour,
    /// Repairs of memory over the life of a device: rows or pages.
    #[serde(rename = "repairs")]
    Repairs,
    /// Degrees Celsius.
    #[serde(rename = "degC")]
    Celsius,
}

impl fmt::Display for LimitUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
