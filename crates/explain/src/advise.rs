//! What to do about it: rules over what was found, each with the effect that arithmetic gives and what it rests on.

use serde::{Deserialize, Serialize};
use tp_plan::{CustomAllReduce, Vendor};

use crate::attribute::{Attribution, Cause, Claim};
use crate::inputs::{Inputs, PeerState};
use crate::range::Range;

/// Below this share of the time above the ideal, communication is not the first thing to look at.
const SMALL: f64 = 0.4;

const MIG_SOURCE: &str = "NVIDIA vGPU documentation, features/p2p: \"MIG-backed vGPUs are not supported\"; NVIDIA/nccl issue 1716: \
                          MIG supports no peer-to-peer over PCIe or NVLink";

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
}

/// What a piece of advice would bring.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Of what, such as `tokens/s of TP2`.
    pub of: String,
    /// Times that.
    pub times: Range,
    /// Whether it is an upper bound.
    pub at_most: bool,
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
    /// The engine's own all-reduce is off for more than two GPUs on PCIe.
    CustomAllReduceGated,
    /// Communication is not the largest part.
    KernelsFirst,
    /// The model fits one GPU.
    Replicas,
}

/// What to do, the most certain first. Links are advised on only where they are at fault or known to be impossible.
#[must_use]
pub fn advise(inputs: &Inputs, attribution: &Attribution) -> Vec<Advice> {
    let found = Found {
        inputs,
        attribution,
    };
    let mut advice = Vec::new();
    let state = inputs.peer_state();
    let without_peers = matches!(state, PeerState::Denied | PeerState::Staged);
    if inputs.is_mig() && state != PeerState::Direct {
        advice.extend(found.mig());
    } else if state == PeerState::Denied {
        advice.push(found.denied());
    } else if state == PeerState::Staged {
        advice.push(found.staged());
    }
    if !without_peers {
        advice.extend(found.gated());
    }
    advice.extend(found.kernels());
    if !inputs.is_mig() && attribution.replicas.low > 1.0 {
        advice.push(found.replicas(
            Rule::Replicas,
            "the model fits one GPU, and replicas exchange nothing",
            "both runs",
        ));
    }
    advice
}

struct Found<'a> {
    inputs: &'a Inputs,
    attribution: &'a Attribution,
}

impl Found<'_> {
    /// What free links would bring at most; nothing where nothing is claimed of communication.
    fn links(&self) -> Option<Effect> {
        let claimed = !matches!(self.attribution.claim, Claim::None { .. });
        claimed.then(|| Effect {
            of: "the step rate of TP1".to_owned(),
            times: self.attribution.free_links,
            at_most: true,
        })
    }

    fn mig(&self) -> Vec<Advice> {
        let tp = self.attribution.tp;
        vec![
            Advice {
                rule: Rule::MigWithoutPeers,
                what: "use whole GPUs, on bare metal or passed through without MIG".to_owned(),
                why: format!(
                    "these GPUs are MIG instances, between which peer-to-peer is impossible, so that every all-reduce goes through host memory; \
                     without MIG TP{tp} reduces over PCIe or NVLink directly, where the platform lets GPUs reach each other"
                ),
                effect: self.links(),
                based_on: format!("{MIG_SOURCE}; the bound is this attribution's"),
            },
            self.replicas(
                Rule::MigWithoutPeers,
                "replicas exchange nothing",
                MIG_SOURCE,
            ),
            Advice {
                rule: Rule::MigWithoutPeers,
                what: format!(
                    "use pipeline parallelism (PP{tp}) where one GPU cannot hold the model"
                ),
                why: "it sends activations once a stage, not twice a layer".to_owned(),
                effect: None,
                based_on: MIG_SOURCE.to_owned(),
            },
        ]
    }

    /// Replicas share the requests, so that the two measured steps, both at the same batch, do not yet compare them.
    fn replicas(&self, rule: Rule, why: &str, based_on: &str) -> Advice {
        let Attribution {
            tp,
            batch,
            replicas,
            ..
        } = self.attribution;
        Advice {
            rule,
            what: format!("compare {tp} replicas of TP1 with TP{tp} at equal load"),
            why: format!(
                "{why}; with {batch} requests in flight each they give {}x the tokens/s that TP{tp} gives with {batch}, \
                 but that is {} in all: measure TP{tp} with {} in flight, and TP1 with {}, before choosing",
                replicas.with_decimals(2),
                tp * batch,
                tp * batch,
                (batch / tp).max(1)
            ),
            effect: None,
            based_on: format!(
                "{based_on}; arithmetic on the two measured steps, if replicas do not slow each other"
            ),
        }
    }

    fn denied(&self) -> Advice {
        let (what, why) = if self.inputs.known.guest == Some(true) {
            (
                "use a host that lets passed-through GPUs reach each other, or bare metal",
                "the driver denies peer access in this virtual machine: the hypervisor isolates the GPUs",
            )
        } else {
            (
                "look at ACS and the IOMMU, then probe again with p2p-bw",
                "the driver denies peer access on bare metal: ACS that redirects requests, an IOMMU that translates, or a driver without peer access for this card",
            )
        };
        Advice {
            rule: Rule::PeersDenied,
            what: what.to_owned(),
            why: why.to_owned(),
            effect: self.links(),
            based_on: "peer probes of this box; the bound is this attribution's".to_owned(),
        }
    }

    fn staged(&self) -> Advice {
        Advice {
            rule: Rule::PeersStaged,
            what: "look at ACS and the IOMMU, then probe again with p2p-bw".to_owned(),
            why: "peer access is reported, and copies behave as if they went through host memory"
                .to_owned(),
            effect: self.links(),
            based_on: "peer probes of this box; the bound is this attribution's".to_owned(),
        }
    }

    fn gated(&self) -> Option<Advice> {
        let tp = self.attribution.tp;
        let engine = self.inputs.engine(tp)?;
        let CustomAllReduce::Off { reason } = &engine.custom_all_reduce else {
            return None;
        };
        let gated = tp > 2 && !engine.full_nvlink && engine.vendor == Vendor::Nvidia;
        gated.then(|| Advice {
            rule: Rule::CustomAllReduceGated,
            what: format!(
                "serve {} replicas of TP2 where the model fits two GPUs",
                tp / 2
            ),
            why: format!(
                "{}'s own all-reduce is off ({reason}), and two GPUs on PCIe have it",
                engine.engine.name()
            ),
            effect: None,
            based_on: "the engine's rule, vLLM custom_all_reduce.py".to_owned(),
        })
    }

    fn kernels(&self) -> Option<Advice> {
        let share = self.attribution.remainder_share_of_excess;
        let claimed = !matches!(self.attribution.claim, Claim::None { .. });
        if claimed && share.mid >= SMALL {
            return None;
        }
        let gemm = self.attribution.bar(Cause::NarrowGemm)?;
        Some(Advice {
            rule: Rule::KernelsFirst,
            what: "look at kernels before links: another engine version, another quantisation"
                .to_owned(),
            why: format!(
                "communication and all that is unexplained take {:.0}% [{:.0}, {:.0}] of the time above the ideal, narrow GEMMs {} ms",
                share.mid * 100.0,
                share.low * 100.0,
                share.high * 100.0,
                gemm.ms.with_decimals(1)
            ),
            effect: Some(Effect {
                of: "the step rate of TP1".to_owned(),
                times: self.attribution.halved_gemms,
                at_most: true,
            }),
            based_on: gemm.source.clone(),
        })
    }
}
