//! One of two sides of a comparison: what ran over a link, and what the link is.

use super::result::{Confounder, PhysicalLink, SideFacts};
use crate::inputs::Inputs;

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

impl LinkSide {
    /// What of it is kept with a comparison.
    pub(super) fn facts(&self) -> SideFacts {
        let inputs = &self.inputs;
        SideFacts {
            name: self.name.clone(),
            box_name: inputs.known.name.clone(),
            gpu: inputs.known.gpu.clone(),
            link: self.link.clone(),
            peer: inputs.peer_state(),
            engine: inputs.engine(inputs.tp).map(tp_plan::EngineFacts::describe),
            runs: inputs
                .runs(inputs.tp)
                .map(|run| run.origin.clone())
                .collect(),
            curve_points: inputs.usable_curve().len(),
        }
    }

    /// What differs between the sides beside the link.
    pub(super) fn confounders(&self, other: &Self) -> Vec<Confounder> {
        let (a, b) = (&self.inputs, &other.inputs);
        let engine = |inputs: &Inputs| {
            let engine = inputs.engine(inputs.tp);
            engine.map(tp_plan::EngineFacts::describe)
        };
        let path = |side: &Self| side.link.as_ref().and_then(|link| link.path.clone());
        let differ = |a: Option<String>, b: Option<String>| a.zip(b).filter(|(a, b)| a != b);
        let machine = differ(a.known.name.clone(), b.known.name.clone());
        let gpu = differ(a.known.gpu.clone(), b.known.gpu.clone());
        [
            machine.map(|(a, b)| Confounder::Machine { a, b }),
            gpu.map(|(a, b)| Confounder::Gpu { a, b }),
            differ(engine(a), engine(b)).map(|(a, b)| Confounder::Engine { a, b }),
            differ(path(self), path(other)).map(|(a, b)| Confounder::Path { a, b }),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}
