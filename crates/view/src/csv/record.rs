//! Chooses the columns by what a record holds.

use super::super::clean::clean;
use super::{collectives, links as link_lines, numa as numa_lines, serve};
use record::{Payload, Record};

/// The numbers of a record, a header line first; which columns there are follows from what it holds.
#[must_use]
pub fn record(record: &Record) -> String {
    let record = &clean(record);
    match &record.payload {
        Payload::Links(links) => link_lines::lines(record, links),
        Payload::Collectives(collectives) => collectives::lines(record, collectives),
        Payload::Serve(serve) => serve::lines(record, serve),
        Payload::Numa(numa) => numa_lines::lines(record, numa),
    }
}

/// The numbers of a `tplens p2p` record, also of `tplens numa`, a header line first.
#[must_use]
pub fn links(record: &Record) -> String {
    match &record.payload {
        Payload::Links(_) | Payload::Numa(_) => self::record(record),
        other => format!("this holds {}, not links\n", other.kind()),
    }
}
