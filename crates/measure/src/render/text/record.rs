//! Chooses the tables by what a record holds, and says how the run ended.

use std::fmt::Write as _;

use super::super::clean::clean;
use super::{collectives, links as link_tables, numa as numa_tables, serve};
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
        Payload::Numa(numa) => numa_tables::tables(record, numa, soft),
    };
    line(&mut text, "");
    // Whoever sees the end of a long text first does not see its top.
    let cautions = text.lines().filter(|it| it.starts_with("CAUTION:")).count();
    if cautions > 0 && matches!(record.payload, Payload::Serve(_)) {
        let these = if cautions == 1 {
            "line stands"
        } else {
            "lines stand"
        };
        line(&mut text, &format!("{cautions} CAUTION {these} at the top"));
    }
    line(&mut text, &ending(record));
    text
}

/// The tables of a `p2p-bw` record, also of `p2p-bw numa`.
#[must_use]
pub fn links(record: &Record) -> String {
    match &record.payload {
        Payload::Links(_) | Payload::Numa(_) => self::record(record),
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
    let outcomes: Vec<&Outcome> = match payload {
        Payload::Links(links) => links.points.iter().map(|point| &point.outcome).collect(),
        Payload::Numa(numa) => numa.points.iter().map(|point| &point.outcome).collect(),
        _ => Vec::new(),
    };
    let is_measured = |outcome: &&Outcome| matches!(outcome, Outcome::Measured { .. });
    !outcomes.is_empty() && !outcomes.iter().any(is_measured)
}

fn ending(record: &Record) -> String {
    // Where a run broke off, the exit code is not that of whoever shows it.
    let whose = match &record.status {
        Status::Broken | Status::Failed { .. } => "the run's exit code was",
        Status::Complete | Status::Interrupted { .. } | Status::Refused { .. } => "exit code",
    };
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
    format!("{how}; {whose} {}", record.exit_code)
}
