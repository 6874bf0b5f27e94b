//! What was compared, and the gates: those that passed in one line, the others in a line each.

use super::lists::list;
use super::topic::Topic;
use crate::attribute::Cause;
use crate::explanation::Explanation;
use crate::gates::{BOTH_RUNS, CURVE_GROWS, Gate, Verdict, counted, warned};

/// Model, sizes, engine, box and gates in a line.
#[must_use]
pub fn heading(explanation: &Explanation, batch: Option<u32>) -> String {
    let batch = batch.map_or(String::new(), |batch| format!(", {batch} in flight"));
    let or_unknown = |known: &Option<String>| known.clone().unwrap_or_else(|| "unknown".to_owned());
    let both = explanation.gates.iter().find(|gate| gate.name == BOTH_RUNS);
    let is_alone = both.is_some_and(|gate| gate.verdict == Verdict::Failed);
    let sizes = match explanation.tp {
        tp if tp == 1 || is_alone => format!("TP{tp}"),
        tp => format!("TP{tp} against TP1"),
    };
    format!(
        "{}, {sizes}{batch}; {}; box {}, GPU {}; gates: {}\n",
        explanation.model,
        or_unknown(&explanation.engine),
        or_unknown(&explanation.box_name),
        or_unknown(&explanation.gpu),
        counted(&explanation.gates),
    )
}

pub(crate) fn gates(gates: &[Gate]) -> String {
    let others = gates.iter().filter(|gate| gate.verdict != Verdict::Passed);
    let mut lines: Vec<String> = gates_of_runs(others)
        .into_iter()
        .map(|(name, gate)| {
            let mut line = format!(
                "{}: {name} ({}); needed: {}",
                gate.verdict, gate.seen, gate.needed
            );
            if let Some(run) = &gate.what_to_run {
                line.push_str(&format!("; {run}"));
            }
            line
        })
        .collect();
    lines.extend(passed(gates));
    list(Topic::Gates.title(), &lines)
}

/// Gates under their names, where those that say the same of several runs of a side stand once, as in `no throttling, TP1 runs 1 2 4`.
#[must_use]
pub fn gates_of_runs<'a>(gates: impl IntoIterator<Item = &'a Gate>) -> Vec<(String, &'a Gate)> {
    let mut grouped: Vec<(&str, Vec<&str>, &Gate)> = vec![];
    for gate in gates {
        let (stem, run) = match gate.name.rsplit_once(" run ") {
            Some((stem, run)) if run.parse::<u32>().is_ok() => (stem, Some(run)),
            _ => (gate.name.as_str(), None),
        };
        let same = |(name, runs, first): &&mut (&str, Vec<&str>, &Gate)| {
            *name == stem
                && !runs.is_empty()
                && first.verdict == gate.verdict
                && first.seen == gate.seen
                && first.needed == gate.needed
                && first.what_to_run == gate.what_to_run
        };
        match (run, grouped.iter_mut().find(same)) {
            (Some(run), Some((_, runs, _))) => runs.push(run),
            (run, _) => grouped.push((stem, run.into_iter().collect(), gate)),
        }
    }
    let named = grouped.into_iter().map(|(stem, runs, gate)| {
        let name = match runs.as_slice() {
            [] | [_] => gate.name.clone(),
            runs => format!("{stem} runs {}", runs.join(" ")),
        };
        (name, gate)
    });
    named.collect()
}

/// What is odd about a curve; and what the sides differ in beside what is compared, and what that costs: of `lowered` the evidence would be better than C; `None`
/// where no gate warns.
#[must_use]
pub fn warning(gates: &[Gate], lowered: &[Cause]) -> Option<String> {
    let of_curve = |gate: &&Gate| gate.name == CURVE_GROWS;
    let curve = warned(gates).filter(of_curve).map(|gate| {
        format!(
            "WARNING: more bytes do not always take longer ({}): a switch of the library's protocol may do that, and so may a disturbed measurement or a wrong file; measure those sizes again.",
            gate.seen
        )
    });
    let curve: Vec<String> = curve.collect();
    let sides = warned(gates).filter(|gate| !of_curve(gate));
    let sides = sides.map(|gate| {
        let name = gate.name.strip_prefix("the ").unwrap_or(&gate.name);
        format!("not the {name} ({})", gate.seen)
    });
    let sides: Vec<String> = sides.collect();
    let mut causes: Vec<String> = lowered.iter().map(Cause::to_string).collect();
    causes.dedup();
    let costs = match causes.is_empty() {
        true => "which costs no grade, since none is better than C".to_owned(),
        false => format!(
            "so that the evidence of {} is no better than C",
            causes.join(", ")
        ),
    };
    let sides = (!sides.is_empty()).then(|| format!("WARNING: {}, {costs}.", sides.join(", ")));
    let all: Vec<String> = sides.into_iter().chain(curve).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// How many gates passed, and which; `None` where none did.
#[must_use]
pub fn passed(gates: &[Gate]) -> Option<String> {
    let passed = gates.iter().filter(|gate| gate.verdict == Verdict::Passed);
    let passed: Vec<Gate> = passed.map(without_figures).collect();
    let names: Vec<String> = gates_of_runs(&passed)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    (!names.is_empty()).then(|| format!("{} passed: {}", passed.len(), names.join("; ")))
}

/// A gate of which only the name is shown.
fn without_figures(gate: &Gate) -> Gate {
    Gate {
        seen: String::new(),
        needed: String::new(),
        ..gate.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(name: &str, verdict: Verdict, seen: &str) -> Gate {
        Gate {
            name: name.to_owned(),
            verdict,
            seen: seen.to_owned(),
            needed: "needed".to_owned(),
            what_to_run: None,
        }
    }

    #[test]
    fn what_is_said_of_several_runs_stands_once() {
        let gates = [
            gate("no throttling, TP1 run 1", Verdict::Unknown, "no monitor"),
            gate("transport proven", Verdict::Unknown, "no file"),
            gate("no throttling, TP1 run 2", Verdict::Unknown, "no monitor"),
            gate("no throttling, TP1 run 3", Verdict::Unknown, "too short"),
            gate("no throttling, TP2 run 1", Verdict::Unknown, "no monitor"),
        ];
        let names: Vec<String> = gates_of_runs(&gates)
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(
            names,
            [
                "no throttling, TP1 runs 1 2",
                "transport proven",
                "no throttling, TP1 run 3",
                "no throttling, TP2 run 1"
            ]
        );
    }

    #[test]
    fn passed_gates_are_counted_each_and_named_by_side() {
        let gates = [
            gate("no failures, TP1 run 1", Verdict::Passed, "16 of 16"),
            gate("no failures, TP1 run 2", Verdict::Passed, "15 of 15"),
        ];
        assert_eq!(
            passed(&gates).as_deref(),
            Some("2 passed: no failures, TP1 runs 1 2")
        );
    }
}
