//! Gates of a pair that is not one GPU against several: the same size on two links, or two sizes of several GPUs.
//!
//! The checks are those of the attribution. They compare what stands under one size with what stands under another, so the two
//! sides are put under the sizes 1 and 2 for them.

use measure::import::ServeRun;

use super::checks::{OF_A_RUN, OF_COMPARED, OF_FILES};
use super::compared::SAME_LOAD;
use super::conditions::conditions;
use super::files::BOTH_RUNS;
use super::gate::{Gate, Verdict};
use super::grows::{CURVE_GROWS, curve_grows};
use super::of_run::{ONE_TOKEN, PURE_DECODE};
use super::shape::RunShape;
use crate::inputs::Inputs;

/// Checks that are about one GPU against several.
const NOT_OF_A_PAIR: [&str; 2] = [BOTH_RUNS, "several GPUs are not slower"];

/// Checks on all of a side's inputs, which need its own size.
const OF_A_SIDE: [&str; 2] = ["weights fit", "a step can read its weights"];

/// Gates that a decode step needs, and a time to first token does not.
const OF_DECODE: [&str; 5] = [
    CURVE_GROWS,
    ONE_TOKEN,
    PURE_DECODE,
    "fixed output length",
    "two output tokens",
];

/// Every gate of a pair, with the names of its sides.
pub(crate) fn pair_gates(a: (&str, &Inputs), b: (&str, &Inputs)) -> Vec<Gate> {
    let joint = [joint(a.1, b.1), joint(b.1, a.1)];
    let of_both = |check: &fn(&Inputs) -> Gate| {
        let mut gate = worst(check(&joint[0]), check(&joint[1]));
        if gate.name == "batch equal" {
            // A command for one of the sides would be of the size that it stands under here.
            gate.what_to_run = gate.what_to_run.map(|_| SAME_LOAD.to_owned());
        }
        let is_of = |names: &[&str]| names.contains(&gate.name.as_str());
        (!is_of(&NOT_OF_A_PAIR) && !is_of(&OF_A_SIDE)).then_some(gate)
    };
    let mut gates = vec![two_results(a.1, b.1)];
    gates.extend(OF_FILES.iter().filter_map(of_both));
    gates.extend(conditions(&joint[0]));
    for (name, side) in [a, b] {
        for check in OF_FILES {
            let gate = check(side);
            if OF_A_SIDE.contains(&gate.name.as_str()) {
                gates.push(named(gate, name));
            }
        }
    }
    gates.extend(curves_grow(a.1, b.1));
    for check in OF_A_RUN {
        for (name, side) in [a, b] {
            let runs: Vec<_> = side.runs(side.tp).collect();
            for (index, run) in runs.iter().enumerate() {
                let gate = of_whole_time(check(side, run), run);
                gates.push(match runs.len() {
                    1 => named(gate, name),
                    _ => named(gate, &format!("{name} run {}", index + 1)),
                });
            }
        }
    }
    gates.extend(OF_COMPARED.iter().filter_map(of_both));
    gates
}

/// The gate on each side's curve; one where both have the same.
fn curves_grow(a: &Inputs, b: &Inputs) -> Vec<Gate> {
    match (curve_grows(a), curve_grows(b)) {
        (Some(a), Some(b)) if a.seen == b.seen => vec![worst(a, b)],
        (a, b) => a.into_iter().chain(b).collect(),
    }
}

/// Whether a gate is about the decode step alone.
pub(crate) fn is_of_decode(gate: &Gate) -> bool {
    OF_DECODE.iter().any(|name| gate.name.starts_with(name))
}

/// A pair is compared by its whole time per token, which steps with prompts are not left out of.
fn of_whole_time(mut gate: Gate, run: &ServeRun) -> Gate {
    if gate.name == PURE_DECODE && RunShape::new(run).left_out() > 0.0 {
        gate.verdict = Verdict::Failed;
    }
    gate
}

fn named(mut gate: Gate, side: &str) -> Gate {
    gate.name = format!("{}, {side}", gate.name);
    gate
}

/// Both sides as one set of inputs, with the box of the first.
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
    let clocks = &mut joint.evidence.throttle;
    clocks.extend(b.evidence.throttle.iter().cloned());
    joint
}

fn worst(a: Gate, b: Gate) -> Gate {
    let rank = |gate: &Gate| match gate.verdict {
        Verdict::Failed => 4,
        Verdict::Warned => 3,
        Verdict::Unknown => 2,
        Verdict::NotJudged => 1,
        Verdict::Passed => 0,
    };
    if rank(&b) > rank(&a) { b } else { a }
}

/// Whether the two sides are two measurements at all.
fn two_results(a: &Inputs, b: &Inputs) -> Gate {
    // Whatever their files are called.
    let measured = |side: &Inputs| -> Vec<ServeRun> {
        let runs = side.runs(side.tp).cloned();
        runs.map(|mut run| {
            run.origin.clear();
            run
        })
        .collect()
    };
    let of_b = measured(b);
    let same = measured(a).iter().any(|run| of_b.contains(run));
    Gate {
        name: "two results".to_owned(),
        verdict: if same {
            Verdict::Failed
        } else {
            Verdict::Passed
        },
        seen: if same {
            "a result stands on both sides".to_owned()
        } else {
            "no result stands on both sides".to_owned()
        },
        needed: "a result of each side, which the other does not have".to_owned(),
        what_to_run: same.then(|| "name two different files".to_owned()),
    }
}
