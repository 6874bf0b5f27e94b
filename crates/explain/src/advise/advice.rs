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

/// What effects are times of.
pub(super) const STEP_RATE: &str = "the step rate of TP1";

/// What is supposed where links are made free: the median takes all that is left for communication.
pub(super) const FREE_LINKS: &str = "if links were free and all that is unexplained were theirs";

/// What a piece of advice would bring.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Of what, such as `tokens/s of TP2`.
    pub of: String,
    /// Times that.
    pub times: Range,
    /// Whether it is what would be gained if all of something went away: more than any one step brings.
    pub at_most: bool,
    /// What would have to go away, such as `if links were free`; `None` where it is an estimate, and in explanations from before.
    #[serde(default)]
    pub condition: Option<String>,
    /// The most that it could bring, where more than what it is reckoned on may be communication.
    #[serde(default)]
    pub most: Option<f64>,
}

impl Effect {
    /// What it would bring if all of something went away, which `condition` says.
    pub(super) fn bound(of: &str, times: Range, condition: &str) -> Self {
        Self {
            of: of.to_owned(),
            times,
            at_most: true,
            condition: Some(condition.to_owned()),
            most: Some(times.high),
        }
    }

    /// Whether it is told as times the steps of one GPU.
    pub(crate) fn is_step_rate(&self) -> bool {
        self.of == STEP_RATE
    }
}

impl std::fmt::Display for Effect {
    /// With its interval, and what it supposes.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (times, of) = (self.times.with_decimals(2), &self.of);
        write!(f, "{times}x {of}")?;
        match (self.at_most, &self.condition, self.most) {
            (true, Some(condition), _) => write!(f, " {condition}"),
            (true, None, _) => f.write_str(" if all of it went away"),
            (false, _, Some(most)) => write!(
                f,
                ", up to {most:.2}x {of} (95% of the draws lie below) where all that is unexplained is communication, too"
            ),
            (false, _, None) => Ok(()),
        }
    }
}

/// Rules that give advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Several GPUs are slower than one, and no file says which it is of.
    FilesMixedUp,
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

impl Rule {
    /// Whether it rests on what a half-width model leaves for communication, where there is one.
    pub(crate) fn is_by_half(self) -> bool {
        matches!(
            self,
            Self::KernelsFirst | Self::BoundTooLow | Self::NothingToGain
        )
    }
}
