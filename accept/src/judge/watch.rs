//! What the monitor saw over the whole run: changes of links under load, and what held clocks down.

use measure::record::MonitorSample;
use topology::PcieLink;

use super::inventory::seen;
use super::judging::Judging;
use super::readings::{BLOCKED, Readings, Value};
use crate::checks::Group;
use crate::findings::Missing;
use crate::plural::plural;
use crate::report::{Check, Evidence, Limit, ReasonCode, Seen, Side, Verdict};

/// Reasons that hold clocks down for a fault of cooling or power, by the words of `nvidia-smi -q`; the others are settings, idleness
/// and the power limit, at which a healthy device works.
const REASONS: &[(&str, Verdict)] = &[
    ("hardware slowdown", Verdict::Fail),
    ("hardware thermal slowdown", Verdict::Fail),
    ("hardware power brake slowdown", Verdict::Fail),
    ("software thermal slowdown", Verdict::Warn),
];

/// A link counts as loaded from so much traffic on, KB/s: its speed says something then (our choice: 1 GB/s, which no idle device has).
const LOADED_KB_PER_S: u64 = 1_000_000;

/// The part of the time in which somebody has to have watched.
const WATCHED: f64 = 0.9;

/// The place in reports.
pub(super) const SOURCE: &str = "monitor";

/// Why the monitor did not watch to the end, where it did not.
fn lost<'a>(judging: &Judging<'a>) -> Option<&'a Missing> {
    let missing = judging.findings.missing.get(&Group::Watch);
    missing.filter(|missing| missing.code == ReasonCode::MonitorLost)
}

/// Runs a judge on the readings of every device; a device that was not watched is not told.
pub(super) fn of_devices(
    judging: &Judging<'_>,
    kind: &str,
    values: &[Value],
    judge: impl Fn(&str, &Readings<'_>) -> Check,
) -> Vec<Check> {
    if judging.findings.monitor.is_empty() {
        return Vec::new();
    }
    let one = |label: String| {
        let readings = Readings::of(&judging.findings.monitor, &label, values);
        let check = judge(&label, &readings);
        // A fault that was seen stands; that all was well does not, where nobody looked.
        match unwatched(judging, &label, &readings, &check) {
            Some(text) if check.verdict != Verdict::Fail => judging
                .unwatched(kind, [label])
                .inconclusive(ReasonCode::MonitorLost, text, check.limit, check.evidence),
            _ => check,
        }
    };
    judging.pool.labels().into_iter().map(one).collect()
}

/// What was seen and why that is no word on the whole run; `None` where the device was watched.
#[expect(clippy::cast_precision_loss, reason = "nanoseconds of a run")]
fn unwatched(
    judging: &Judging<'_>,
    label: &str,
    readings: &Readings<'_>,
    check: &Check,
) -> Option<String> {
    // What repairs count is kept by the device: two readings tell all that came between, and what is not told is not told later.
    let is_kept = check.kind == "memory_repairs";
    if is_kept && check.verdict == Verdict::Skip && readings.samples.len() > 1 {
        return None;
    }
    let seen = &check.reason.text;
    if let Some(lost) = lost(judging) {
        return Some(match readings.samples[..] {
            [] => lost.text.clone(),
            _ => format!("{seen}, until {}", lost.text),
        });
    }
    let read = plural(readings.counted(), "reading");
    if readings.counted() < 2 {
        // Nothing lies between readings that are not there.
        return Some(format!(
            "{label} has {read}, which is too few to have watched it: the run was short, or the driver answered no further one"
        ));
    }
    let why = readings.why().unwrap_or(BLOCKED);
    let s = |ns: u64| ns as f64 / 1e9;
    if let Some(short) = readings.short() {
        return Some(format!(
            "{seen}; {label} was read from {:.1} s to {:.1} s of {:.1} s only: {why}",
            s(short.from_ns),
            s(short.to_ns),
            s(short.until_ns)
        ));
    }
    let part = readings.part();
    (part < WATCHED && !is_kept).then(|| {
        format!(
            "{seen}; {label} was watched for {:.0}% of the time only, {read}: {why}",
            part * 100.0
        )
    })
}

/// Changes of the link under load.
pub(super) fn transitions(judging: &Judging<'_>) -> Vec<Check> {
    const KIND: &str = "link_transitions";
    if judging.is_host() {
        let text = "host memory: no link between the ends".to_owned();
        return vec![
            judging
                .subject(KIND, ["box".to_owned()])
                .skipped(ReasonCode::NotApplicable, text),
        ];
    }
    let value = Value {
        key: "slot_link",
        is_told: |values| values.slot_link.is_some(),
    };
    of_devices(judging, KIND, &[value], |label, readings| {
        let samples = &readings.samples;
        let about = [label.to_owned()];
        let read: Vec<(&MonitorSample, PcieLink)> = samples
            .iter()
            .filter_map(|sample| Some((*sample, sample.values.slot_link?)))
            .collect();
        let fell = judging.pool.device(label).and_then(|device| {
            device
                .loaded
                .iter()
                .find_map(|(reading, source)| Some((reading.narrowed_to?, source.clone())))
        });
        if read.is_empty() && fell.is_none() {
            let text = "the link at the slot could not be read".to_owned();
            let subject = judging.subject(KIND, about);
            return match judging.is_guest() {
                true => subject.skipped(ReasonCode::Virtualized, text),
                false => subject.inconclusive(ReasonCode::Unreadable, text, None, vec![]),
            };
        }
        let changes: Vec<String> = read
            .windows(2)
            .filter(|two| is_transition(two[0], two[1]))
            .map(|two| format!("{} to {}", two[0].1, two[1].1))
            .collect();
        // The copies' own readings see what falls between two of the monitor's.
        let count = changes.len().max(usize::from(fell.is_some()));
        let allowed = judging.profile.link.transitions_at_most;
        let limit = Limit {
            good: Side::AtMost,
            fail: Some(f64::from(allowed)),
            warn: None,
            unit: "changes".to_owned(),
            basis: "changes of width at any time, of speed while the link carries 1 GB/s or more"
                .to_owned(),
            source: judging.profile.link.source.clone(),
        };
        let evidence = Evidence::Seen {
            what: "changes of the link at the slot".to_owned(),
            value: match (&changes[..], &fell) {
                ([], None) => "none".to_owned(),
                ([], Some((to, _))) => format!("fell to {to} while copies ran"),
                (changes, _) => changes.join(", "),
            },
            expected: Some(format!("{allowed} at most")),
            n: read.len(),
            source: SOURCE.to_owned(),
        };
        let copies = fell.map(|(to, source)| {
            seen(
                "state that the copies' own readings found it fall to",
                to.to_string(),
                None,
                &source,
            )
        });
        let text = format!(
            "{} in {}, {allowed} allowed",
            plural(count, "change"),
            plural(read.len(), "reading")
        );
        let came = if count > allowed as usize {
            (Verdict::Fail, ReasonCode::LinkTransitions, text)
        } else {
            (Verdict::Pass, ReasonCode::WithinLimit, text)
        };
        judging.judged(KIND, about, came, Some(limit), Seen::new(evidence, copies))
    })
}

/// Whether the link changed: its width at any time, its speed where it was loaded at both readings, as idle links train down.
fn is_transition(a: (&MonitorSample, PcieLink), b: (&MonitorSample, PcieLink)) -> bool {
    let is_loaded = |sample: &MonitorSample| {
        let values = &sample.values;
        let traffic = values
            .pcie_rx_kb_per_s
            .into_iter()
            .chain(values.pcie_tx_kb_per_s);
        traffic.map(u64::from).sum::<u64>() >= LOADED_KB_PER_S
    };
    a.1.width() != b.1.width() || (a.1 != b.1 && is_loaded(a.0) && is_loaded(b.0))
}

/// What held clocks down.
pub(super) fn throttle(judging: &Judging<'_>) -> Vec<Check> {
    const KIND: &str = "throttle";
    let value = Value {
        key: "throttle",
        is_told: |values| values.throttle.is_some(),
    };
    of_devices(judging, KIND, &[value], |label, readings| {
        let samples = &readings.samples;
        let about = [label.to_owned()];
        let told: Vec<&Vec<String>> = samples
            .iter()
            .filter_map(|sample| sample.values.throttle.as_ref())
            .collect();
        let hottest = samples
            .iter()
            .filter_map(|sample| sample.values.temperature_c)
            .max();
        let heat = hottest.map_or_else(String::new, |hottest| {
            format!("; at most {hottest} degrees Celsius")
        });
        let subject = || judging.subject(KIND, about.clone());
        if told.is_empty() {
            let text = format!("the driver does not say what holds clocks down{heat}");
            let code = if judging.is_guest() {
                ReasonCode::Virtualized
            } else {
                ReasonCode::UnsupportedByDevice
            };
            return subject().skipped(code, text);
        }
        let times = |reason: &str| {
            told.iter()
                .filter(|reasons| reasons.iter().any(|told| told == reason))
                .count()
        };
        let held: Vec<(&str, Verdict, usize)> = REASONS
            .iter()
            .map(|(reason, verdict)| (*reason, *verdict, times(reason)))
            .filter(|(.., times)| *times > 0)
            .collect();
        let words: Vec<String> = held
            .iter()
            .map(|(reason, _, times)| {
                format!("{reason} in {times} of {}", plural(told.len(), "reading"))
            })
            .collect();
        let value = if words.is_empty() {
            "nothing for heat or power".to_owned()
        } else {
            words.join(", ")
        };
        let evidence = Evidence::Seen {
            what: "what held clocks down".to_owned(),
            value: value.clone(),
            expected: Some("nothing for heat or power".to_owned()),
            n: told.len(),
            source: SOURCE.to_owned(),
        };
        let worst = held.iter().map(|(_, verdict, _)| *verdict).max();
        let came = match worst {
            Some(verdict) => (verdict, ReasonCode::Throttled, format!("{value}{heat}")),
            None => (
                Verdict::Pass,
                ReasonCode::AsExpected,
                format!("{value} in {}{heat}", plural(told.len(), "reading")),
            ),
        };
        judging.judged(KIND, about, came, None, Seen::new(evidence, []))
    })
}
