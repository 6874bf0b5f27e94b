//! How near a device came to the temperature that it slows down at. Whether it did is `throttle`'s.

use measure::record::MonitorValues;

use super::judging::Judging;
use super::readings::Value;
use super::repairs::gap;
use super::watch::{SOURCE, of_devices};
use crate::plural::plural;
use crate::profile::LimitUnit;
use crate::report::{Check, Evidence, Limit, ReasonCode, Seen, Verdict};

const KIND: &str = "temperature";

/// One check for each device: its least margin over all readings.
pub(super) fn temperature(judging: &Judging<'_>) -> Vec<Check> {
    let value = Value {
        key: "temperature_margin_c",
        is_told: |values| values.temperature_margin_c.is_some(),
    };
    of_devices(judging, KIND, &[value], |label, readings| {
        let values = || readings.samples.iter().map(|sample| &sample.values);
        let hottest = values().filter_map(|values| values.temperature_c).max();
        let heat = hottest.map_or_else(
            || "no temperature was told".to_owned(),
            |hottest| format!("at most {hottest} degC"),
        );
        let with_margin =
            || values().filter_map(|values| Some((values.temperature_margin_c?, values)));
        let n = with_margin().count();
        let about = [label.to_owned()];
        let Some((least, nearest)) = with_margin().min_by_key(|(margin, _)| *margin) else {
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
        // All of one sensor: thresholds of another one are no thresholds of it.
        let sensor = nearest.temperature_sensor.as_deref();
        let of_sensor = values().filter(|values| values.temperature_sensor.as_deref() == sensor);
        let hottest = of_sensor.filter_map(|values| values.temperature_c).max();
        let heat = match (hottest, sensor.filter(|sensor| *sensor != "GPU")) {
            (Some(hottest), Some(sensor)) => format!("{sensor} at most {hottest} degC"),
            _ => heat,
        };
        let told = |word: &str, pick: fn(&MonitorValues) -> Option<u32>| {
            pick(nearest).map(|degrees| format!("{word} at {degrees} degC"))
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
            Some(_) => (Verdict::Pass, ReasonCode::WithinLimit),
            None => (Verdict::Pass, ReasonCode::AsExpected),
        };
        let place = match least {
            ..0 => format!("{} degC above", least.unsigned_abs()),
            _ => format!("{least} degC below"),
        };
        let text = format!(
            "{heat}, {place} where it slows down, at the nearest of {}{}",
            plural(n, "reading"),
            match limit {
                Some(_) => "",
                None => "; no limit is set",
            }
        );
        // The least of all readings has no interval.
        let evidence = Evidence::Measured {
            what: "least margin below the temperature that it slows down at".to_owned(),
            value: f64::from(least),
            unit: LimitUnit::Celsius.word().to_owned(),
            n,
            low: None,
            high: None,
            samples: vec![],
            source: SOURCE.to_owned(),
        };
        let of_what = sensor.map_or_else(
            || "temperatures of the device".to_owned(),
            |sensor| format!("temperatures of the sensor {sensor}"),
        );
        let value = std::iter::once(heat).chain(thresholds).collect::<Vec<_>>();
        let thresholds = Evidence::Seen {
            what: of_what,
            value: value.join(", "),
            expected: None,
            n,
            source: SOURCE.to_owned(),
        };
        judging.judged(
            KIND,
            about,
            (verdict, code, text),
            limit,
            Seen::new(evidence, [thresholds]),
        )
    })
}
