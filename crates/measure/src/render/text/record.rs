//! Chooses the tables by what a record holds, and says how the run ended.

use std::fmt::Write as _;

use super::super::clean::clean;
use super::{collectives, links as link_tables, serve};
use crate::record::{Outcome, Payload, Record, Status};

/// The tables of a record, simulated ones marked as such.
#[must_use]
pub fn record(record: &Record) -> String {
    let record = &clean(record);
    let soft = record.soft_box();
    let soft = soft.as_deref();
    let mut text = match &record.payload {
        Payload::Links(links) => link_tables::tables(record, links, soft),
        Payload::Collectives(collectives) => collectives::tables(record, collectives, soft),
        Payload::Serve(serve) => serve::block(record, serve, soft),
    };
    line(&mut text, "");
    line(&mut text, &ending(record));
    text
}

/// The tables of a `p2p-bw` record.
#[must_use]
pub fn links(record: &Record) -> String {
    match &record.payload {
        Payload::Links(_) => self::record(record),
        other => format!("this holds {}, not links\n", other.kind()),
    }
}

/// Adds a line; writing to a String cannot fail.
pub(super) fn line(text: &mut String, content: &str) {
    let _ = writeln!(text, "{}", content.trim_end());
}

/// Adds the reservations of a whole record below a title, where there are some.
pub(super) fn reservations(text: &mut String, reservations: &[String]) {
    if reservations.is_empty() {
        return;
    }
    text.push_str("\nBefore believing these numbers\n");
    for reservation in reservations {
        line(text, &format!("  - {reservation}"));
    }
}

/// Whether there were points to measure and none of them was.
fn measured_nothing(payload: &Payload) -> bool {
    let Payload::Links(links) = payload else {
        return false;
    };
    let mut outcomes = links.points.iter().map(|point| &point.outcome);
    !links.points.is_empty() && !outcomes.any(|outcome| matches!(outcome, Outcome::Measured { .. }))
}

fn ending(record: &Record) -> String {
    let how = match &record.status {
        Status::Complete if measured_nothing(&record.payload) => {
            "nothing was measured, for the reasons above".to_owned()
        }
        Status::Complete => "complete".to_owned(),
        Status::Interrupted { signal } => {
            format!("INTERRUPTED by {signal}: what was measured until then is above")
        }
        Status::Broken => {
            "BROKEN OFF (killed, crashed, its disk full, or the machine went down): what was on the disk is above"
                .to_owned()
        }
        Status::Failed { reason } => {
            format!("BROKEN OFF, {reason}: what was measured until then is above")
        }
        Status::Refused { reason } => format!("nothing was measured: {reason}"),
    };
    format!("{how}; exit code {}", record.exit_code)
}
