//! What the rules say of a machine, and what several of them say of one cause told once.

use super::RULES;
use crate::{Facts, Finding, Verdict};

/// What some of the rules say, by id, or all where none is named; the worst first, then in the order of the table.
#[must_use]
pub fn judge(facts: &Facts, only: &[&str]) -> Vec<Finding> {
    let chosen = RULES
        .iter()
        .filter(|rule| only.is_empty() || only.contains(&rule.id));
    let mut findings: Vec<Finding> = chosen
        .flat_map(|rule| {
            (rule.judge)(facts).into_iter().map(|mut finding| {
                rule.id.clone_into(&mut finding.rule);
                // Advice on what would let it be told is for those who are on that machine.
                if finding.verdict == Verdict::CannotTell && facts.process.known().is_none() {
                    finding.todo = None;
                }
                if finding.why.is_empty() {
                    rule.why.clone_into(&mut finding.why);
                    rule.source.clone_into(&mut finding.source);
                }
                finding
            })
        })
        .collect();
    fold(&mut findings);
    findings.sort_by_key(|finding| finding.verdict);
    findings
}

/// One finding for one cause: what the rule of the level says of a variable that the rule of variables names as well.
fn fold(findings: &mut Vec<Finding>) {
    const OF_CAUSES: &str = "variables";
    const FOLDED: &str = "nccl-p2p-level";
    let is_fault = |finding: &Finding| finding.verdict < Verdict::CannotTell;
    let causes = findings
        .iter()
        .enumerate()
        .filter(|(_, finding)| finding.rule == OF_CAUSES && is_fault(finding));
    let mut same = causes.filter_map(|(cause, of)| {
        let repeats = |other: &Finding| {
            other.rule == FOLDED
                && is_fault(other)
                && other.seen.starts_with(&format!("{}:", of.seen))
        };
        Some((cause, findings.iter().position(repeats)?))
    });
    if let Some((cause, repeated)) = same.next_back() {
        findings[cause].also.push(FOLDED.to_owned());
        findings.remove(repeated);
    }
}
