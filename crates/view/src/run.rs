//! What all records have: how the run ended, who wrote it.

use record::{BackendFacts, Record, Status};

use crate::document::{Block, Item, Section, Tone};

/// That the run did not end by itself.
pub(crate) fn ending(record: &Record) -> Option<Item> {
    let text = match &record.status {
        Status::Complete => return None,
        Status::Interrupted { signal } => format!("Interrupted by {signal}."),
        Status::Broken => "Broken off: killed, crashed, or its disk full.".to_owned(),
        Status::Failed { reason } => format!("Broken off: {reason}."),
        Status::Refused { reason } => format!("Nothing was measured: {reason}."),
    };
    Some(Item::of(Tone::Bad, text).coded("run-broken"))
}

/// Program, driver and time, as a detail.
pub(crate) fn provenance(record: &Record, backend: Option<&BackendFacts>) -> Option<Section> {
    let backend = backend?;
    let driver = backend
        .driver
        .iter()
        .map(|version| format!("driver {version}"));
    let parts: Vec<String> = std::iter::once(format!("backend {}", backend.name))
        .chain(driver)
        .chain(backend.interface.clone())
        .chain(record.header.provenance.host.clone())
        .chain([made_by(record)])
        .collect();
    let block = Block::Paragraph(parts.join(", "));
    Some(Section::detail("Run", vec![block]))
}

/// `tplens p2p 0.1.0, 2026-07-01T12:00:00Z`.
pub(crate) fn made_by(record: &Record) -> String {
    let head = &record.header;
    format!(
        "{} {}, {}",
        head.command(),
        head.version,
        head.provenance.started
    )
}
