//! What all devices do together: the all-reduce at a small and a large size, and a serving benchmark.

use record::unit::ByteCount;
use record::{CallMode, CollectiveKind, CollectiveOutcome, CollectivePoint, Payload};

use super::judging::Judging;
use super::trouble::of_collective;
use crate::profile::LimitUnit;
use crate::report::{Came, Check, Measured, ReasonCode, Seen, Verdict};

const ALLREDUCE: &str = "allreduce";
const SERVING: &str = "serving";

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
        checks.push(judging.check(ALLREDUCE, &[of], of_modes(judging, of, &others, MODES)));
        if !captured.is_empty() {
            let came = of_modes(judging, of, &captured, CAPTURED);
            checks.push(judging.check(ALLREDUCE, &[of, "graph"], came));
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
        let times = Measured::of(samples.copied().collect());
        if let (Some(times), Some((point, ..))) = (times, measured.first()) {
            let mut sources: Vec<&str> = measured.iter().map(|(.., source)| *source).collect();
            sources.dedup();
            let times = times.in_unit("us", sources.join(", "));
            return of_times(judging, of, point, times);
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
        None => judging.lacking(ALLREDUCE),
    }
}

/// Times against the limit, in its unit.
#[expect(
    clippy::cast_precision_loss,
    reason = "messages are far below 2^53 bytes"
)]
fn of_times(judging: &Judging<'_>, of: &str, point: &CollectivePoint, times: Measured) -> Came {
    let (bytes, ranks) = (point.bytes_per_rank, point.ranks);
    let row = judging.row(ALLREDUCE, Some(of));
    let is_graph = point.mode == CallMode::Graph;
    let captured = if is_graph { " in a captured graph" } else { "" };
    let size = ByteCount(bytes);
    let calls = format!("an all-reduce of {size} by {ranks} ranks{captured}");
    let devices = judging.pool.labels();
    let factor = CollectivePoint::bus_factor(CollectiveKind::AllReduce, ranks);
    let bus = |us: &f64| bytes as f64 / (us * 1e3) * factor;
    let rates = Measured::of(times.samples.iter().map(bus).collect());
    let rates = rates.map(|rates| rates.in_unit("GB/s", &*times.source));
    let rates = rates.map(|rates| rates.named(format!("bus bandwidth of {calls}")));
    let times = times.named(format!("time of {calls}"));
    match (row.map(|row| row.unit), rates) {
        (Some(LimitUnit::GbPerS | LimitUnit::OfCeiling), Some(rates)) => {
            let ceiling = judging.smallest_ceiling(&devices);
            let came = judging.hold_below(row, rates, &devices, ceiling);
            came.with([times])
        }
        (Some(LimitUnit::Ratio), Some(rates)) => {
            let pairs = judging.pool.pairs().into_iter();
            let pairs = pairs.filter_map(|pair| judging.pool.pair_rate(pair));
            let slowest = pairs.min_by(|a, b| a.value.total_cmp(&b.value));
            let Some(ratio) = slowest.and_then(|slowest| rates.over(&slowest)) else {
                return Came::skip(ReasonCode::NotMeasured).saying("no pair was measured");
            };
            let ratio = ratio.in_unit(OF_PAIR, &*rates.source);
            let ratio = ratio.named("bus bandwidth over the slowest pair's");
            judging.hold(row, ratio, &devices).with([times, rates])
        }
        _ => judging.hold(row, times, &devices),
    }
}

/// The plain all-reduces of all records.
fn points<'a>(judging: &'a Judging<'_>) -> impl Iterator<Item = Sourced<'a>> {
    let records = judging.findings.collectives.iter();
    let points = records.flat_map(|found| {
        let points = match &found.it.payload {
            Payload::Collectives(all) => &*all.points,
            _ => &[],
        };
        points.iter().map(|point| (point, found.source.as_str()))
    });
    points.filter(|(point, _)| point.kind == CollectiveKind::AllReduce && point.engine.is_none())
}

/// One check on the requests of the record, and one for each time.
pub(super) fn serving(judging: &Judging<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    for found in &judging.findings.serving {
        let Payload::Serve(serve) = &found.it.payload else {
            continue;
        };
        // A record without one is no evidence, and not among the findings.
        let Some(summary) = &serve.summary else {
            continue;
        };
        let (failed, all) = (summary.failed, summary.completed + summary.failed);
        let seen = format!("{failed} of {all} failed");
        let seen = Seen::of("requests", seen, &found.source);
        let seen = seen.expecting(format!("0 of {all} failed"));
        let kinds = summary.failures.iter();
        let kinds: Vec<String> = kinds.map(|(kind, n)| format!("{n} {kind}")).collect();
        let came = Came::seen(failed == 0, ReasonCode::ErrorsCounted, seen);
        let came = came.saying(kinds.join(", "));
        checks.push(judging.check(SERVING, &["requests"], came));
        for (of, what, times) in [
            ("tpot", "time per output token", &summary.tpot_ms),
            ("ttft", "time to first token", &summary.ttft_ms),
        ] {
            let Some(times) = times else { continue };
            let ends = times.median_interval.map(|ends| (ends.low, ends.high));
            let figure = Measured::out_of(times.median, ends, times.n);
            let figure = figure.named(format!("{what}, median over requests"));
            let figure = figure.in_unit("ms", &*found.source);
            let came = judging.hold(judging.row(SERVING, Some(of)), figure, &[]);
            checks.push(judging.check(SERVING, &[of], came));
        }
    }
    checks
}
