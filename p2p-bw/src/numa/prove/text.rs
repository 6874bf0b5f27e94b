//! A [`Proof`] as a table.

use std::collections::BTreeMap;

use measure::unit::ByteCount;
use topology::CpuSet;

use super::outcome::{Outcome, Proof, Refusal};
use crate::numa::columns::columns;

/// The table, what was refused below it, and what that means.
pub(super) fn table(proof: &Proof) -> String {
    let pages = proof.bytes.div_ceil(proof.page_bytes);
    let by: Vec<&str> = proof.by().into_iter().collect();
    let says = match by.is_empty() {
        true => "the kernel does not say where any of them is".to_owned(),
        false => format!("the kernel says where each of them is ({})", by.join(", ")),
    };
    let mut text = format!(
        "{pages} page(s) of {} on each node; {says}\n\n",
        ByteCount(proof.page_bytes as u64)
    );
    let head = ["NODE", "CPUS", "MEMORY", "BOUND", "MOVED TO", "PREFERRED"].map(str::to_owned);
    let mut rows = vec![head.to_vec()];
    let mut reasons = Vec::new();
    for node in &proof.nodes {
        let memory = node.memory_bytes.map(|bytes| ByteCount(bytes).to_string());
        rows.push(vec![
            node.node.to_string(),
            cpus(node.cpus.as_ref()),
            memory.unwrap_or_else(|| "—".to_owned()),
            word(&node.outcome),
            moves(&node.outcome),
            word(&node.preferred),
        ]);
        for outcome in [&node.outcome, &node.preferred] {
            reasons.extend(why(outcome));
        }
    }
    text.push_str(&columns(&rows));
    text.push('\n');
    if let Some(outcome) = &proof.interleave {
        text.push_str(&format!("interleaved over all: {}\n", word(outcome)));
        reasons.extend(why(outcome));
    }
    if let Some(absent) = &proof.absent_node {
        let (node, is) = (absent.node, word(&absent.outcome));
        text.push_str(&format!("node {node}, which does not exist: {is}\n"));
    }
    for (index, reason) in reasons.iter().enumerate() {
        // Nodes that are refused alike say so once.
        if !reasons[..index].contains(reason) {
            text.push_str(&format!("  {reason}\n"));
        }
    }
    text.push_str(if proof.is_whole() {
        "all of it is where it was wanted\n"
    } else {
        "not all of it is proven to be where it was wanted\n"
    });
    text
}

fn cpus(cpus: Option<&CpuSet>) -> String {
    match cpus {
        None => "no such node".to_owned(),
        Some(cpus) if cpus.is_empty() => "none".to_owned(),
        Some(cpus) => cpus.to_string(),
    }
}

fn word(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Proven { pages, .. } => format!("{pages} of {pages} proven"),
        Outcome::Interleaved { on, .. } => format!("{} proven", counts(on)),
        Outcome::Elsewhere {
            on, unanswered: 0, ..
        } => format!("elsewhere ({})", counts(on)),
        Outcome::Elsewhere { on, unanswered, .. } => {
            format!("elsewhere ({}; {unanswered} without an answer)", counts(on))
        }
        Outcome::Refused(refusal) => format!("refused: {}", short(refusal)),
        Outcome::NotProven(refusal) => format!("not proven: {}", short(refusal)),
        Outcome::NotTried { .. } => "not tried".to_owned(),
    }
}

fn moves(outcome: &Outcome) -> String {
    let Outcome::Proven {
        moved_to,
        not_moved,
        ..
    } = outcome
    else {
        return "—".to_owned();
    };
    let refused = not_moved
        .iter()
        .map(|(node, refusal)| format!("{node}: {}", short(refusal)));
    let moved = moved_to
        .iter()
        .map(|(node, pages)| format!("{node}: {pages}"));
    match moved.chain(refused).collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => "no other node".to_owned(),
        moves => moves,
    }
}

/// The call and the name of the reason.
fn short(refusal: &Refusal) -> String {
    let errno = refusal.errno.as_deref().unwrap_or("see below");
    match refusal.call {
        Some(call) => format!("{call} {errno}"),
        None => errno.to_owned(),
    }
}

fn why(outcome: &Outcome) -> Vec<String> {
    match outcome {
        Outcome::Proven { not_moved, .. } => not_moved
            .values()
            .map(|refusal| refusal.reason.clone())
            .collect(),
        Outcome::Refused(refusal) | Outcome::NotProven(refusal) => vec![refusal.reason.clone()],
        Outcome::NotTried { reason } => vec![reason.clone()],
        Outcome::Interleaved { .. } | Outcome::Elsewhere { .. } => Vec::new(),
    }
}

fn counts(on: &BTreeMap<u32, u64>) -> String {
    let counts: Vec<String> = on
        .iter()
        .map(|(node, pages)| format!("{node}: {pages}"))
        .collect();
    counts.join(", ")
}
