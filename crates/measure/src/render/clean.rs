//! What every rendering does first: control characters out of every text, and the mark of a soft box found.
//!
//! Device names, host names and reasons come from drivers, box files and record files of others; an escape sequence or a
//! line break in one of them could else draw what was never measured.

use std::borrow::Cow;

use serde_json::Value;

use crate::quantity::TimeSource;
use crate::record::{Outcome, Payload, Record};

/// The record with every control character in its texts replaced, line breaks by a space.
pub(super) fn clean(record: &Record) -> Cow<'_, Record> {
    let Ok(mut value) = serde_json::to_value(record) else {
        return Cow::Borrowed(record);
    };
    if !replace(&mut value) {
        return Cow::Borrowed(record);
    }
    match serde_json::from_value(value) {
        Ok(cleaned) => Cow::Owned(cleaned),
        Err(_) => Cow::Borrowed(record),
    }
}

/// Replaces control characters in all texts below a value; whether there were any.
fn replace(value: &mut Value) -> bool {
    match value {
        Value::String(text) if text.contains(char::is_control) => {
            *text = text
                .replace('\n', " ")
                .replace(char::is_control, "\u{fffd}");
            true
        }
        Value::Array(values) => values
            .iter_mut()
            .fold(false, |any, value| replace(value) | any),
        Value::Object(map) => map
            .values_mut()
            .fold(false, |any, value| replace(value) | any),
        _ => false,
    }
}

/// The soft box behind a record; a record whose clock was virtual is simulated, whatever its header says.
pub(super) fn simulated(record: &Record) -> Option<String> {
    if let Some(soft) = &record.header.simulated {
        return Some(soft.box_name.clone());
    }
    let Payload::Links(links) = &record.payload;
    let is_virtual = links.points.iter().any(|point| match &point.outcome {
        Outcome::Measured { quantities, .. } => quantities
            .iter()
            .any(|named| named.quantity.timing.source == TimeSource::VirtualClock),
        _ => false,
    });
    is_virtual.then(|| "(not named)".to_owned())
}
