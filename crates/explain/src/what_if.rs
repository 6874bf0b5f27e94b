//! What the step would take with something else in place of its collectives: what is asked, as the command line says it, links by name
//! with their rate, and from the draws to the answer.

use import::CurvePoint;
use record::{CollectiveKind, PeerVerdict};
use serde::{Deserialize, Serialize};
use topology::PcieLink;
use tp_plan::{CustomAllReduce, OffCause};

use crate::attribute::{Attribution, Bench, Claim, CommunicationFrom, NoSubstitute, Step};
use crate::inputs::{Inputs, PeerState, library_told_off};
use crate::range::Range;

/// Something to put in place of the collectives.
#[derive(Debug, Clone, PartialEq)]
pub struct Substitution {
    /// As it was asked for, such as `link=gen4x8`.
    pub asked: String,
    /// What it is.
    pub by: By,
}

/// What stands in place of the collectives.
#[derive(Debug, Clone, PartialEq)]
pub enum By {
    /// A curve that was measured.
    Curve {
        /// Its times.
        points: Vec<CurvePoint>,
    },
    /// Another link; what it takes the place of is read from the box where it is not said.
    Link {
        /// The link that the runs had.
        old: Option<LinkRate>,
        /// The link instead.
        new: LinkRate,
    },
    /// Peer access between the GPUs, by what was published for them.
    PeerAccess,
}

/// What may be asked, for messages.
const FORMS: &str = "curve=FILE, link=NEW, link=OLD:NEW, p2p=on";

impl std::str::FromStr for By {
    type Err = WhatIfError;

    /// `link=gen4x8`, `link=gen4x16:gen4x8` or `p2p=on`; what names files is the caller's.
    fn from_str(text: &str) -> Result<Self, WhatIfError> {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        let (old, new) = match value.split_once(':') {
            Some((old, new)) => (Some(old), new),
            None => (None, value),
        };
        match (key, value) {
            ("link", _) => Ok(Self::Link {
                old: old.map(str::parse).transpose()?,
                new: new.parse()?,
            }),
            ("p2p", "on") => Ok(Self::PeerAccess),
            _ => Err(WhatIfError(format!(
                "{text} is nothing that can be put in; give {FORMS}"
            ))),
        }
    }
}

/// Something that cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WhatIfError(String);

/// A GPU's link with the rate of one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LinkRate {
    /// PCI Express.
    Pcie(PcieLink),
    /// All NVLinks of a GPU together, GB/s.
    Nvlink(f64),
}

/// Names with GB/s of one direction, half of what NVIDIA states for both: <https://www.nvidia.com/en-us/data-center/nvlink/>
/// for generations 2 to 5, and the data sheets of the A40, RTX A6000 and GeForce RTX 3090 for the bridge (112.5 GB/s in all).
const NVLINKS: [(&str, f64); 5] = [
    ("nvlink2", 150.0),
    ("nvlink3-bridge", 56.25),
    ("nvlink3", 300.0),
    ("nvlink4", 450.0),
    ("nvlink5", 900.0),
];

impl LinkRate {
    /// GB/s of one direction, which no transfer reaches.
    #[must_use]
    pub fn gb_per_s(self) -> f64 {
        match self {
            Self::Pcie(link) => link.raw_gb_per_s(),
            Self::Nvlink(rate) => rate,
        }
    }

    /// Whether both are PCI Express or both NVLink, so that a library goes about them alike.
    fn is_like(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Pcie(_), Self::Pcie(_)) | (Self::Nvlink(_), Self::Nvlink(_))
        )
    }
}

impl std::str::FromStr for LinkRate {
    type Err = WhatIfError;

    /// `gen4x8`, or `nvlink4`.
    fn from_str(text: &str) -> Result<Self, WhatIfError> {
        if let Some((_, rate)) = NVLINKS.iter().find(|(name, _)| *name == text) {
            return Ok(Self::Nvlink(*rate));
        }
        let numbers = || {
            let (generation, width) = text.strip_prefix("gen")?.split_once('x')?;
            let link = PcieLink::new(generation.parse().ok()?, width.parse().ok()?);
            link.ok()
        };
        let names: Vec<&str> = NVLINKS.iter().map(|(name, _)| *name).collect();
        numbers().map(Self::Pcie).ok_or_else(|| {
            WhatIfError(format!(
                "no link is called {text}; give genGxW, such as gen4x8, or one of {}",
                names.join(", ")
            ))
        })
    }
}

/// One substitution and what it would give, or why nothing is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WhatIf {
    /// As it was asked for, such as `link=gen4x8`.
    pub asked: String,
    /// What comes of it.
    pub answer: Result<Substituted, NoSubstitute>,
}

/// A decode step with the substitute; what did not change has the draws of the attribution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Substituted {
    /// What was taken out.
    pub taken_out: CommunicationFrom,
    /// The decode step, which is the time per output token, ms.
    pub step_ms: Range,
    /// That less the step as it is, ms.
    pub change_ms: Range,
    /// Speed-up over the step of one GPU.
    pub speed_up: Range,
    /// The simulated machine behind the substitute.
    pub simulated: Option<String>,
}

/// What the step would take with each substitution; all of them have the attribution's draws.
#[must_use]
pub fn what_if(inputs: &Inputs, attribution: &Attribution, asked: &[Substitution]) -> Vec<WhatIf> {
    if asked.is_empty() {
        return Vec::new();
    }
    let bench = match &attribution.claim {
        // What cannot be distinguished from zero cannot be put in the place of anything.
        Claim::None => Err(NoSubstitute::CommunicationUnknown),
        Claim::Estimated | Claim::AtMost => {
            Bench::new(inputs, attribution).ok_or(NoSubstitute::CommunicationUnknown)
        }
    };
    let answer = |one: &Substitution| {
        let bench = bench.as_ref().map_err(|why| *why)?;
        answered(bench, &one.by)
    };
    let what_if = |one: &Substitution| WhatIf {
        asked: one.asked.clone(),
        answer: answer(one),
    };
    asked.iter().map(what_if).collect()
}

fn answered(bench: &Bench, by: &By) -> Result<Substituted, NoSubstitute> {
    let steps = match by {
        By::Link { old, new } => linked(bench, *old, *new)?,
        By::PeerAccess => with_peers(bench)?,
        By::Curve { points } => {
            let curve = points.clone();
            let inputs = Inputs {
                curve,
                ..bench.inputs.clone()
            };
            let elsewhere = inputs.prior("transfer_peer");
            let is_own = |point: &CurvePoint| {
                let its = (point.kind, point.ranks, point.engine.is_none());
                its == (CollectiveKind::AllReduce, inputs.tp, true)
            };
            // What was published is no curve that was given.
            if !inputs.usable_curve().iter().any(is_own) {
                return Err(NoSubstitute::NoCurve);
            }
            bench.with_curves(&inputs, elsewhere.as_ref())?
        }
    };
    let range = |of: fn(&Step) -> f64| {
        let values: Vec<f64> = steps.iter().map(of).collect();
        Range::of(&values).ok_or(NoSubstitute::CommunicationUnknown)
    };
    let simulated = match by {
        By::Curve { points } => points.iter().find_map(|point| point.simulated.clone()),
        By::Link { .. } | By::PeerAccess => None,
    };
    Ok(Substituted {
        taken_out: bench.taken_out,
        step_ms: range(|step| step.after)?,
        change_ms: range(|step| step.after - step.before)?,
        speed_up: range(|step| step.one / step.after)?,
        simulated,
    })
}

/// Another link, in the place of the one that was named or read under load.
fn linked(bench: &Bench, old: Option<LinkRate>, new: LinkRate) -> Result<Vec<Step>, NoSubstitute> {
    let inputs = bench.inputs;
    let seen = inputs.seen.link(inputs.tp).map(LinkRate::Pcie);
    let seen = seen.filter(|_| !inputs.around.full_nvlink);
    let old = old.or(seen).ok_or(NoSubstitute::LinkUnknown)?;
    let ratio = new.gb_per_s() / old.gb_per_s();
    if (ratio - 1.0).abs() < 1e-9 {
        return Err(NoSubstitute::Same);
    }
    let name = match new.is_like(old) {
        true => "link_scaling",
        false => "link_scaling_other_kind",
    };
    let prior = inputs.prior(name);
    Ok(bench.on_link(ratio, &prior.ok_or(NoSubstitute::CommunicationUnknown)?))
}

/// Peer access where there is none: published curves of these GPUs with it, and the engine's own all-reduce where peers kept it off.
fn with_peers(bench: &Bench) -> Result<Vec<Step>, NoSubstitute> {
    let inputs = bench.inputs;
    if inputs.peer_state() == PeerState::Direct && library_told_off(inputs).is_none() {
        return Err(NoSubstitute::Same);
    }
    let mut other = inputs.clone();
    other.curve.clear();
    other.around.peer_access = Some(true);
    other.around.no_peer_reason.clear();
    other.known.mig = false;
    other.known.peers = vec![PeerVerdict::Direct];
    for engine in &mut other.engines {
        if engine.custom_all_reduce.is_off_by(OffCause::NoPeers) {
            engine.custom_all_reduce = CustomAllReduce::Active;
        }
    }
    bench.with_curves(&other, None)
}

#[cfg(test)]
mod tests;
