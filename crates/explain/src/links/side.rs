//! One of two sides of a comparison: what ran over a link, and what the link is.

use serde::{Deserialize, Serialize};

use super::result::SideFacts;
use crate::inputs::{Inputs, PeerState};

/// What ran over a link, and what is known of it.
#[derive(Debug, Clone)]
pub struct LinkSide {
    /// What the reader calls it, such as `A`.
    pub name: String,
    /// Results of one tensor parallel size, curves, and the box.
    pub inputs: Inputs,
    /// The link between the GPUs; `None` where nobody said.
    pub link: Option<PhysicalLink>,
}

/// What a link can carry by what it is made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhysicalLink {
    /// Generation and lanes, such as `Gen4 x8`.
    pub words: String,
    /// GB/s of one direction after line encoding; no transfer reaches it.
    pub raw_gb_per_s: f64,
    /// The class of the path between the GPUs, such as `NODE`; `None` where nobody said.
    pub path: Option<String>,
}

impl std::fmt::Display for PhysicalLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.path.as_ref();
        let path = path.map_or(String::new(), |path| format!(", {path}"));
        write!(f, "{}{path}, {:.1} GB/s raw", self.words, self.raw_gb_per_s)
    }
}

impl LinkSide {
    /// What of it is kept with a comparison.
    pub(super) fn facts(&self) -> SideFacts {
        let inputs = &self.inputs;
        SideFacts {
            name: self.name.clone(),
            box_name: inputs.known.name.clone(),
            gpu: inputs.known.gpu.clone(),
            link: self.link.clone(),
            peer: peer_words(inputs.peer_state()).to_owned(),
            engine: inputs.engine(inputs.tp).map(tp_plan::EngineFacts::describe),
            runs: inputs
                .runs(inputs.tp)
                .map(|run| run.origin.clone())
                .collect(),
            curve_points: inputs.usable_curve().len(),
        }
    }

    /// What differs from another side and is no property of the link, each in words.
    pub(super) fn confounders(&self, other: &Self) -> Vec<String> {
        let (a, b) = (&self.inputs, &other.inputs);
        let mut words = Vec::new();
        let mut differ = |what: &str, a: Option<&str>, b: Option<&str>| {
            if let (Some(a), Some(b)) = (a, b)
                && a != b
            {
                words.push(format!("{what}: {a} against {b}"));
            }
        };
        differ("box", a.known.name.as_deref(), b.known.name.as_deref());
        differ("GPU", a.known.gpu.as_deref(), b.known.gpu.as_deref());
        let graph = |inputs: &Inputs| {
            let engine = inputs.engine(inputs.tp);
            engine.map(tp_plan::EngineFacts::describe)
        };
        differ("engine", graph(a).as_deref(), graph(b).as_deref());
        let path = |side: &Self| side.link.as_ref().and_then(|link| link.path.clone());
        differ(
            "path, and with it maybe the NUMA node of GPUs, threads and memory",
            path(self).as_deref(),
            path(other).as_deref(),
        );
        words
    }
}

fn peer_words(state: PeerState) -> &'static str {
    match state {
        PeerState::Direct => "direct",
        PeerState::Staged => "reported, and staged all the same",
        PeerState::Denied => "none, through host memory",
        PeerState::Unprobed => "not probed",
    }
}
