//! A piece of advice and the rules that there are; what rules look at, and the effects that arithmetic gives them.

use serde::{Deserialize, Serialize};

use crate::attribute::{Attribution, By, Claim, CommunicationFrom, what_if};
use crate::commands::{Command, Commands};
use crate::inputs::{Inputs, PeerState};
use crate::range::Range;

/// What to do, what it brings and how to see that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// Which rule says so, with what it saw.
    pub rule: Rule,
    /// What it would bring; `None` where no arithmetic says.
    pub effect: Option<Effect>,
    /// The command that shows it; `None` where there is none.
    pub command: Option<String>,
}

/// What advice brings: times the step rate of one GPU.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// How many times.
    pub times: Range,
    /// Whether that is an upper figure: if all of what it acts on went away.
    pub at_most: bool,
}

impl Effect {
    pub(super) fn bound(times: Range) -> Self {
        Self {
            times,
            at_most: true,
        }
    }
}

/// A rule with what it saw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
#[expect(missing_docs, reason = "fields are named by what they hold")]
pub enum Rule {
    /// MIG instances have no peer access: use whole GPUs.
    MigWithoutPeers,
    /// One-GPU replicas may give more tokens a second.
    Replicas {
        replicas: u32,
        times: Range,
        in_flight: u32,
    },
    /// The driver denies peer access, or reports it and stages copies.
    ThroughHost { guest: bool },
    /// A variable keeps the library from peer access.
    LibraryToldOff { variable: String, value: String },
    /// The engine's own all-reduce is for two GPUs on PCIe.
    CustomAllReduceGated { replicas: u32 },
    /// The engine's own all-reduce is off by a flag.
    CustomAllReduceByFlag,
    /// Kernels lose more than links.
    KernelsFirst { gemm_ms: Range },
    /// A link runs below what card and slot can do.
    LinkTrainedDown {
        device: String,
        now: String,
        most: String,
    },
    /// Another pair of GPUs is faster.
    OtherPair { a: String, b: String },
    /// No graphs, or none of this batch.
    Eager { largest_graph: Option<u32> },
    /// Threads run on nodes that no GPU of theirs hangs on.
    ThreadsElsewhere { nodes: Vec<u32>, share: f64 },
    /// Free links would bring next to nothing.
    NothingToGain,
}

/// What rules look at.
pub(super) struct Found<'a> {
    pub(super) inputs: &'a Inputs,
    pub(super) attribution: &'a Attribution,
    pub(super) commands: Commands<'a>,
}

impl Found<'_> {
    /// Whether anything is claimed of communication, so that links may be at fault.
    pub(super) fn is_claimed(&self) -> bool {
        !matches!(self.attribution.claim, Claim::None)
    }

    /// Whether everything goes through host memory.
    pub(super) fn is_through_host(&self) -> bool {
        let state = self.inputs.peer_state();
        matches!(state, PeerState::Denied | PeerState::Staged)
    }

    /// What free links would bring; nothing where nothing is claimed of communication.
    pub(super) fn bound(&self) -> Option<Effect> {
        self.is_claimed()
            .then(|| Effect::bound(self.attribution.free_links))
    }

    /// What a substitute would bring, else what free links would.
    pub(super) fn by(&self, by: &By) -> Option<Effect> {
        match what_if(self.inputs, self.attribution, by) {
            Ok(predicted) => Some(Effect {
                times: predicted.speed_up,
                at_most: predicted.taken_out == CommunicationFrom::Remainder,
            }),
            Err(_) => self.bound(),
        }
    }
}

/// Advice with the command that shows it.
pub(super) fn advice(
    rule: Rule,
    effect: Option<Effect>,
    command: Option<Command>,
) -> Option<Advice> {
    Some(Advice {
        rule,
        effect,
        command: command.and_then(|of| of.quoted()),
    })
}
