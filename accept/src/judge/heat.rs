//! How near a device came to the temperature that it slows down at. Whether it did is `throttle`'s.

use measure::record::MonitorValues;

use super::judging::Judging;
use super::repairs::gap;
use super::watch::{SOURCE, of_devices};
use crate::plural::plural;
use crate::report::{Check, Evidence, Limit, ReasonCode, Seen, Verdict};

const KIND: &str = "temperature";

/// One check for each device: its least margin over all readings.
pub(super) fn temperature(judging: &Judging<'_>) -> Vec<Check> {
    of_devices(judging, KIND, |label, samples| {
        let values = || samples.iter().map(|sample| &sample.values);
        let hottest = values().filter_map(|values| values.temperature_c).max();
        let heat = hottest.map_or_else(
            || "no temperature was told".to_owned(),
            |hottest| format!("at most {hottest} degC"),
        );
        let margins: Vec<i32> = values()
            .filter_map(|values| values.temperature_margin_c)
            .collect();
        let about = [label.to_owned()];
        let Some(least) = margins.iter().min().copied() else {
            let why = gap(judging, label, "temperature_margin_c");
            let why = why.map_or_else(String::new, |why| format!(" ({why})"));
            let text =
                format!("{heat}; the driver does not say at which temperature it slows down{why}");
            let code = match judging.is_guest() {
                true => ReasonCode::Virtualized,
                false => ReasonCode::UnsupportedByDevice,
            };
            return judging.subject(KIND, about).skipped(code, text);
        };
        let told = |word: &str, pick: fn(&MonitorValues) -> Option<u32>| {
            values()
                .find_map(pick)
                .map(|degrees| format!("{word} at {degrees} degC"))
        };
        let thresholds: Vec<String> = [
            told("to work at most", |values| values.most_operating_c),
            told("slows down", |values| values.slowdown_c),
            told("switches off", |values| values.shutdown_c),
        ]
        .into_iter()
        .flatten()
        .collect();
        let row = judging.row(KIND, None);
        let limit = row.map(|row| Limit {
            good: row.good,
            fail: row.fail,
            warn: row.warn,
            unit: row.unit.word().to_owned(),
            basis: "below the temperature that the device slows down at".to_owned(),
            source: row.source.clone(),
        });
        let below = |line: Option<f64>| line.is_some_and(|line| f64::from(least) < line);
        let (verdict, code) = match &limit {
            Some(limit) if below(limit.fail) => (Verdict::Fail, ReasonCode::NearSlowdown),
            Some(limit) if below(limit.warn) => (Verdict::Warn, ReasonCode::NearSlowdown),
            _ => (Verdict::Pass, ReasonCode::WithinLimit),
        };
        let place = match least {
            ..0 => format!("{} degC above", least.unsigned_abs()),
            _ => format!("{least} degC below"),
        };
        let text = format!(
            "{heat}, {place} where it slows down, at the nearest of {}{}",
            plural(margins.len(), "reading"),
            match limit {
                Some(_) => "",
                None => "; no limit is set",
            }
        );
        let evidence = Evidence::Seen {
            what: "least margin below the temperature that it slows down at".to_owned(),
            value: match &thresholds[..] {
                [] => format!("{least} degC"),
                thresholds => format!("{least} degC ({})", thresholds.join(", ")),
            },
            expected: row
                .and_then(|row| row.warn.or(row.fail))
                .map(|line| format!("{line} degC or more")),
            n: margins.len(),
            source: SOURCE.to_owned(),
        };
        judging.judged(
            KIND,
            about,
            (verdict, code, text),
            limit,
            Seen::new(evidence, []),
        )
    })
}
