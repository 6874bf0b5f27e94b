//! The numbers of one object or printed block, by what their keys mean; which keys nothing was taken from, and whether what the file
//! says twice agrees.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::conditions::TEXTS;
use super::finding::Finding;
use super::keys::{Field, LISTS, meaning};
use super::latency::{Latency, Statistic};
use super::result::{ServeFormat, ServeRun};
use crate::number::{counted, float};
use record::control;

/// So far may two keys of one number lie apart.
const ALIKE: f64 = 1e-3;

/// The numbers of a file.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    values: BTreeMap<Field, f64>,
    is_client: bool,
    /// What the digits of the duration leave open, s.
    pub(super) duration_off_s: f64,
    pub(super) unused: Vec<String>,
    pub(super) findings: Vec<Finding>,
}

impl Numbers {
    /// Of an object, whose objects are looked into; what vLLM's and SGLang's clients call `concurrency` is what was seen, not asked.
    pub(super) fn of(map: &Map<String, Value>, is_client: bool) -> Self {
        let mut numbers = Self {
            is_client,
            ..Self::default()
        };
        numbers.add("", map);
        numbers
    }

    fn add(&mut self, group: &str, map: &Map<String, Value>) {
        for (name, value) in map {
            let key = match group {
                "" => name.clone(),
                group => format!("{group}.{name}"),
            };
            match value {
                Value::Null => {}
                Value::Object(inner) if group.is_empty() => self.add(&key, inner),
                Value::Array(_) if LISTS.contains(&key.as_str()) => {}
                _ if key.starts_with("spec_decode_") => {}
                _ if TEXTS.contains(&key.as_str()) && meaning(&key).is_none() => {}
                _ => match meaning(&key).filter(|_| !(self.is_client && key == "concurrency")) {
                    Some((field, scale)) => self.put(field, scale, key, value),
                    None => self.unused.push(control::shortened(&key)),
                },
            }
        }
    }

    fn put(&mut self, field: Field, scale: f64, key: String, value: &Value) {
        // Requests without a rate come at `inf`; no other number may be.
        let number = match value {
            Value::String(text) => text.trim().parse::<f64>().ok(),
            other => other.as_f64(),
        };
        let number = number.filter(|of| of.is_finite() || field == Field::RequestRate);
        let least = |number: &f64| match field {
            Field::Time(..) | Field::Duration => *number > 0.0,
            _ => *number >= 0.0 && number.is_sign_positive(),
        };
        // These write -1 or 0 where no rate and no limit was asked for.
        let is_limit = matches!(field, Field::RequestRate | Field::Concurrency);
        let Some(number) = number
            .filter(least)
            .filter(|number| !is_limit || *number > 0.0)
        else {
            if !is_limit {
                let value = control::shortened(value.to_string().trim_matches('"'));
                self.findings.push(Finding::ValueNotTaken {
                    key: control::shortened(&key),
                    value,
                });
            }
            return;
        };
        if field == Field::Duration {
            self.duration_off_s = off(value, scale / 1e3);
        }
        let number = number * scale;
        if let Some(known) = self.values.get(&field) {
            if (known - number).abs() > ALIKE * known.abs() {
                self.findings.push(Finding::FiguresDiffer {
                    figure: control::shortened(&key),
                    said: number,
                    own: *known,
                });
            }
            return;
        }
        self.values.insert(field, number);
    }

    /// A number; times in ms, and the duration, too.
    pub(super) fn get(&self, field: Field) -> Option<f64> {
        self.values.get(&field).copied()
    }

    /// A whole number.
    pub(super) fn count(&self, field: Field) -> Option<u64> {
        self.get(field).and_then(counted)
    }

    /// A statistic of a metric, ms.
    pub(super) fn time(&self, latency: Latency, statistic: Statistic) -> Option<f64> {
        self.get(Field::Time(latency, statistic))
    }

    /// The metrics of which there is a statistic.
    pub(super) fn timed(&self) -> impl Iterator<Item = Latency> {
        self.values.keys().filter_map(|field| match field {
            Field::Time(latency, _) => Some(*latency),
            _ => None,
        })
    }
}

/// How far a duration may be off by its digits, s: half a unit of the last one, and a whole second where it has none, which some
/// clients cut off and others round; never more than a tenth of it.
fn off(value: &Value, unit_s: f64) -> f64 {
    let text = value.to_string();
    let seconds = value.as_f64().unwrap_or(0.0);
    let unit = match text.split_once('.') {
        _ if text.contains(['e', 'E']) => return 0.0,
        None | Some((_, "0")) => 1.0,
        Some((_, digits)) => 0.5 * 10f64.powi(-i32::try_from(digits.len()).unwrap_or(0)),
    };
    unit_s * unit.min(0.1 * seconds)
}

/// How far figures that must agree may lie apart, such as completed over duration and the rate that the file gives.
pub(super) const AGREE: f64 = 0.05;

/// Figures that are not what others of the file make them.
pub(super) fn figures(numbers: &Numbers, run: &ServeRun) -> Vec<Finding> {
    let off = AGREE + numbers.duration_off_s / run.duration_s;
    let each = |total: Option<u64>| total.map(|total| float(total) / float(run.completed.max(1)));
    let per_s = |total: Option<u64>| total.map(|total| float(total) / run.duration_s);
    let both = numbers
        .get(Field::Completed)
        .and(numbers.get(Field::Failed))
        .and(run.failed);
    let sent = both
        .filter(|_| run.format == ServeFormat::Summary)
        .map(|failed| float(failed) + float(run.completed));
    let (rate, input, output) = (run.requests_per_s, run.input_tokens, run.output_tokens);
    let pairs = [
        ("requests_per_s", Field::RequestsPerS, Some(rate), off),
        ("requests sent", Field::Sent, sent, 0.0),
        ("output tokens each", Field::OutputEach, each(output), off),
        ("prompt tokens each", Field::InputEach, each(input), off),
        ("prompt tokens/s", Field::InputPerS, per_s(input), off),
    ];
    let pairs = pairs.into_iter();
    let told =
        pairs.filter_map(|(name, field, own, off)| Some((name, numbers.get(field)?, own?, off)));
    let other = told.filter(|(_, said, own, off)| (said - own).abs() > off * own + 0.005);
    let other = other.map(|(name, said, own, _)| Finding::FiguresDiffer {
        figure: name.to_owned(),
        said,
        own,
    });
    other.collect()
}
