//! What gates and attributions say, for every file of these tests to ask.

use explain::{Attribution, Gate, Inputs, Verdict, gates};

/// The first gate whose name begins so.
pub(super) fn gate(inputs: &Inputs, name: &str) -> Gate {
    let all = gates(inputs);
    let gate = all.iter().find(|gate| gate.name.starts_with(name));
    gate.unwrap_or_else(|| panic!("no {name} in {all:?}"))
        .clone()
}

/// Its verdict.
pub(super) fn verdict(inputs: &Inputs, name: &str) -> Verdict {
    gate(inputs, name).verdict
}

/// Whether a reservation holds these words.
pub(super) fn says(got: &Attribution, part: &str) -> bool {
    got.caveats.iter().any(|caveat| caveat.contains(part))
}
