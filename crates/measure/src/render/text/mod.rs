//! Records as text for a terminal.

mod case;
mod cell;
mod header;
mod notes;

use std::fmt::Write as _;

use super::clean::{clean, simulated};
use crate::caveat::Caveat;
use crate::record::{Links, Payload, Point, Record, Status};

/// The tables of a `p2p-bw` record.
#[must_use]
pub fn links(record: &Record) -> String {
    let record = &clean(record);
    let soft = simulated(record);
    let Payload::Links(links) = &record.payload;
    let mut text = header::header(record, links, soft.as_deref());
    for key in case_keys(links) {
        let points: Vec<&Point> = links
            .points
            .iter()
            .filter(|point| point.case == key)
            .collect();
        text.push('\n');
        text.push_str(&case::case(key, &points, links, soft.is_some()));
    }
    let general: Vec<String> = links
        .caveats
        .iter()
        .filter(|caveat| !header::is_caution(caveat))
        .map(Caveat::to_string)
        .chain(shared_caveats(links))
        .collect();
    if !general.is_empty() {
        text.push_str("\nBefore believing these numbers\n");
        general
            .iter()
            .for_each(|caveat| line(&mut text, &format!("  - {caveat}")));
    }
    line(&mut text, "");
    line(&mut text, &ending(record));
    text
}

/// Adds a line; writing to a String cannot fail.
fn line(text: &mut String, content: &str) {
    let _ = writeln!(text, "{}", content.trim_end());
}

/// Keys in the order in which their first points come.
fn case_keys(links: &Links) -> Vec<&str> {
    let mut keys: Vec<&str> = Vec::new();
    for point in &links.points {
        if !keys.contains(&point.case.as_str()) {
            keys.push(&point.case);
        }
    }
    keys
}

/// What holds for points of every case is said once, at the end.
fn shared_caveats(links: &Links) -> Vec<String> {
    let mut shared: Vec<String> = Vec::new();
    for caveat in links.points.iter().flat_map(|point| &point.caveats) {
        let text = caveat.to_string();
        if notes::is_general(caveat) && !shared.contains(&text) {
            shared.push(text);
        }
    }
    shared
}

fn ending(record: &Record) -> String {
    let how = match &record.status {
        Status::Complete => "complete".to_owned(),
        Status::Interrupted { signal } => {
            format!("INTERRUPTED by {signal}: what was measured until then is above")
        }
        Status::Broken => {
            "BROKEN OFF (killed, crashed, or the machine went down): what was on the disk is above"
                .to_owned()
        }
        Status::Refused { reason } => format!("nothing was measured: {reason}"),
    };
    format!("{how}; exit code {}", record.exit_code)
}

#[cfg(test)]
mod tests;
