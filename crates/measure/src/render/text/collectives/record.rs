//! Header, library, devices, transports, steps, a table for each series, arms beside each other, and reservations.

use super::super::header::{cautions, devices, is_caution, opening};
use super::super::record::{line, reservations};
use super::steps::step_line;
use super::{arms, notes, regimes, rows, surroundings, totals, transport};
use crate::calls;
use crate::caveat::Caveat;
use crate::record::{Collectives, PlannedStep, Record};

/// The whole text of a record, without how the run ended.
pub(in super::super) fn tables(
    record: &Record,
    collectives: &Collectives,
    soft: Option<&str>,
) -> String {
    let mut text = opening(record, soft, collectives.backend.as_ref());
    text.push_str(&cautions(&collectives.caveats));
    for words in surroundings::lines(collectives) {
        line(&mut text, &words);
    }
    if !collectives.devices.is_empty() {
        text.push_str(&devices(&collectives.devices));
    }
    text.push_str(&transport::section(&collectives.transports));
    if !collectives.steps.is_empty() {
        text.push_str("\nSteps whose sizes are measured\n");
        let of = |step: &PlannedStep| format!("  {}\n", step_line(step));
        text.extend(collectives.steps.iter().map(of));
    }
    let all = calls::rows(collectives);
    let is_host = collectives
        .backend
        .as_ref()
        .is_some_and(|backend| backend.name == "host");
    text.push_str(&totals::section(&collectives.steps, &all, (is_host, soft)));
    for series in all.chunk_by(|a, b| a.series == b.series) {
        line(&mut text, &format!("\n{}", rows::title(series, soft)));
        text.push_str(&rows::table_of(series, collectives));
        for note in notes::notes(series, soft.is_some()) {
            line(&mut text, &format!("  {note}"));
        }
    }
    text.push_str(&arms::section(collectives, &all));
    text.push_str(&regimes::section(collectives, &all, soft.is_some()));
    let general: Vec<String> = collectives
        .caveats
        .iter()
        .filter(|caveat| !is_caution(caveat))
        .map(Caveat::to_string)
        .collect();
    reservations(&mut text, &general);
    text
}
