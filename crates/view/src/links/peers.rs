//! Peer access as a table: the verdict on each pair and what it rests on.

use record::{KernelAccess, Links, PeerProbe, StepOutcome};

use crate::cell::maybe;
use crate::document::{Block, Section, Table};
use crate::ends::label;

/// The probes, as a detail; none where no pair was probed.
pub(super) fn section(links: &Links) -> Option<Section> {
    let mut table = Table::under(["pair", "path", "P2P", "16 B us", "kernels", "seen"]);
    for probe in &links.probes {
        let [from, to] =
            [probe.from, probe.to].map(|at| label(links, record::Endpoint::Device(at)));
        table.row([
            format!("{from}->{to}"),
            links.path(probe.from, probe.to).name().into_owned(),
            probe.verdict.to_string(),
            maybe(small_copy_us(probe)),
            match &probe.kernels {
                KernelAccess::Usable => "usable".to_owned(),
                KernelAccess::Unusable { reason } => format!("FAILED: {reason}"),
                KernelAccess::Untested { reason } => format!("not tried: {reason}"),
            },
            probe.rests_on.clone(),
        ]);
    }
    let section = Section::detail("Peer access", vec![Block::Table(table)]);
    (!links.probes.is_empty()).then_some(section)
}

/// The time of a small copy with access, as the probe of a pair found it.
pub(super) fn small_copy_us(probe: &PeerProbe) -> Option<f64> {
    let mut steps = probe.steps.iter();
    match &steps.find(|step| step.name == "small_copies")?.outcome {
        StepOutcome::Timed { quantity } => Some(quantity.value),
        _ => None,
    }
}
