//! What is found of a pair that is not one GPU against several: the same size on two links, or two sizes of several GPUs.
//!
//! The checks compare what stands under one size with what stands under another, so the two sides are put under the sizes 1 and 2.

use import::ServeRun;

use super::run::{named, of_run};
use super::{compared, conditions, evidence, files};
use crate::finding::Finding;
use crate::inputs::Inputs;

/// What is found of both sides together and of each, by its name.
pub(crate) fn pair_findings(a: (&str, &Inputs), b: (&str, &Inputs)) -> Vec<Finding> {
    let joint = joint(a.1, b.1);
    let mut found: Vec<Finding> = files::of_files(&joint);
    // One size of the pair is missing nothing, and what one GPU holds is not asked of it.
    found.retain(|of| {
        !matches!(
            of,
            Finding::SizeMissing { .. }
                | Finding::EngineMissing { .. }
                | Finding::WeightsTooLarge { .. }
                | Finding::StepTooShort { .. }
                | Finding::CurveDisagrees { .. }
        )
    });
    found.extend(same_result(a.1, b.1));
    found.extend(conditions::differing(&joint));
    found.extend(evidence::engine_differs(&joint));
    for (name, side) in [a, b] {
        for (name, run) in named(side.runs(side.tp), name) {
            found.extend(of_run(side, run, &name));
        }
    }
    found.extend(compared::differing(&joint));
    found.extend(evidence::clocks_differ(&joint));
    found.extend(evidence::transport(&joint));
    let mut once: Vec<Finding> = Vec::new();
    for of in found {
        if !once.contains(&of) {
            once.push(of);
        }
    }
    once
}

/// Findings that say something of the decode step and nothing of a first token.
pub(crate) fn is_of_decode(finding: &Finding) -> bool {
    matches!(
        finding,
        Finding::SeveralTokens { .. }
            | Finding::PrefillInSteps { .. }
            | Finding::OutputVaries { .. }
    )
}

fn joint(a: &Inputs, b: &Inputs) -> Inputs {
    let mut joint = a.clone();
    let under = |side: &Inputs, size: u32| {
        let runs = side.runs(side.tp).cloned();
        runs.map(move |run| (size, run)).collect::<Vec<_>>()
    };
    joint.tp = 2;
    joint.serve = under(a, 1);
    joint.serve.extend(under(b, 2));
    joint.curve.extend(b.curve.iter().cloned());
    joint.troubles.extend(b.troubles.iter().cloned());
    joint.evidence.logs.retain(|log| log.tp == a.tp);
    for log in &mut joint.evidence.logs {
        log.tp = joint.tp;
    }
    joint
        .evidence
        .throttle
        .extend(b.evidence.throttle.iter().cloned());
    joint
}

fn same_result(a: &Inputs, b: &Inputs) -> Option<Finding> {
    // Whatever their files are called.
    let measured = |side: &Inputs| -> Vec<ServeRun> {
        let runs = side.runs(side.tp).cloned();
        runs.map(|run| ServeRun {
            origin: String::new(),
            ..run
        })
        .collect()
    };
    let of_b = measured(b);
    let twice = a
        .runs(a.tp)
        .zip(measured(a))
        .find(|(_, run)| of_b.contains(run));
    twice.map(|(run, _)| Finding::SameResult {
        origin: run.origin.clone(),
    })
}
