//! Flat summaries: requests and tokens per second, latency mean and percentiles, as clients without a stream write them.
//!
//! TTFT and TPOT of such files are taken only where they and the latency agree: clients of this kind were seen to print the latency
//! as TTFT and 1 / throughput as time per output token (evalscope 0.5.5, perf/http_client.py), which is then a finding.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::aliases::{
    Alias, COMPLETED, CONCURRENCY, DURATION, EXPECTED, FAILED, ITL, ITL_MEDIAN, Kind, MAX,
    MAX_TOKENS, MEAN, MEDIAN, MIN, MODEL, OUTPUT_TOKENS_PER_S, P90, P95, P99, REQUESTS_PER_S,
    TOTAL, TOTAL_TOKENS_PER_S, TP, TPOT, TTFT,
};
use super::conditions::Conditions;
use super::result::{Asked, Finding, FindingKind, Said, ServeResult, float};
use super::run::{ServeFormat, ServeRun, Spread};
use super::tokens::{INPUT, OUTPUT};
use crate::control;
use crate::import::error::ImportError;
use crate::import::fields::Fields;

/// How far numbers that must agree may lie apart, such as completed / duration and the rate that the file gives.
pub(super) const TOLERANCE: f64 = 0.05;

/// How far TTFT + TPOT x (output tokens - 1) may lie from the latency, to say that all three are of a stream; means of products
/// are not products of means where lengths differ.
const STREAMED: f64 = 0.1;

/// The part of a duration by which its digits may put it off.
const MOST_OFF: f64 = 0.1;

/// A millisecond and a microsecond, s.
const MS: f64 = 1e-3;
const US: f64 = 1e-6;

/// Objects that only group others: their names say nothing about the numbers within.
const GROUPS: [&str; 6] = [
    "config",
    "settings",
    "parameters",
    "results",
    "summary",
    "metrics",
];

/// The result of a flat summary; `None` where the object has neither a rate of requests nor a mean latency.
pub(super) fn result(fields: &Fields) -> Result<Option<ServeResult>, ImportError> {
    let mut flat = Map::new();
    flatten("", fields.map, &mut flat);
    let found = Found {
        fields: &Fields {
            origin: fields.origin,
            map: &flat,
        },
    };
    if found.keys(&REQUESTS_PER_S).is_empty() && found.keys(&MEAN).is_empty() {
        return Ok(None);
    }
    found.result().map(Some)
}

/// Nested objects become keys with `_` between: `{"latency_s": {"mean": 1}}` is `latency_s_mean`.
fn flatten(prefix: &str, map: &Map<String, Value>, flat: &mut Map<String, Value>) {
    for (key, value) in map {
        let mut name = prefix.to_owned();
        for word in key
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty())
        {
            let separator = if name.is_empty() { "" } else { "_" };
            let _ = write!(name, "{separator}{}", word.to_ascii_lowercase());
        }
        match value {
            Value::Object(inner) if GROUPS.contains(&name.as_str()) => {
                flatten(prefix, inner, flat);
            }
            Value::Object(inner) => flatten(&name, inner, flat),
            other => {
                flat.insert(name, other.clone());
            }
        }
    }
}

/// Whether a TTFT and a TPOT (s) are those of a stream with this latency.
fn is_of_a_stream(run: &ServeRun, ttft: f64, tpot: f64) -> bool {
    let each = run
        .output_tokens
        .map(|tokens| float(tokens) / float(run.completed));
    let (Some(latency), Some(each)) = (run.e2el_ms, each) else {
        return false;
    };
    let whole = (ttft + tpot * (each - 1.0)) * 1e3;
    ttft * 1e3 < latency.mean * (1.0 - STREAMED)
        && (whole - latency.mean).abs() <= STREAMED * latency.mean
}

/// A summary's flat keys.
pub(super) struct Found<'a> {
    pub(super) fields: &'a Fields<'a>,
}

impl Found<'_> {
    fn result(&self) -> Result<ServeResult, ImportError> {
        self.refuse_other_counts()?;
        let mut run = self.run()?;
        self.refuse_other_lists(&run)?;
        let mut left_out = Vec::new();
        let ttft = self.told(&TTFT, true, &mut left_out)?;
        let tpot = self.told(&TPOT, true, &mut left_out)?;
        let itl = self.told(&ITL, false, &mut left_out)?;
        let itl_median = self.told(&ITL_MEDIAN, false, &mut left_out)?;
        let plain = |seconds: f64| Spread {
            n: None,
            mean: seconds * 1e3,
            mean_interval: None,
            median: None,
            min: None,
            max: None,
            p99: None,
        };
        if let (Some(ttft), Some(tpot)) = (ttft, tpot)
            && is_of_a_stream(&run, ttft, tpot)
        {
            run.streamed = true;
            run.ttft_ms = Some(plain(ttft));
            run.tpot_ms = Some(plain(tpot));
            let median = itl_median.map(|seconds| seconds * 1e3);
            run.itl_ms = itl.map(plain).map(|itl| Spread { median, ..itl });
        }
        let alone = (itl.is_none() && itl_median.is_some()).then(|| {
            let words = format!(
                "{} stands without a mean ITL and is not taken: give the mean beside it (mean_itl_ms)",
                self.key(&ITL_MEDIAN)
            );
            Finding::new(FindingKind::MedianAlone, words)
        });
        let expected = self.count(&EXPECTED)?;
        let total = self.count(&TOTAL)?;
        let asked = Asked {
            requests: expected.or(total),
            output_tokens: run.output_tokens_asked,
            ..Asked::default()
        };
        let said = Said {
            ttft_ms: ttft.map(|seconds| seconds * 1e3),
            tpot_ms: tpot.map(|seconds| seconds * 1e3),
            output_tokens_per_s: self.one(&OUTPUT_TOKENS_PER_S)?,
            total_tokens_per_s: self.lenient(&TOTAL_TOKENS_PER_S),
            ..Said::default()
        };
        Ok(ServeResult {
            asked,
            said,
            duration_off_s: self.duration_off(),
            findings: self
                .other_total(&run)
                .into_iter()
                .chain(alone)
                .chain(left_out)
                .collect(),
            ..ServeResult::of(run)
        })
    }

    /// A number above zero where there is one; these clients write 0 or -1 where they have no value.
    pub(super) fn lenient(&self, alias: &Alias) -> Option<f64> {
        let (key, scale) = self.keys(alias).into_iter().next()?;
        let value = self.fields.value(key)?.as_f64()?;
        (value > 0.0).then_some(value * scale?)
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "request and token counts are far below 2^53"
    )]
    fn run(&self) -> Result<ServeRun, ImportError> {
        let rate = self.one(&REQUESTS_PER_S)?;
        let duration = self.one(&DURATION)?;
        let completed = self.completed(rate, duration)?;
        let duration_s = match (duration, rate) {
            (Some(seconds), _) => seconds,
            (None, Some(rate)) => completed as f64 / rate,
            (None, None) => {
                return Err(self.missing(&DURATION, "add it, such as \"total_time_s\": 62.9"));
            }
        };
        let requests_per_s = completed as f64 / duration_s;
        if let Some(rate) = rate
            && (requests_per_s - rate).abs() > (TOLERANCE + self.duration_off() / duration_s) * rate
        {
            return Err(self.nonsense(
                &REQUESTS_PER_S,
                &format!("completed / duration = {requests_per_s:.4}"),
            ));
        }
        let mean = self.one(&MEAN)?.ok_or_else(|| {
            self.missing(&MEAN, "add it with its unit, such as \"latency_mean_s\"")
        })?;
        let output_tokens = self.tokens(&OUTPUT, completed, duration_s)?;
        let input_tokens = self.tokens(&INPUT, completed, duration_s)?;
        let asked = self.count(&MAX_TOKENS)?;
        // No request gives more tokens than asked for, so a total of exactly that many says that each gave them all.
        let all = asked.map(|asked| asked * completed);
        Ok(ServeRun {
            origin: self.fields.origin.to_owned(),
            format: ServeFormat::Summary,
            simulated: self.fields.text("simulated"),
            model: MODEL.iter().find_map(|key| self.fields.text(key)),
            tp: self.count(&TP)?.and_then(|tp| u32::try_from(tp).ok()),
            streamed: false,
            concurrency_asked: self.count(&CONCURRENCY)?.map(|count| count as f64),
            request_rate_asked: None,
            completed,
            failed: self.failed(completed)?,
            duration_s,
            requests_per_s,
            input_tokens,
            output_tokens,
            output_tokens_asked: asked,
            fixed_output: (output_tokens.is_some() && output_tokens == all).then_some(true),
            e2el_ms: Some(self.latency(mean, completed)?),
            ttft_ms: None,
            tpot_ms: None,
            itl_ms: None,
            decode_gap_ms: None,
            conditions: Conditions::of_fields(self.fields, true),
        })
    }

    /// How far the duration may be off by its digits, s: half a unit of the last one, and a whole second where it has none, which
    /// some clients cut off and others round; never more than a tenth of it, or it would excuse everything.
    pub(super) fn duration_off(&self) -> f64 {
        let of_key = |(key, scale): (&str, Option<f64>)| {
            let value = self.fields.value(key)?;
            let (text, seconds) = (value.to_string(), value.as_f64()?);
            let unit = match text.split_once('.') {
                _ if text.contains(['e', 'E']) => return None,
                None | Some((_, "0")) => 1.0,
                Some((_, digits)) => 0.5 * 10f64.powi(-i32::try_from(digits.len()).ok()?),
            };
            Some(scale.unwrap_or(1.0) * unit.min(MOST_OFF * seconds))
        };
        let all = self.keys(&DURATION).into_iter().filter_map(of_key);
        all.reduce(f64::min).unwrap_or(0.0)
    }

    /// Successful requests: counted, or all without the failed ones, or all where the rate says that they succeeded.
    #[expect(
        clippy::cast_precision_loss,
        reason = "request counts are far below 2^53"
    )]
    fn completed(&self, rate: Option<f64>, duration: Option<f64>) -> Result<u64, ImportError> {
        if let Some(completed) = self.count(&COMPLETED)? {
            return Ok(completed);
        }
        let total = self
            .count(&TOTAL)?
            .ok_or_else(|| self.missing(&COMPLETED, "add it, such as \"completed\": 64"))?;
        if let Some(failed) = self.count(&FAILED)? {
            return total
                .checked_sub(failed)
                .ok_or_else(|| self.nonsense(&FAILED, "no more than all requests"));
        }
        let all = total as f64;
        let said = rate.zip(duration).map(|(rate, seconds)| {
            let off = TOLERANCE + self.duration_off() / seconds;
            (rate * seconds, off * all)
        });
        if said.is_some_and(|(said, off)| (said - all).abs() <= off) {
            Ok(total)
        } else if let Some((said, _)) = said {
            let fewer = match said < all {
                true => {
                    ": if the others failed, add \"completed\" or \"failed\"; else one of the three is wrong"
                }
                false => ": one of the three is wrong",
            };
            let want = format!(
                "with {} to make no other number of requests than {}: they make {said:.1}, and that is {total}{fewer}",
                self.as_written(&DURATION),
                self.key(&TOTAL)
            );
            Err(self.nonsense(&REQUESTS_PER_S, &want))
        } else {
            Err(self.missing(
                &COMPLETED,
                "add it, or \"failed\", so that failures are known",
            ))
        }
    }

    fn failed(&self, completed: u64) -> Result<Option<u64>, ImportError> {
        let failed = self.count(&FAILED)?;
        let total = self.count(&TOTAL)?;
        Ok(failed.or_else(|| {
            let counted = !self.keys(&COMPLETED).is_empty();
            total
                .filter(|_| counted)
                .and_then(|total| total.checked_sub(completed))
        }))
    }

    fn latency(&self, mean_s: f64, completed: u64) -> Result<Spread, ImportError> {
        let (min, median) = (self.one(&MIN)?, self.one(&MEDIAN)?);
        let (p99, max) = (self.one(&P99)?, self.one(&MAX)?);
        // Each is no less than those before it; half a percent is left to rounding.
        let order = [
            (&MIN, min),
            (&MEDIAN, median),
            (&P90, self.lenient(&P90)),
            (&P95, self.lenient(&P95)),
            (&P99, p99),
            (&MAX, max),
        ];
        let mut least = 0.0;
        let mut lower = &MIN;
        for (alias, value) in order {
            let Some(value) = value else { continue };
            if value < least * 0.995 {
                let want = format!("no less than {}", self.as_written(lower));
                return Err(self.nonsense(alias, &want));
            }
            (least, lower) = (value, alias);
        }
        let in_range = min.is_none_or(|min| mean_s >= min * 0.995)
            && max.is_none_or(|max| mean_s <= max * 1.005);
        if !in_range {
            let ends = [(&MIN, min), (&MAX, max)].into_iter();
            let ends = ends.filter(|(_, value)| value.is_some());
            let ends: Vec<String> = ends.map(|(alias, _)| self.as_written(alias)).collect();
            let want = format!("a mean between minimum and maximum: {}", ends.join("; "));
            return Err(self.nonsense(&MEAN, &want));
        }
        let ms = |seconds: Option<f64>| seconds.map(|seconds| seconds * 1e3);
        Ok(Spread {
            n: Some(completed),
            mean: mean_s * 1e3,
            mean_interval: None,
            median: ms(median),
            min: ms(min),
            max: ms(max),
            p99: ms(p99),
        })
    }

    /// A number's key and value as they stand in the file, and the unit that it was taken in.
    pub(super) fn as_written(&self, alias: &Alias) -> String {
        let key = self.key(alias);
        format!("{key}, which is {}", self.seen(alias, key))
    }

    /// What stands under a key; of a time also the unit that was taken, where that is not the second its key names.
    pub(super) fn seen(&self, alias: &Alias, key: &str) -> String {
        let value = self.fields.value(key).cloned().unwrap_or_default();
        let value = control::shortened(&value.to_string());
        let keys = self.keys(alias);
        let scale = keys.iter().find(|(known, _)| *known == key);
        let unit = match scale.and_then(|(_, scale)| *scale) {
            _ if alias.kind == Kind::Plain => return value,
            None => return format!("{value} (taken as s, since its key names no unit)"),
            Some(MS) => "ms",
            Some(US) => "us",
            Some(_) => return value,
        };
        format!("{value} (taken as {unit}, which its key names)")
    }

    /// The keys of the file that name this number, with the seconds that one of them counts.
    pub(super) fn keys(&self, alias: &Alias) -> Vec<(&str, Option<f64>)> {
        let unit = |word: &str| match word {
            "s" | "sec" | "secs" | "second" | "seconds" => Some(1.0),
            "ms" | "milliseconds" => Some(MS),
            "us" => Some(US),
            _ => None,
        };
        let matching = |key: &String| {
            if alias.kind == Kind::Plain {
                return alias.keys.contains(&key.as_str()).then_some(Some(1.0));
            }
            let words: Vec<&str> = key.split('_').filter(|word| unit(word).is_none()).collect();
            let scale = key.split('_').find_map(unit);
            alias
                .keys
                .contains(&words.join("_").as_str())
                .then_some(scale)
        };
        self.fields
            .map
            .iter()
            .filter(|(_, value)| !value.is_null())
            .filter_map(|(key, _)| matching(key).map(|scale| (key.as_str(), scale)))
            .collect()
    }

    /// The number above zero that the file has under one of its names, times in seconds.
    pub(super) fn one(&self, alias: &Alias) -> Result<Option<f64>, ImportError> {
        let mut found: Option<(&str, f64)> = None;
        for (key, scale) in self.keys(alias) {
            let scale = match scale {
                Some(scale) => scale,
                None if alias.kind == Kind::Duration => 1.0,
                None => {
                    let want = format!("its unit in the key: rename it {key}_s or {key}_ms");
                    let value = self.fields.value(key).cloned().unwrap_or_default();
                    return Err(self.fields.nonsense(key, &value, &want));
                }
            };
            let Some(value) = self.fields.positive(key)? else {
                continue;
            };
            let value = value * scale;
            if let Some((other, earlier)) = found
                && (earlier - value).abs() > 1e-3 * earlier
            {
                let want = format!("the same as {other}, which is {}", self.seen(alias, other));
                return Err(self.nonsense_at(alias, key, &want));
            }
            found = Some((key, value));
        }
        Ok(found.map(|(_, value)| value))
    }

    /// The whole number of zero or more that the file has under one of its names.
    pub(super) fn count(&self, alias: &Alias) -> Result<Option<u64>, ImportError> {
        let keys = self.keys(alias);
        let Some((key, _)) = keys.first() else {
            return Ok(None);
        };
        let count = self.fields.count(key)?;
        for (other, _) in &keys[1..] {
            if self.fields.count(other)? != count {
                let value = self.fields.value(other).cloned().unwrap_or_default();
                let want = format!("the same as {key}");
                return Err(self.fields.nonsense(other, &value, &want));
            }
        }
        Ok(count)
    }

    fn missing(&self, alias: &Alias, next: &str) -> ImportError {
        let what = format!("`{}` (looked for {})", alias.keys[0], alias.keys.join(", "));
        self.fields.missing(&what, next)
    }

    /// That the number cannot be, with the value as it stands in the file.
    pub(super) fn nonsense(&self, alias: &Alias, want: &str) -> ImportError {
        self.nonsense_at(alias, self.key(alias), want)
    }

    pub(super) fn nonsense_at(&self, alias: &Alias, key: &str, want: &str) -> ImportError {
        ImportError::Nonsense {
            origin: self.fields.origin.to_owned(),
            key: key.to_owned(),
            seen: self.seen(alias, key),
            want: want.to_owned(),
        }
    }

    /// The key of the file that names this number, or the preferred one.
    pub(super) fn key(&self, alias: &Alias) -> &str {
        self.keys(alias)
            .first()
            .map_or(alias.keys[0], |(key, _)| key)
    }
}
