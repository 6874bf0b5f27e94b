//! The all-reduce of all devices at a small and a large size, against ceilings and the baseline.

use measure::calls::not_judged;
use measure::record::{CallMode, CollectiveKind, CollectiveOutcome, CollectivePoint, Payload};
use measure::unit::ByteCount;

use super::copies::pair_figure;
use super::held::{Ceiling, Held};
use super::judging::Judging;
use super::three_way::Figure;
use super::trouble::{Trouble, of_collective};
use crate::profile::LimitUnit;
use crate::report::{Check, ReasonCode};

const KIND: &str = "allreduce";

/// The modes that are judged, the first that was measured and may be judged: a soft box plays host-synced calls in real time, which
/// says nothing of the box where this machine is too slow for it.
const MODES: [CallMode; 3] = [CallMode::HostSynced, CallMode::BackToBack, CallMode::Graph];

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

/// That of all ranks; where it lost a device, that of the ones that were left, too.
fn of_size(judging: &Judging<'_>, of: &str, bytes: u64) -> Vec<Check> {
    let all: Vec<(&CollectivePoint, &str)> = points(judging)
        .filter(|(point, _)| point.bytes_per_rank == bytes)
        .collect();
    let mut ranks: Vec<u32> = all.iter().map(|(point, _)| point.ranks).collect();
    ranks.sort_unstable_by(|a, b| b.cmp(a));
    ranks.dedup();
    let Some((most, fewer)) = ranks.split_first() else {
        return vec![judging.lacking(KIND, vec![of.to_owned()])];
    };
    let mut checks = vec![of_ranks(judging, vec![of.to_owned()], bytes, &all, *most)];
    for ranks in fewer {
        let is_lost = |check: &Check| check.reason.code == ReasonCode::DeviceLost;
        if !checks.last().is_some_and(is_lost) {
            break;
        }
        let about = vec![of.to_owned(), format!("{ranks} ranks")];
        checks.push(of_ranks(judging, about, bytes, &all, *ranks));
    }
    checks
}

fn of_ranks(
    judging: &Judging<'_>,
    about: Vec<String>,
    bytes: u64,
    all: &[(&CollectivePoint, &str)],
    ranks: u32,
) -> Check {
    let own = |mode: CallMode| {
        all.iter()
            .filter(move |(point, _)| point.ranks == ranks && point.mode == mode)
    };
    let mut trouble: Option<(Trouble, &str)> = None;
    let mut refused = None;
    for mode in MODES {
        let mut samples = Vec::new();
        let mut sources: Vec<&str> = Vec::new();
        for (point, source) in own(mode) {
            match (of_collective(&point.outcome), &point.outcome) {
                (Some(found), _) => {
                    if found.is_fault() {
                        return judging.troubled(KIND, about, &found, source);
                    }
                    trouble = trouble.or(Some((found, source)));
                }
                (None, CollectiveOutcome::Measured { time, .. }) => match not_judged(point) {
                    Some(why) => refused = Some(why.to_owned()),
                    None => {
                        samples.extend(&time.samples);
                        sources.push(source);
                    }
                },
                _ => {}
            }
        }
        sources.dedup();
        let Some(times) = Figure::of(samples) else {
            continue;
        };
        let instead = refused.map_or_else(String::new, |why| {
            format!("; calls that the host waits for say nothing of a soft box here ({why}), so these follow each other")
        });
        return of_times(
            judging,
            about,
            (bytes, ranks),
            times,
            &sources.join(", "),
            instead,
        );
    }
    match (trouble, refused) {
        (Some((trouble, source)), _) => judging.troubled(KIND, about, &trouble, source),
        (None, Some(why)) => {
            let text = format!("it was measured, and says nothing of the box: {why}");
            judging
                .subject(KIND, about)
                .inconclusive(ReasonCode::Noisy, text, None, vec![])
        }
        (None, None) => judging.lacking(KIND, about),
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
    (bytes, ranks): (u64, u32),
    times: Figure,
    source: &str,
    instead: String,
) -> Check {
    let row = judging.row(KIND, about.first().map(String::as_str));
    let size = ByteCount(bytes);
    let labels = judging.pool.labels();
    let bus = |us: &f64| {
        bytes as f64 / (us * 1e3) * CollectivePoint::bus_factor(CollectiveKind::AllReduce, ranks)
    };
    let rates = || Figure::of(times.samples.iter().map(bus).collect());
    let held =
        |figure: Figure, what: String, unit: &'static str, bad: ReasonCode, ceiling: Ceiling| {
            Held {
                kind: KIND,
                about: about.clone(),
                devices: labels.clone(),
                figure,
                what,
                unit,
                row,
                ceiling,
                bad,
                source: source.to_owned(),
                more: vec![times.evidence(
                    format!("time of an all-reduce of {size} by {ranks} ranks"),
                    "us",
                    source,
                )],
                remark: instead.clone(),
            }
        };
    let what = format!("bus bandwidth of an all-reduce of {size} by {ranks} ranks");
    match (row.map(|row| row.unit), rates()) {
        (Some(LimitUnit::GbPerS | LimitUnit::OfCeiling), Some(rates)) => {
            let ceiling = judging.smallest_ceiling(&labels);
            judging.hold(held(rates, what, "GB/s", ReasonCode::BelowFloor, ceiling))
        }
        (Some(LimitUnit::Ratio), Some(rates)) => {
            let slowest = judging
                .pool
                .pairs()
                .iter()
                .filter_map(|pair| Some(pair_figure(judging, pair)?.0))
                .min_by(|a, b| a.value.total_cmp(&b.value));
            let Some(ratio) = slowest.as_ref().and_then(|slowest| rates.over(slowest)) else {
                let text =
                    "there is no pair's bandwidth to hold its bus bandwidth against".to_owned();
                let subject = judging.subject(KIND, about.clone());
                return subject.skipped(ReasonCode::DependencyFailed, text);
            };
            let mut held = held(
                ratio,
                "bus bandwidth over the slowest pair's".to_owned(),
                "1",
                ReasonCode::BelowFloor,
                Ceiling::NoLink,
            );
            held.more.push(rates.evidence(what, "GB/s", source));
            with_baseline(judging, held, rates)
        }
        _ => {
            let what = format!("time of an all-reduce of {size} by {ranks} ranks");
            let mut held = held(
                times.clone(),
                what,
                "us",
                ReasonCode::AboveLimit,
                Ceiling::NoLink,
            );
            held.more.clear();
            judging.hold(held)
        }
    }
}

/// A ratio against its limit, and where that does not fail and the baseline has the rate, the rate against the baseline.
fn with_baseline(judging: &Judging<'_>, held: Held<'_>, rates: Figure) -> Check {
    let Some(baseline) = judging
        .findings
        .baseline
        .as_ref()
        .filter(|_| judging.has_baseline)
    else {
        return judging.hold(held);
    };
    let what = "bus bandwidth of ";
    let is_it = |figure: &&crate::baseline::Figure| {
        figure.check == format!("{KIND} {}", held.about.join(" ")) && figure.what.starts_with(what)
    };
    let Some(known) = baseline.figures.iter().find(is_it) else {
        return judging.hold(held);
    };
    let own = Held {
        kind: held.kind,
        about: held.about.clone(),
        devices: held.devices.clone(),
        figure: rates,
        what: known.what.clone(),
        unit: "GB/s",
        row: None,
        ceiling: Ceiling::NoLink,
        bad: ReasonCode::BelowBaseline,
        source: held.source.clone(),
        more: held.more.clone(),
        remark: held.remark.clone(),
    };
    let by_limit = judging.hold(held);
    if by_limit.verdict == crate::report::Verdict::Fail {
        return by_limit;
    }
    let by_baseline = judging.hold(own);
    // The worse of the two stands; a warning outweighs a pass.
    if by_baseline.verdict >= by_limit.verdict {
        by_baseline
    } else {
        by_limit
    }
}

/// All-reduces of the vendor's library between all devices, without variants.
fn points<'a>(judging: &'a Judging<'_>) -> impl Iterator<Item = (&'a CollectivePoint, &'a str)> {
    let records = judging.findings.collectives.iter();
    let of_record = records.filter_map(|found| match &found.it.payload {
        Payload::Collectives(all) => Some((all, found.source.as_str())),
        _ => None,
    });
    of_record.flat_map(|(all, source)| {
        let is_plain = |point: &&CollectivePoint| {
            point.kind == CollectiveKind::AllReduce && point.engine.is_none() && point.arm.is_none()
        };
        all.points
            .iter()
            .filter(is_plain)
            .map(move |point| (point, source))
    })
}
