//! What a flat summary says of counts that must agree and of times that it may leave out: a contradiction is refused, and a time that is
//! not taken is a finding with its name.
//!
//! Whether the times are of a stream is not its business.

use super::aliases::{Alias, COMPLETED, FAILED, TOTAL};
use super::result::{Finding, FindingKind};
use super::summary::Found;
use crate::import::error::ImportError;

impl Found<'_> {
    /// Refuses requests completed and failed that are not those that were sent.
    pub(super) fn refuse_other_counts(&self) -> Result<(), ImportError> {
        let (Some(completed), Some(total)) = (self.count(&COMPLETED)?, self.count(&TOTAL)?) else {
            return Ok(());
        };
        let sent = self.as_written(&TOTAL);
        match self.count(&FAILED)? {
            Some(failed) if completed.checked_add(failed) != Some(total) => {
                let want = format!(
                    "it and {}, to make {sent}: all that were sent completed or failed",
                    self.as_written(&FAILED)
                );
                Err(self.nonsense(&COMPLETED, &want))
            }
            None if completed > total => {
                let want = format!("no more than {sent}");
                Err(self.nonsense(&COMPLETED, &want))
            }
            _ => Ok(()),
        }
    }

    /// A time above zero that the file may leave out, in seconds; what stands there and is none goes to `findings`. Clients that have
    /// no value write 0 or -1 where `may_be_empty`.
    ///
    /// # Errors
    /// Two keys name the time and differ.
    pub(super) fn told(
        &self,
        alias: &Alias,
        may_be_empty: bool,
        findings: &mut Vec<Finding>,
    ) -> Result<Option<f64>, ImportError> {
        let mut told: Option<(&str, f64)> = None;
        for (key, scale) in self.keys(alias) {
            let value = self.fields.value(key).and_then(serde_json::Value::as_f64);
            let is_empty = may_be_empty && value.is_some_and(|value| value <= 0.0);
            let why = match (value, scale) {
                _ if is_empty => continue,
                (None, _) => "no number: write one",
                (Some(value), _) if value <= 0.0 => {
                    "no time above zero: write the one that was measured"
                }
                (Some(_), None) => {
                    "a time whose unit nothing tells: write it into the key, with _ms or _s"
                }
                (Some(value), Some(scale)) => {
                    let seconds = value * scale;
                    if let Some((other, earlier)) = told
                        && (earlier - seconds).abs() > 1e-3 * earlier
                    {
                        let want =
                            format!("the same as {other}, which is {}", self.seen(alias, other));
                        return Err(self.nonsense_at(alias, key, &want));
                    }
                    told = Some((key, seconds));
                    continue;
                }
            };
            let stands = self.fields.value(key).cloned().unwrap_or_default();
            let stands = crate::control::shortened(&stands.to_string());
            findings.push(Finding::new(
                FindingKind::NotTaken,
                format!("{key} is not taken: it is {stands}, {why}"),
            ));
        }
        Ok(told.map(|(_, seconds)| seconds))
    }
}
