//! Engine steps in words: what each is, and which of them send a size.

use crate::calls::Row;
use crate::record::{CollectivePath, PlannedCollective, PlannedStep};
use crate::unit::ByteCount;

/// Uses of a size that are listed; more are counted.
const LISTED_USES: usize = 2;

/// What a step is, how many collectives it has and how many bytes they carry.
pub(super) fn step_line(step: &PlannedStep) -> String {
    let of = |collective: &PlannedCollective| {
        (
            u64::from(collective.count),
            u64::from(collective.count).saturating_mul(collective.bytes_per_rank),
        )
    };
    let (count, bytes) = step
        .collectives
        .iter()
        .map(of)
        .fold((0, 0), |(count, bytes), (more, add)| {
            (count + more, bytes + add)
        });
    format!(
        "{} on {}, TP{}, {}: {count} collectives, {} a rank",
        step.model,
        step.engine,
        step.tp,
        step_name(step),
        ByteCount(bytes)
    )
}

/// `batch 16`, `batch 15 padded to 16`, `prefill of 512 tokens with batch 3`.
pub(super) fn step_name(step: &PlannedStep) -> String {
    let batch = if step.padded_batch == step.batch {
        format!("batch {}", step.batch)
    } else {
        format!("batch {} padded to {}", step.batch, step.padded_batch)
    };
    match step.prefill_tokens {
        Some(tokens) if step.batch == 0 => format!("prefill of {tokens} tokens"),
        Some(tokens) => format!("prefill of {tokens} tokens with {batch}"),
        None => batch,
    }
}

/// The steps that send this size and what for: `batch 16: 80 attention output + 80 mlp output`.
pub(super) fn uses(row: &Row<'_>, steps: &[PlannedStep]) -> String {
    let is_same = |collective: &&PlannedCollective| {
        (collective.kind, collective.bytes_per_rank) == (row.series.kind, row.bytes_per_rank)
    };
    let name = |collective: &PlannedCollective| {
        let path = match collective.path {
            CollectivePath::Library => "",
            CollectivePath::Custom => " (the engine's own kernel)",
        };
        format!("{} {}{path}", collective.count, collective.role)
    };
    let uses: Vec<String> = steps
        .iter()
        .filter(|step| step.tp == row.series.ranks)
        .filter_map(|step| {
            let names: Vec<String> = step.collectives.iter().filter(is_same).map(name).collect();
            (!names.is_empty()).then(|| format!("{}: {}", step_name(step), names.join(" + ")))
        })
        .collect();
    match uses.len() {
        n if n > LISTED_USES => {
            let listed = uses[..LISTED_USES].join("; ");
            format!("{listed}; and {} more steps", n - LISTED_USES)
        }
        _ => uses.join("; "),
    }
}
