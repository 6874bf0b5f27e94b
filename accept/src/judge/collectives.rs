//! The all-reduce of all devices at a small and a large size, against limits.

use record::unit::ByteCount;
use record::{CallMode, CollectiveKind, CollectiveOutcome, CollectivePoint, Payload};

use super::copies::pair_figure;
use super::held::Held;
use super::judging::Judging;
use super::three_way::Figure;
use super::trouble::of_collective;
use crate::profile::LimitUnit;
use crate::report::{Came, Check, ReasonCode, Verdict};

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
    let mut checks = Vec::new();
    for (of, bytes) in [("small", sizes.small_bytes), ("large", sizes.large_bytes)] {
        let own = points(judging).filter(|(point, _)| point.bytes_per_rank == bytes);
        let (captured, others): (Vec<Sourced<'_>>, _) =
            own.partition(|(point, _)| CAPTURED.contains(&point.mode));
        checks.push(judging.check(KIND, &[of], of_modes(judging, of, &others, MODES)));
        if !captured.is_empty() {
            let came = of_modes(judging, of, &captured, CAPTURED);
            checks.push(judging.check(KIND, &[of, "graph"], came));
        }
    }
    checks
}

/// What calls of some modes came to. A fault of one mode outweighs what another one came to.
fn of_modes(judging: &Judging<'_>, of: &str, points: &[Sourced<'_>], modes: &[CallMode]) -> Came {
    let own = || points.iter().filter(|(own, _)| modes.contains(&own.mode));
    let troubles = || own().filter_map(|(point, _)| of_collective(&point.outcome));
    if let Some(fault) = troubles().find(Came::is_fault) {
        return fault;
    }
    for mode in modes {
        let measured = own().filter_map(|(point, source)| match &point.outcome {
            CollectiveOutcome::Measured { time, .. } if point.mode == *mode => {
                Some((*point, &time.samples, *source))
            }
            _ => None,
        });
        let measured: Vec<_> = measured.collect();
        let samples = measured.iter().flat_map(|(_, samples, _)| *samples);
        let times = Figure::of(samples.copied().collect());
        if let (Some(times), Some((point, ..))) = (times, measured.first()) {
            let mut sources: Vec<&str> = measured.iter().map(|(.., source)| *source).collect();
            sources.dedup();
            return of_times(judging, of, point, &times, &sources.join(", "));
        }
    }
    match troubles().next() {
        // That a backend has no graphs is nothing that its devices lack.
        Some(trouble) if trouble.verdict == Verdict::Skip && modes == CAPTURED => Came {
            code: ReasonCode::NotApplicable,
            ..trouble
        },
        Some(trouble) => trouble,
        None if own().next().is_some() => Came::open(ReasonCode::Noisy)
            .saying("the calls that were timed are not those of the machine"),
        None => judging.lacking(KIND),
    }
}

/// Times against the limit, in its unit.
#[expect(
    clippy::cast_precision_loss,
    reason = "messages are far below 2^53 bytes"
)]
fn of_times(
    judging: &Judging<'_>,
    of: &str,
    point: &CollectivePoint,
    times: &Figure,
    source: &str,
) -> Came {
    let (bytes, ranks) = (point.bytes_per_rank, point.ranks);
    let row = judging.row(KIND, Some(of));
    let captured = match point.mode {
        CallMode::Graph => " in a captured graph",
        _ => "",
    };
    let size = ByteCount(bytes);
    let calls = format!("an all-reduce of {size} by {ranks} ranks{captured}");
    let devices = judging.pool.labels();
    let factor = CollectivePoint::bus_factor(CollectiveKind::AllReduce, ranks);
    let bus = |us: &f64| bytes as f64 / (us * 1e3) * factor;
    let rates = Figure::of(times.samples.iter().map(bus).collect());
    let (time, rate) = (
        format!("time of {calls}"),
        format!("bus bandwidth of {calls}"),
    );
    let of_time = times.evidence(&*time, "us", source);
    let held = |what, unit| Held {
        what,
        unit,
        source,
        devices: &devices,
    };
    match (row.map(|row| row.unit), rates) {
        (Some(LimitUnit::GbPerS | LimitUnit::OfCeiling), Some(rates)) => {
            let ceiling = judging.smallest_ceiling(&devices);
            let came = judging.hold_below(row, &rates, &held(&rate, "GB/s"), ceiling);
            came.with([of_time])
        }
        (Some(LimitUnit::Ratio), Some(rates)) => {
            let pairs = judging.pool.pairs().into_iter();
            let pairs = pairs.filter_map(|pair| pair_figure(judging, pair));
            let slowest = pairs.min_by(|a, b| a.value.total_cmp(&b.value));
            let Some(ratio) = slowest.and_then(|slowest| rates.over(&slowest)) else {
                return Came::skip(ReasonCode::NotMeasured).saying("no pair was measured");
            };
            let held = held("bus bandwidth over the slowest pair's", OF_PAIR);
            let came = judging.hold(row, &ratio, &held);
            came.with([of_time, rates.evidence(&*rate, "GB/s", source)])
        }
        _ => judging.hold(row, times, &held(&time, "us")),
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
