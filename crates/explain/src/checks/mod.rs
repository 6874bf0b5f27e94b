//! What the files say against each other and against what is asked, before anything is made of them.

mod evidence;
mod files;
mod run;

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::inputs::Inputs;

pub(crate) use evidence::{LEAST_SHARE, unused, without_rules};
pub(crate) use files::model_asked;
pub(crate) use run::TOLERANCE;
use run::of_run;

/// All that is found of the files and the runs, the worst kinds first.
#[must_use]
pub fn findings(inputs: &Inputs) -> Vec<Finding> {
    let mut found = files::of_files(inputs);
    found.extend(files::conditions(inputs));
    found.extend(evidence::engine_differs(inputs));
    for tp in BTreeSet::from([inputs.from(), inputs.tp]) {
        for (name, run) in run::named(inputs.runs(tp), &format!("TP{tp}")) {
            found.extend(of_run(inputs, run, &name));
        }
    }
    for (name, run) in run::named(inputs.evidence.half.iter(), "shard") {
        found.extend(of_run(inputs, run, &name));
    }
    found.extend(run::differing(inputs));
    found.extend(evidence::clocks_differ(inputs));
    found.extend(evidence::transport(inputs));
    found.extend(evidence::shard(inputs));
    found
}
