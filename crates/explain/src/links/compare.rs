//! The comparison of two links as a whole: gates, what is judged and what is not.

use super::pair::Pair;
use super::result::{LinkComparison, LinkFigures, LinkOutcome};
use super::side::LinkSide;
use crate::attribute::Refusal;
use crate::explanation::{SCHEMA, sources};
use crate::gates::{Gate, all_simulated, failed, is_of_decode, pair_gates, reservations};

/// What tells this form from an explanation.
const KIND: &str = "links";

/// Why the same model at the same tensor parallel size takes another time over another link; the same inputs, seed and number of
/// draws give the same result.
#[must_use]
pub fn compare_links(a: &LinkSide, b: &LinkSide, seed: u64, draws: u32) -> LinkComparison {
    let gates = pair_gates((&a.name, &a.inputs), (&b.name, &b.inputs));
    let mut inputs = sources(&a.inputs);
    for source in sources(&b.inputs) {
        if !inputs.contains(&source) {
            inputs.push(source);
        }
    }
    LinkComparison {
        schema: SCHEMA,
        kind: KIND.to_owned(),
        simulated: all_simulated(
            a.inputs.simulated().or_else(|| b.inputs.simulated()),
            &gates,
        ),
        model: a.inputs.model.name.clone(),
        tp: a.inputs.tp,
        a: a.facts(),
        b: b.facts(),
        inputs,
        outcome: outcome(&Pair::new(a, b, seed, draws), &gates),
        gates,
    }
}

fn reasons<'a>(gates: impl Iterator<Item = &'a Gate>) -> Vec<String> {
    gates
        .map(|gate| format!("{}: {}", gate.name, gate.seen))
        .collect()
}

fn outcome(pair: &Pair<'_>, gates: &[Gate]) -> LinkOutcome {
    let refused = |reasons| LinkOutcome::Refused {
        refusal: Refusal { reasons },
    };
    let of_all = reasons(failed(gates).filter(|gate| !is_of_decode(gate)));
    if !of_all.is_empty() {
        return refused(of_all);
    }
    let mut figures = LinkFigures {
        batch: pair.batch,
        decode: None,
        first_token: None,
        not_judged: Vec::new(),
        wire: pair.wires(),
        confounders: pair.a.confounders(pair.b),
        next: Vec::new(),
        caveats: Vec::new(),
        priors: Vec::new(),
        seed: pair.seed,
        draws: pair.draws,
    };
    let of_decode = reasons(failed(gates).filter(|gate| is_of_decode(gate)));
    let decode = if of_decode.is_empty() {
        pair.decode(&mut figures)
    } else {
        Err(of_decode.join("; "))
    };
    match decode {
        Ok(difference) => figures.decode = Some(difference),
        Err(why) => figures
            .not_judged
            .push(format!("the decode step is not judged: {why}")),
    }
    match pair.first_token(&mut figures) {
        Ok(difference) => figures.first_token = Some(difference),
        Err(why) => figures
            .not_judged
            .push(format!("the time to first token is not judged: {why}")),
    }
    if figures.decode.is_none() && figures.first_token.is_none() {
        return refused(figures.not_judged);
    }
    figures.caveats.extend(reservations(gates));
    if !figures.wire.is_empty() {
        figures.priors.extend(pair.share_of_raw());
    } else if pair.a.inputs.tp > 1 {
        figures.caveats.push("what bytes over the two links can differ by is not worked out: give --links-a and --links-b, or --link-a gen4x16 and --link-b gen4x8".to_owned());
    }
    figures.next = pair.next(&figures);
    keep_once(&mut figures.caveats);
    keep_once(&mut figures.priors);
    LinkOutcome::Compared {
        figures: Box::new(figures),
    }
}

fn keep_once<T: PartialEq + Clone>(of: &mut Vec<T>) {
    let mut kept: Vec<T> = Vec::new();
    for one in of.iter() {
        if !kept.contains(one) {
            kept.push(one.clone());
        }
    }
    *of = kept;
}
