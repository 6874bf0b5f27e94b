//! The all-reduce of all devices at a small and a large size, against limits and the baseline.

use record::unit::ByteCount;
use record::{CallMode, CollectiveKind, CollectiveOutcome, CollectivePoint, Payload};

use super::copies::{pair_figure, slower};
use super::held::Held;
use super::judging::Judging;
use super::three_way::Figure;
use super::trouble::{Trouble, of_collective};
use crate::profile::LimitUnit;
use crate::report::{Check, ReasonCode, Verdict};

const KIND: &str = "allreduce";

/// The unit of a bus bandwidth as a part of a pair's: without words it would read as a rate.
const OF_PAIR: &str = "x the slowest pair";

/// The modes that are judged as one, by the first that was measured and may be judged: host-synced calls of a simulated machine take
/// real time, which says nothing of that machine.
const MODES: &[CallMode] = &[CallMode::HostSynced, CallMode::BackToBack];

/// Calls in a captured graph, as serving engines make them: a check of its own where they were tried.
const CAPTURED: &[CallMode] = &[CallMode::Graph];

/// A point with the place of its record.
type Sourced<'a> = (&'a CollectivePoint, &'a str);

/// The two sizes.
pub(super) fn allreduce(judging: &Judging<'_>) -> Vec<Check> {
    let sizes = &judging.profile.allreduce;
    if judging.findings.collectives.is_empty() {
        return Vec::new();
    }
    [("small", sizes.small_bytes), ("large", sizes.large_bytes)]
        .into_iter()
        .flat_map(|(of, bytes)| of_size(judging, of, bytes))
        .collect()
}

fn of_size(judging: &Judging<'_>, of: &str, bytes: u64) -> Vec<Check> {
    let points = points(judging).filter(|(point, _)| point.bytes_per_rank == bytes);
    let points: Vec<Sourced<'_>> = points.collect();
    if points.is_empty() {
        return vec![judging.lacking(KIND, vec![of.to_owned()])];
    }
    let mut checks = vec![of_modes(judging, vec![of.to_owned()], &points, MODES)];
    if points
        .iter()
        .any(|(point, _)| CAPTURED.contains(&point.mode))
    {
        let about = vec![of.to_owned(), "graph".to_owned()];
        checks.push(of_modes(judging, about, &points, CAPTURED));
    }
    checks
}

/// What calls of some modes came to. A fault of one mode outweighs what another one came to.
fn of_modes(
    judging: &Judging<'_>,
    about: Vec<String>,
    points: &[Sourced<'_>],
    modes: &[CallMode],
) -> Check {
    let own = || {
        points
            .iter()
            .filter(|(point, _)| modes.contains(&point.mode))
    };
    let troubles =
        || own().filter_map(|(point, source)| Some((of_collective(&point.outcome)?, *source)));
    if let Some((fault, source)) = troubles().find(|(found, _)| found.is_fault()) {
        return judging.troubled(KIND, about, &fault, source);
    }
    for mode in modes {
        let judged = own().filter(|(point, _)| point.mode == *mode);
        let measured = judged.filter_map(|(point, source)| match &point.outcome {
            CollectiveOutcome::Measured { time, .. } => Some((*point, &time.samples, *source)),
            _ => None,
        });
        let measured: Vec<_> = measured.collect();
        let samples = measured
            .iter()
            .flat_map(|(_, samples, _)| samples.iter().copied());
        if let (Some(times), Some((point, ..))) = (Figure::of(samples.collect()), measured.first())
        {
            let mut sources: Vec<&str> = measured.iter().map(|(.., source)| *source).collect();
            sources.dedup();
            return of_times(judging, about, point, times, &sources.join(", "));
        }
    }
    match troubles().next() {
        // That a backend has no graphs is nothing that its devices lack.
        Some((trouble, source)) if trouble.verdict == Verdict::Skip && modes == CAPTURED => {
            let code = ReasonCode::NotApplicable;
            judging.troubled(KIND, about, &Trouble { code, ..trouble }, source)
        }
        Some((trouble, source)) => judging.troubled(KIND, about, &trouble, source),
        None if own().next().is_some() => {
            let detail = "the calls that were timed are not those of the machine";
            let subject = judging.subject(KIND, about);
            subject.open(ReasonCode::Noisy, detail, None, vec![])
        }
        None => judging.lacking(KIND, about),
    }
}

/// Times against the limit, in its unit.
#[expect(
    clippy::cast_precision_loss,
    reason = "messages are far below 2^53 bytes"
)]
fn of_times(
    judging: &Judging<'_>,
    about: Vec<String>,
    point: &CollectivePoint,
    times: Figure,
    source: &str,
) -> Check {
    let (bytes, ranks) = (point.bytes_per_rank, point.ranks);
    let row = judging.row(KIND, about.first().map(String::as_str));
    let captured = match point.mode {
        CallMode::Graph => " in a captured graph",
        _ => "",
    };
    let calls = format!(
        "an all-reduce of {} by {ranks} ranks{captured}",
        ByteCount(bytes)
    );
    let labels = judging.pool.labels();
    let factor = CollectivePoint::bus_factor(CollectiveKind::AllReduce, ranks);
    let bus = |us: &f64| bytes as f64 / (us * 1e3) * factor;
    let rates = Figure::of(times.samples.iter().map(bus).collect());
    let of_time = times.evidence(format!("time of {calls}"), "us", source);
    let what = format!("bus bandwidth of {calls}");
    let held = |figure: Figure, what: &str, unit: &'static str| Held {
        more: vec![of_time.clone()],
        ..Held::new(KIND, about.clone(), figure, (what, unit), source).by(row, labels.clone())
    };
    match (row.map(|row| row.unit), rates) {
        (Some(LimitUnit::GbPerS | LimitUnit::OfCeiling), Some(rates)) => judging.hold(Held {
            ceiling: judging.smallest_ceiling(&labels),
            ..held(rates, &what, "GB/s")
        }),
        (Some(LimitUnit::Ratio), Some(rates)) => {
            let pairs = judging.pool.pairs();
            let slowest = slower(pairs.iter().filter_map(|pair| pair_figure(judging, pair)));
            let Some(ratio) = slowest.and_then(|slowest| rates.over(&slowest)) else {
                let subject = judging.subject(KIND, about);
                return subject.skipped(ReasonCode::NotMeasured, "no pair was measured");
            };
            let mut by_limit = held(ratio, "bus bandwidth over the slowest pair's", OF_PAIR);
            let rate = rates.evidence(what.clone(), "GB/s", source);
            by_limit.more.push(rate);
            judging.hold(by_limit)
        }
        _ => judging.hold(Held {
            more: vec![],
            ..held(times, &format!("time of {calls}"), "us")
        }),
    }
}

/// The plain all-reduces of all records.
fn points<'a>(judging: &'a Judging<'_>) -> impl Iterator<Item = Sourced<'a>> {
    let records = judging.findings.collectives.iter();
    let of_record = records.filter_map(|found| match &found.it.payload {
        Payload::Collectives(all) => Some((all, found.source.as_str())),
        _ => None,
    });
    let points =
        of_record.flat_map(|(all, source)| all.points.iter().map(move |point| (point, source)));
    points.filter(|(point, _)| {
        point.kind == CollectiveKind::AllReduce && point.engine.is_none() && point.arm.is_none()
    })
}
