//! How a figure becomes a check: its limit, as a part of what its link carries where it is one, tightened by the baseline.

use topology::PcieLink;

use super::judging::Judging;
use super::pool::Pooled;
use super::three_way::Figure;
use crate::profile::{LimitRow, LimitUnit};
use crate::report::{Check, Evidence, Limit, ReasonCode, Seen, Side, Verdict};

/// Assumed where it cannot be read: what most servers set.
pub(super) const ASSUMED_PAYLOAD_BYTES: u32 = 256;

/// What a figure may be worse than the baseline by (our choice). Small copies and collectives vary more from run to run than large copies:
/// their times may be 1.25 times as long, and their rates 1 / 1.25 of the baseline's.
const TOLERANCE_OF_COPIES: f64 = 0.05;
const TOLERANCE_OF_TIMES: f64 = 0.25;
const TOLERANCE_OF_COLLECTIVE_RATES: f64 = 0.20;

/// What the link of a figure can carry.
pub(super) enum Ceiling {
    /// In GB/s, and what that rests on.
    Known(f64, String),
    /// Why it is not known.
    Unknown(String),
    /// There is no link.
    NoLink,
}

/// A figure that is to be held against its limit.
pub(super) struct Held<'a> {
    pub(super) kind: &'static str,
    pub(super) about: Vec<String>,
    /// Labels of the devices that it depends on.
    pub(super) devices: Vec<String>,
    pub(super) figure: Figure,
    /// What the figure is.
    pub(super) what: String,
    /// `GB/s`, `us`, `ms`, or `1` for a ratio.
    pub(super) unit: &'static str,
    pub(super) row: Option<&'a LimitRow>,
    pub(super) ceiling: Ceiling,
    /// The reason where it is beyond a line.
    pub(super) bad: ReasonCode,
    pub(super) source: String,
    /// What else belongs to it.
    pub(super) more: Vec<Evidence>,
    /// Said at the end of the reason; empty where there is nothing.
    pub(super) remark: String,
}

impl Judging<'_> {
    /// What a device's link carries in one direction: as it was read under load, else as the profile expects it.
    pub(super) fn device_ceiling(&self, label: &str) -> Ceiling {
        if self.is_host() {
            return Ceiling::NoLink;
        }
        let device = self.pool.device(label);
        let read = device.and_then(|device| {
            device
                .loaded
                .iter()
                .rev()
                .find_map(|(reading, _)| reading.limiting())
        });
        let expected = || {
            let (generation, width) = self.profile.link.generation.zip(self.profile.link.width)?;
            PcieLink::new(generation, width).ok()
        };
        let payload = device.and_then(|device| device.it.max_payload_bytes);
        let bytes = payload.unwrap_or(ASSUMED_PAYLOAD_BYTES);
        let assumed = if payload.is_none() { " assumed" } else { "" };
        match (read, expected()) {
            (Some(link), _) => Ceiling::Known(
                link.payload_ceiling_gb_per_s(bytes),
                format!("{link}, payload {bytes} B{assumed}"),
            ),
            (None, Some(link)) => Ceiling::Known(
                link.payload_ceiling_gb_per_s(bytes),
                format!(
                    "{link} as the profile expects it, since the link cannot be read, payload {bytes} B{assumed}"
                ),
            ),
            (None, None) => Ceiling::Unknown(format!(
                "the link of {label} cannot be read and the profile does not state it, so that its fraction is not known"
            )),
        }
    }

    /// The smaller ceiling of several devices.
    pub(super) fn smallest_ceiling(&self, labels: &[String]) -> Ceiling {
        let mut smallest = Ceiling::NoLink;
        for label in labels {
            smallest = match (smallest, self.device_ceiling(label)) {
                (Ceiling::Unknown(why), _) | (_, Ceiling::Unknown(why)) => Ceiling::Unknown(why),
                (Ceiling::Known(a, basis), Ceiling::Known(b, _)) if a <= b => {
                    Ceiling::Known(a, basis)
                }
                (known @ Ceiling::Known(..), Ceiling::NoLink) => known,
                (_, other) => other,
            };
        }
        smallest
    }

    /// What the link of a point carries for one of its numbers: as the record has it, else by its devices.
    pub(super) fn ceiling(&self, pooled: &Pooled, name: &str, labels: &[String]) -> Ceiling {
        if self.is_host() {
            return Ceiling::NoLink;
        }
        match pooled.ceiling(name) {
            Some((ceiling, basis)) => Ceiling::Known(ceiling, basis),
            None => self.smallest_ceiling(labels),
        }
    }

    /// Holds a figure against its limit and the baseline.
    pub(super) fn hold(&self, held: Held<'_>) -> Check {
        let Held {
            kind,
            about,
            devices,
            figure,
            what,
            unit,
            row,
            ceiling,
            bad,
            source,
            more,
            remark,
        } = held;
        let first = figure.evidence(what.clone(), unit, &source);
        let limit = match row.map(|row| limit_of(row, &ceiling, unit)) {
            None => None,
            Some(Ok(limit)) => limit,
            Some(Err(why)) => {
                let evidence = std::iter::once(first).chain(more).collect();
                let subject = self.subject(kind, about);
                return subject.inconclusive(ReasonCode::Unreadable, why, None, evidence);
            }
        };
        let (limit, is_baselines) = self.tightened(kind, &about, &what, unit, limit);
        let bad = if is_baselines {
            ReasonCode::BelowBaseline
        } else {
            bad
        };
        let words = figure.words(unit);
        let seen = Seen::new(first.clone(), more.clone());
        let Some(limit) = limit else {
            let text = format!(
                "{words}; nothing to hold it against: the profile sets no limit on it{remark}"
            );
            return self.judged(
                kind,
                about,
                (Verdict::Pass, ReasonCode::AsExpected, text),
                None,
                seen,
            );
        };
        let came = figure.against(&limit);
        let (verdict, code) = came.verdict(bad);
        let text = format!("{words}: {} ({}){remark}", came.words(), limit.basis);
        let open = |code, text| {
            let evidence = std::iter::once(first).chain(more).collect();
            self.subject(kind, about.clone()).inconclusive(
                code,
                text,
                Some(limit.clone()),
                evidence,
            )
        };
        let busy = self
            .busy_among(&devices)
            .filter(|_| verdict == Verdict::Fail);
        match (verdict, busy) {
            (_, Some(busy)) => open(
                ReasonCode::BusyDevice,
                format!(
                    "{text}; {busy}, so that this may be theirs: stop the other work and run again"
                ),
            ),
            (Verdict::Inconclusive, None) => open(code, text),
            (verdict, None) => self.judged(kind, about, (verdict, code, text), Some(limit), seen),
        }
    }

    /// The limit with the baseline's in place of a laxer one, and whether the baseline's is the one that fails.
    fn tightened(
        &self,
        kind: &str,
        about: &[String],
        what: &str,
        unit: &str,
        limit: Option<Limit>,
    ) -> (Option<Limit>, bool) {
        let figures = self.findings.baseline.iter().filter(|_| self.has_baseline);
        let id = format!("{kind} {}", about.join(" "));
        let is_it = |figure: &&crate::baseline::Figure| {
            (
                figure.check.as_str(),
                figure.what.as_str(),
                figure.unit.as_str(),
            ) == (id.as_str(), what, unit)
        };
        let known = figures.flat_map(|baseline| &baseline.figures).find(is_it);
        let Some(known) = known.and_then(|known| Figure::of(known.samples.clone())) else {
            return (limit, false);
        };
        let (good, tolerance) = match (unit, kind) {
            ("GB/s", "allreduce") => (Side::AtLeast, TOLERANCE_OF_COLLECTIVE_RATES),
            ("GB/s", _) => (Side::AtLeast, TOLERANCE_OF_COPIES),
            ("us" | "ms", _) => (Side::AtMost, TOLERANCE_OF_TIMES),
            _ => return (limit, false),
        };
        let worst = match good {
            Side::AtLeast => known.value * (1.0 - tolerance),
            Side::AtMost => known.value * (1.0 + tolerance),
        };
        let side = match good {
            Side::AtLeast => "below",
            Side::AtMost => "above",
        };
        let basis = format!(
            "fails {side} {worst:.2} {unit}, the baseline's {} and {:.0}% worse",
            known.words(unit),
            tolerance * 100.0
        );
        let source = "the baseline; what it may be worse by is our choice".to_owned();
        let own = Limit {
            good,
            fail: Some(worst),
            warn: None,
            unit: unit.to_owned(),
            basis,
            source,
        };
        let Some(limit) = limit.filter(|limit| limit.good == good && limit.unit == unit) else {
            return (Some(own), true);
        };
        let is_tighter = limit.fail.is_none_or(|fail| match good {
            Side::AtLeast => worst > fail,
            Side::AtMost => worst < fail,
        });
        if !is_tighter {
            return (Some(limit), false);
        }
        // A line that warns only where it fails already says nothing.
        let is_inside = |warn: &f64| match good {
            Side::AtLeast => *warn > worst,
            Side::AtMost => *warn < worst,
        };
        let warn = limit.warn.filter(is_inside);
        let warns = warn.map_or_else(String::new, |warn| {
            format!("; warns {side} {warn:.2} {unit}")
        });
        let tight = Limit {
            warn,
            basis: format!("{}{warns}; {}", own.basis, limit.basis),
            source: format!("{}; {}", own.source, limit.source),
            ..own
        };
        (Some(tight), true)
    }
}

/// A limit in the unit of its figure; `Ok(None)` where there is no link whose part it could be.
fn limit_of(row: &LimitRow, ceiling: &Ceiling, unit: &str) -> Result<Option<Limit>, String> {
    let lines = |factor: f64| {
        (
            row.fail.map(|fail| fail * factor),
            row.warn.map(|warn| warn * factor),
        )
    };
    let ((fail, warn), basis) = match (row.unit, ceiling) {
        (LimitUnit::OfCeiling, Ceiling::Known(ceiling, of)) => {
            let parts: Vec<String> = [row.fail, row.warn]
                .into_iter()
                .flatten()
                .map(|part| format!("{part:.2}"))
                .collect();
            let side = match row.good {
                Side::AtLeast => "below",
                Side::AtMost => "above",
            };
            let line = |word: &str, part: Option<f64>| {
                part.map(|part| format!("{word} {side} {:.2} GB/s", part * ceiling))
            };
            let told: Vec<String> = [line("fails", row.fail), line("warns", row.warn)]
                .into_iter()
                .flatten()
                .collect();
            let basis = format!(
                "{}: {} of {ceiling:.2} GB/s, the most that is carried by {of}",
                told.join(", "),
                parts.join(" and ")
            );
            (lines(*ceiling), basis)
        }
        (LimitUnit::OfCeiling, Ceiling::Unknown(why)) => return Err(why.clone()),
        (LimitUnit::OfCeiling, Ceiling::NoLink) => return Ok(None),
        _ => {
            let unit = if unit == "1" {
                String::new()
            } else {
                format!(" {unit}")
            };
            let line =
                |word: &str, value: Option<f64>| value.map(|value| format!("{word} {value}{unit}"));
            let told: Vec<String> = [line("fails at", row.fail), line("warns at", row.warn)]
                .into_iter()
                .flatten()
                .collect();
            (lines(1.0), told.join(", "))
        }
    };
    Ok(Some(Limit {
        good: row.good,
        fail,
        warn,
        unit: unit.to_owned(),
        basis,
        source: row.source.clone(),
    }))
}
