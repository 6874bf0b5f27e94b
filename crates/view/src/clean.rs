//! What every rendering does first: control characters out of every text.
//!
//! Device names, host names and reasons come from drivers, box files and record files of others; an escape sequence or a
//! line break in one of them could else draw what was never measured.

use std::borrow::Cow;

use serde_json::Value;

use record::Record;
use record::control;

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
            *text = control::replaced(text);
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
