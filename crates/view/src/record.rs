//! The document of a record by what it holds.

use record::{Payload, Record};

use crate::clean::clean;
use crate::document::Document;
use crate::{collectives, links, numa, serve};

/// The document of a record by what it holds.
#[must_use]
pub fn record(record: &Record) -> Document {
    let record = &clean(record);
    match &record.payload {
        Payload::Links(payload) => links::document(record, payload),
        Payload::Collectives(payload) => collectives::document(record, payload),
        Payload::Numa(payload) => numa::document(record, payload),
        Payload::Serve(payload) => serve::run(record, payload),
    }
}
