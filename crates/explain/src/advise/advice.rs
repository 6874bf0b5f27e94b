//! A piece of advice, and the rules that there are.

use serde::{Deserialize, Serialize};

use crate::range::Range;

/// Something to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// The rule that it follows from.
    pub rule: Rule,
    /// What to do, in a few words that begin with a verb.
    pub what: String,
    /// Why, and what to mind.
    pub why: String,
    /// What it would bring; `None` where arithmetic gives nothing.
    pub effect: Option<Effect>,
    /// What this rests on.
    pub based_on: String,
    /// What to run to see whether it holds; `None` in explanations from before it was told.
    #[serde(default)]
    pub prove: Option<String>,
}

/// What a piece of advice would bring.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Of what, such as `tokens/s of TP2`.
    pub of: String,
    /// Times that.
    pub times: Range,
    /// Whether it is an upper bound, itself known to this interval.
    pub at_most: bool,
    /// The most that it could bring, where more than what it is reckoned on may be communication.
    #[serde(default)]
    pub most: Option<f64>,
}

impl Effect {
    /// What it could bring at most, of which no more is known than its interval.
    pub(super) fn bound(of: &str, times: Range) -> Self {
        Self {
            of: of.to_owned(),
            times,
            at_most: true,
            most: Some(times.high),
        }
    }
}

impl std::fmt::Display for Effect {
    /// A bound is told by its upper end, an estimate by its median.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (times, of) = (self.times.with_decimals(2), &self.of);
        match (self.at_most, self.most) {
            (true, _) => write!(
                f,
                "at most {:.2}x {of} (the bound is {times})",
                self.times.high
            ),
            (false, Some(most)) => write!(f, "{times}x {of}, and at most {most:.2}x"),
            (false, None) => write!(f, "{times}x {of}"),
        }
    }
}

/// Rules that give advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// GPUs that cannot reach each other's memory because of MIG.
    MigWithoutPeers,
    /// No peer access, and nothing known that rules it out.
    PeersDenied,
    /// Peer access is reported, and copies go through host memory.
    PeersStaged,
    /// Peer access works, and a variable keeps the library from it.
    LibraryToldOff,
    /// The engine's own all-reduce is off for more than two GPUs on PCIe.
    CustomAllReduceGated,
    /// Somebody switched the engine's own all-reduce off.
    CustomAllReduceByFlag,
    /// Communication is not the largest part.
    KernelsFirst,
    /// A link runs below what slot and card can do.
    LinkTrainedDown,
    /// Another pair of GPUs has a faster link.
    OtherPair,
    /// Steps are launched one kernel at a time.
    Eager,
    /// The server's threads run on a NUMA node without its GPUs.
    ThreadsElsewhere,
    /// The batch is padded, and its messages with it.
    Padded,
    /// Even free links would not make this many GPUs worth it at this batch.
    BoundTooLow,
    /// Links cost next to nothing.
    NothingToGain,
    /// The model fits one GPU.
    Replicas,
}
