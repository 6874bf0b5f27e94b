//! What was repaired of a device's memory, over its life and in this run: rows that were remapped, pages that were retired.
//!
//! A repair that failed is what vendors take cards back for; one of this run tells that the memory decays now. One that waits for a reset
//! leaves open what the card is like behind it.

use measure::record::{MonitorGap, MonitorLine, MonitorSample, MonitorValues};
use topology::RetiredPages;

use super::judging::Judging;
use super::readings::{Readings, Value};
use super::watch::{SOURCE, of_devices};
use crate::plural::plural;
use crate::profile::LimitRow;
use crate::report::{Check, Evidence, Limit, ReasonCode, Seen, Side, Verdict};

const KIND: &str = "memory_repairs";

/// What a figure is counted from.
type Count = fn(&MonitorValues) -> Option<u64>;

/// The figures: the key in profiles, one of them in words, and its count.
const FIGURES: [(&str, &str, Count); 3] = [
    (
        "remapped_uncorrectable",
        "row that was remapped for lost data",
        |values| values.row_remaps.map(|rows| rows.uncorrected),
    ),
    (
        "remapped_correctable",
        "row that was remapped for mended errors",
        |values| values.row_remaps.map(|rows| rows.corrected),
    ),
    ("retired_pages", "page that was retired", |values| {
        values.retired_pages.map(|pages| pages.retired)
    }),
];

/// What to do where something was repaired before and nothing is wrong now, on NVIDIA's devices and on AMD's.
const WATCH: &str = "read it again after some days of load (nvidia-smi -q -d ROW_REMAPPER,PAGE_RETIREMENT): where it grows, have the \
                     vendor's diagnostic look";
const WATCH_AMD: &str = "read it again after some days of load (amd-smi bad-pages): where it grows, have the vendor's diagnostic look";

/// What to do where AMD's driver is to take a page out of use.
const BY_ITSELF: &str = "nothing is to be reset: the driver takes the page out of use by itself (amd-smi bad-pages); run again when it has";

/// One check for each device.
pub(super) fn repairs(judging: &Judging<'_>) -> Vec<Check> {
    let values = [
        Value {
            key: "row_remaps",
            is_told: |values| values.row_remaps.is_some(),
        },
        Value {
            key: "retired_pages",
            is_told: |values| values.retired_pages.is_some(),
        },
    ];
    of_devices(judging, KIND, &values, |label, readings| {
        of_device(judging, label, readings)
    })
}

/// Something that is to be told, with the limit that it is beyond.
struct Told {
    verdict: Verdict,
    code: ReasonCode,
    text: String,
    limit: Option<Limit>,
    /// The figure that it rests on, as a reader wants it first; `None` where it rests on a state.
    figure: Option<Evidence>,
    advice: Option<&'static str>,
}

impl Told {
    fn new(verdict: Verdict, code: ReasonCode, text: String) -> Self {
        Self {
            verdict,
            code,
            text,
            limit: None,
            figure: None,
            advice: None,
        }
    }

    /// The same with the figure that it rests on, `n` being the readings of it.
    fn of(self, figure: &Figure, value: String, expected: Option<&str>) -> Self {
        let figure = figure.seen(value, expected);
        Self {
            figure: Some(figure),
            ..self
        }
    }

    /// A fault is worse than what is open, and that than what warns.
    fn order(&self) -> u8 {
        match self.verdict {
            Verdict::Fail => 2,
            Verdict::Inconclusive => 1,
            _ => 0,
        }
    }
}

/// A figure at the first and the last reading that has it.
struct Figure {
    key: &'static str,
    one: &'static str,
    before: u64,
    after: u64,
    /// Readings that have it.
    n: usize,
    /// Seconds from the first of them to the last.
    over_s: f64,
}

impl Figure {
    fn seen(&self, value: String, expected: Option<&str>) -> Evidence {
        Evidence::Seen {
            what: self.one.replacen(" that was ", "s that were ", 1),
            value,
            expected: expected.map(str::to_owned),
            n: self.n,
            source: SOURCE.to_owned(),
        }
    }

    /// So many rows or pages.
    fn things(&self, number: u64) -> String {
        let noun = self.one.split(' ').next().unwrap_or(self.one);
        plural(usize::try_from(number).unwrap_or(usize::MAX), noun)
    }
}

fn of_device(judging: &Judging<'_>, label: &str, readings: &Readings<'_>) -> Check {
    let samples = &readings.samples[..];
    let figures = figures(readings);
    // What the device told last of each.
    let last = &MonitorValues {
        row_remaps: latest(samples, |values| values.row_remaps),
        retired_pages: latest(samples, |values| values.retired_pages),
        ..MonitorValues::default()
    };
    if figures.is_empty() {
        return unread(judging, label);
    }
    let mut all = flags(last);
    all.extend(figures.iter().flat_map(|figure| of_figure(judging, figure)));
    // The first of the worst decides.
    all.sort_by_key(|told| std::cmp::Reverse(told.order()));
    let (state, counted) = evidence(label, samples, &figures, last);
    // What decided comes first; of what passes the repairs of before, where there are some, those with a limit before others.
    let stand = || figures.iter().filter(|figure| figure.after > 0);
    let is_limited = |figure: &&Figure| of_life(judging, figure).is_some();
    let stood = stand().find(is_limited).or_else(|| stand().next());
    let decided = match all.first() {
        Some(told) => told.figure.clone(),
        None => stood.map(|figure| figure.seen(figure.things(figure.after), None)),
    };
    let seen = match decided {
        Some(decided) => Seen::new(decided, std::iter::once(state).chain(counted)),
        None => Seen::new(state, counted),
    };
    let about = [label.to_owned()];
    let words: Vec<String> = match &all[..] {
        [] => figures
            .iter()
            .map(|figure| count(figure.after, figure.one))
            .collect(),
        all => all.iter().map(|told| told.text.clone()).collect(),
    };
    let text = words.join("; ");
    match all.into_iter().next() {
        None => {
            let text = format!("{text}, none of them in this run, and none waits or failed");
            let limit = stood.and_then(|figure| of_life(judging, figure)).map(limit);
            let code = match limit {
                Some(_) => ReasonCode::WithinLimit,
                None => ReasonCode::AsExpected,
            };
            judging.judged(KIND, about, (Verdict::Pass, code, text), limit, seen)
        }
        Some(told) if told.verdict == Verdict::Inconclusive => {
            let subject = judging.subject(KIND, about);
            let check = subject.inconclusive(told.code, text, None, seen.into());
            match told.advice {
                Some(advice) => check.advised(advice),
                None => check,
            }
        }
        Some(told) => {
            let came = (told.verdict, told.code, text);
            let is_amd = last.retired_pages.is_some_and(|pages| pages.by_itself);
            let check = judging.judged(KIND, about, came, told.limit, seen);
            match told.verdict {
                Verdict::Warn => check.advised(if is_amd { WATCH_AMD } else { WATCH }),
                _ => check,
            }
        }
    }
}

fn latest<T>(samples: &[&MonitorSample], value: impl Fn(&MonitorValues) -> Option<T>) -> Option<T> {
    samples
        .iter()
        .rev()
        .find_map(|sample| value(&sample.values))
}

fn figures(readings: &Readings<'_>) -> Vec<Figure> {
    let figure = |(key, one, count): &(&'static str, &'static str, Count)| {
        let samples = readings.samples.iter();
        let mut counts = samples.filter_map(|sample| count(&sample.values));
        let n = counts.clone().count();
        let before = counts.next()?;
        Some(Figure {
            key,
            one,
            before,
            after: counts.next_back().unwrap_or(before),
            n,
            over_s: readings.over_s(|values| count(values).is_some()),
        })
    };
    FIGURES.iter().filter_map(figure).collect()
}

/// What the device says of repairs that failed or wait.
fn flags(last: &MonitorValues) -> Vec<Told> {
    let rows = last.row_remaps.unwrap_or_default();
    let pages = last.retired_pages.unwrap_or_default();
    let mut told = Vec::new();
    let failed = |text: String| Told::new(Verdict::Fail, ReasonCode::RepairFailed, text);
    if rows.failed {
        told.push(failed("a row of memory could not be remapped".to_owned()));
    }
    if let Some(pages @ 1..) = pages.failed {
        told.push(failed(format!(
            "{} could not be retired",
            plural(pages, "page")
        )));
    }
    let waits = |text: String| Told::new(Verdict::Inconclusive, ReasonCode::ResetPending, text);
    if rows.pending || waits_for_reset(pages) {
        let what = if rows.pending { "row" } else { "page" };
        let text = format!("a {what} of memory waits for a reset of the device to be repaired");
        told.push(waits(text));
    }
    if pages.pending && pages.by_itself {
        let text = "a page of memory waits until the driver takes it out of use".to_owned();
        told.push(Told {
            advice: Some(BY_ITSELF),
            ..waits(text)
        });
    }
    told
}

fn waits_for_reset(pages: RetiredPages) -> bool {
    pages.pending && !pages.by_itself
}

fn of_figure(judging: &Judging<'_>, figure: &Figure) -> Option<Told> {
    let Figure {
        key,
        one,
        before,
        after,
        ..
    } = figure;
    let Some(more) = after.checked_sub(*before) else {
        let text = format!("{key} fell from {before} to {after}, so that its rise is not known");
        let told = Told::new(Verdict::Inconclusive, ReasonCode::CounterReset, text);
        let value = format!("{before}, later {after}");
        return Some(told.of(figure, value, Some("no fewer later")));
    };
    if more > 0 {
        let text = format!("{} in this run, {before} before it", count(more, one));
        let told = Told::new(Verdict::Fail, ReasonCode::MemoryRepaired, text);
        let value = format!("{} in this run", figure.things(more));
        return Some(told.of(figure, value, Some("none in a run")));
    }
    let row = of_life(judging, figure)?;
    #[expect(
        clippy::cast_precision_loss,
        reason = "rows of a device are far below 2^53"
    )]
    let beyond = |line: Option<f64>| line.is_some_and(|line| *after as f64 > line);
    let verdict = match (beyond(row.fail), beyond(row.warn)) {
        (true, _) => Verdict::Fail,
        (_, true) => Verdict::Warn,
        _ => return None,
    };
    let told = Told::new(verdict, ReasonCode::MemoryRepaired, count(*after, one));
    Some(Told {
        limit: Some(limit(row)),
        ..told.of(figure, figure.things(*after), None)
    })
}

/// The profile's limit on a figure over the life of a device.
fn of_life<'a>(judging: &Judging<'a>, figure: &Figure) -> Option<&'a LimitRow> {
    let row = judging.row(KIND, Some(figure.key));
    row.filter(|row| row.of.as_deref() == Some(figure.key))
}

fn limit(row: &LimitRow) -> Limit {
    Limit {
        good: Side::AtMost,
        fail: row.fail,
        warn: row.warn,
        unit: row.unit.word().to_owned(),
        basis: "over the life of the device".to_owned(),
        source: row.source.clone(),
    }
}

/// So many of what one is called `row that was remapped`.
fn count(number: u64, one: &str) -> String {
    match one.split_once(" that was ") {
        Some((noun, how)) if number != 1 => format!("{number} {noun}s that were {how}"),
        _ => format!("{number} {one}"),
    }
}

fn evidence(
    label: &str,
    samples: &[&MonitorSample],
    figures: &[Figure],
    last: &MonitorValues,
) -> (Evidence, Vec<Evidence>) {
    let rows = last.row_remaps.unwrap_or_default();
    let pages = last.retired_pages.unwrap_or_default();
    let states = [
        (
            "one waits for a reset",
            rows.pending || waits_for_reset(pages),
        ),
        ("one waits for the driver", pages.pending && pages.by_itself),
        (
            "one failed",
            rows.failed || pages.failed.is_some_and(|pages| pages > 0),
        ),
    ];
    let is: Vec<&str> = states
        .iter()
        .filter(|(_, is)| *is)
        .map(|(state, _)| *state)
        .collect();
    let state = Evidence::Seen {
        what: "repairs of memory that wait or failed".to_owned(),
        value: if is.is_empty() {
            "none".to_owned()
        } else {
            is.join(", ")
        },
        expected: Some("none".to_owned()),
        n: samples
            .iter()
            .filter(|sample| {
                sample.values.row_remaps.is_some() || sample.values.retired_pages.is_some()
            })
            .count(),
        source: SOURCE.to_owned(),
    };
    let counted = figures.iter().map(|figure| Evidence::Counted {
        what: format!("{} of {label}", figure.key),
        before: Some(figure.before),
        after: Some(figure.after),
        over_s: figure.over_s,
        source: SOURCE.to_owned(),
    });
    (state, counted.collect())
}

/// Neither rows nor pages are told.
fn unread(judging: &Judging<'_>, label: &str) -> Check {
    let subject = judging.untold(KIND, [label.to_owned()]);
    let why = gap(judging, label, "retired_pages").or_else(|| gap(judging, label, "row_remaps"));
    let why = why.unwrap_or_else(|| "the monitor tells nothing of them".to_owned());
    let text = format!("neither remapped rows nor retired pages are told: {why}");
    if judging.is_guest() {
        return subject.skipped(ReasonCode::Virtualized, text);
    }
    if why.contains("cannot be read") {
        return subject.inconclusive(ReasonCode::Permission, text, None, vec![]);
    }
    subject.skipped(ReasonCode::UnsupportedByDevice, text)
}

/// Why a monitor has no such value of a device.
pub(super) fn gap(judging: &Judging<'_>, label: &str, key: &str) -> Option<String> {
    judging.findings.monitor.iter().find_map(|line| {
        let MonitorLine::Header(header) = line else {
            return None;
        };
        let device = header
            .devices
            .iter()
            .position(|device| device.label == label)?;
        let mut gaps = header.unavailable.iter();
        let is_it = |gap: &&MonitorGap| gap.device == device && gap.key.as_deref() == Some(key);
        Some(gaps.find(is_it)?.reason.clone())
    })
}
