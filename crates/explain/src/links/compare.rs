//! The comparison of two links as a whole: findings, what is judged and what is not.

use super::pair::Pair;
use super::result::{LinkComparison, LinkFigures, LinkOutcome};
use super::side::LinkSide;
use crate::checks::{is_of_decode, pair_findings};
use crate::explanation::SCHEMA;
use crate::finding::{Finding, Refusal, capped, refusing};
use crate::sources::sources;

/// What this form is called.
const KIND: &str = "links";

/// Compares what ran over two links: what the step differs by, and what of it the link makes.
#[must_use]
pub fn compare_links(a: &LinkSide, b: &LinkSide, seed: u64, draws: u32) -> LinkComparison {
    let findings = pair_findings((&a.name, &a.inputs), (&b.name, &b.inputs));
    let mut inputs = sources(&a.inputs);
    for source in sources(&b.inputs) {
        if !inputs.contains(&source) {
            inputs.push(source);
        }
    }
    let is_mixed = findings
        .iter()
        .any(|of| matches!(of, Finding::SimulatedMixed { .. }));
    let simulated = a.inputs.simulated().or_else(|| b.inputs.simulated());
    LinkComparison {
        schema: SCHEMA,
        kind: KIND.to_owned(),
        simulated: simulated.filter(|_| !is_mixed),
        model: a.inputs.model.name.clone(),
        tp: a.inputs.tp,
        a: a.facts(),
        b: b.facts(),
        inputs,
        outcome: outcome(&Pair::new(a, b, seed, draws), &findings),
        findings,
    }
}

fn outcome(pair: &Pair<'_>, findings: &[Finding]) -> LinkOutcome {
    let refused = |reasons| LinkOutcome::Refused {
        refusal: Refusal { reasons },
    };
    let reasons = refusing(findings);
    if !reasons.is_empty() {
        return refused(reasons);
    }
    let mut figures = LinkFigures {
        batch: pair.batch,
        decode: None,
        first_token: None,
        not_judged: Vec::new(),
        confounders: pair.a.confounders(pair.b),
        next: Vec::new(),
        caveats: Vec::new(),
        priors: Vec::new(),
        seed: pair.seed,
        draws: pair.draws,
    };
    match pair.decode(&mut figures) {
        Ok(difference) => figures.decode = Some(difference),
        Err(why) => figures.not_judged.push(why),
    }
    match pair.first_token(&mut figures) {
        Ok(difference) => figures.first_token = Some(difference),
        Err(why) => figures.not_judged.push(why),
    }
    if figures.decode.is_none() && figures.first_token.is_none() {
        return refused(figures.not_judged);
    }
    let of_all: Vec<Finding> = findings
        .iter()
        .filter(|of| !is_of_decode(of))
        .cloned()
        .collect();
    let sides = [
        (&mut figures.decode, findings),
        (&mut figures.first_token, &of_all[..]),
    ];
    for (difference, findings) in sides {
        let predicted = difference.as_mut().and_then(|of| of.predicted.as_mut());
        if let (Some(by), Some(most)) = (predicted, capped(findings)) {
            by.grade = by.grade.max(most);
        }
    }
    figures.caveats.extend(findings.iter().cloned());
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
