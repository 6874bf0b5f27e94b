//! What was compared, and the gates: those that passed in one line, the others in a line each.

use super::lists::list;
use crate::explanation::Explanation;
use crate::gates::{Gate, Verdict, counted};

/// Model, sizes, engine, box and gates in a line.
#[must_use]
pub fn heading(explanation: &Explanation, batch: Option<u32>) -> String {
    let batch = batch.map_or(String::new(), |batch| format!(", {batch} in flight"));
    let or_unknown = |known: &Option<String>| known.clone().unwrap_or_else(|| "unknown".to_owned());
    let sizes = match explanation.tp {
        1 => "TP1".to_owned(),
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
    let mut lines: Vec<String> = others
        .map(|gate| {
            let mut line = format!(
                "{}: {} ({}); needed: {}",
                gate.verdict, gate.name, gate.seen, gate.needed
            );
            if let Some(run) = &gate.what_to_run {
                line.push_str(&format!("; {run}"));
            }
            line
        })
        .collect();
    lines.extend(passed(gates));
    list("gates", &lines)
}

/// How many gates passed, and which; `None` where none did.
#[must_use]
pub fn passed(gates: &[Gate]) -> Option<String> {
    let passed = gates.iter().filter(|gate| gate.verdict == Verdict::Passed);
    let names: Vec<&str> = passed.map(|gate| gate.name.as_str()).collect();
    (!names.is_empty()).then(|| format!("{} passed: {}", names.len(), names.join("; ")))
}
