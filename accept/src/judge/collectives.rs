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

/// The unit of a bus bandwidth as a part of a pair's: without words it would read as a rate.
pub(crate) const OF_PAIR: &str = "x the slowest pair";

/// The modes that are judged as one, by the first that was measured and may be judged: a soft box plays host-synced calls in real
/// time, which says nothing of the box where this machine is too slow for it.
const MODES: &[CallMode] = &[CallMode::HostSynced, CallMode::BackToBack];

/// Calls in a captured graph, as serving engines make them: a check of its own where they were tried.
const CAPTURED: &[CallMode] = &[CallMode::Graph];

/// What such a check is about, behind the size.
const GRAPH: &str = "graph";

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
    let mut checks = Vec::new();
    for ranks in std::iter::once(most).chain(fewer) {
        let about = |graph: Option<&str>| {
            let fewer = (ranks != most).then(|| format!("{ranks} ranks"));
            let words = [Some(of.to_owned()), graph.map(str::to_owned), fewer];
            words.into_iter().flatten().collect()
        };
        let check = of_ranks(judging, about(None), (bytes, *ranks), &all, MODES);
        let is_lost = check.reason.code == ReasonCode::DeviceLost;
        checks.push(check);
        if !is_lost {
            let is_captured = |(point, _): &(&CollectivePoint, &str)| {
                point.ranks == *ranks && CAPTURED.contains(&point.mode)
            };
            if all.iter().any(is_captured) {
                let about = about(Some(GRAPH));
                let check = of_ranks(judging, about, (bytes, *ranks), &all, CAPTURED);
                checks.push(check);
            }
            break;
        }
    }
    checks
}

/// What calls of so many ranks came to in these modes.
fn of_ranks(
    judging: &Judging<'_>,
    about: Vec<String>,
    (bytes, ranks): (u64, u32),
    all: &[(&CollectivePoint, &str)],
    modes: &[CallMode],
) -> Check {
    let own = |mode: CallMode| {
        all.iter()
            .filter(move |(point, _)| point.ranks == ranks && point.mode == mode)
    };
    // A fault of one mode outweighs what another one came to.
    let found = |(point, source): &(&CollectivePoint, &'_ str)| {
        of_collective(&point.outcome).map(|found| (found, (*source).to_owned()))
    };
    let mut troubles = modes.iter().flat_map(|mode| own(*mode)).filter_map(found);
    if let Some((fault, source)) = troubles.find(|(found, _)| found.is_fault()) {
        return judging.troubled(KIND, about, &fault, &source);
    }
    let is_captured = modes == CAPTURED;
    let mut trouble: Option<(Trouble, &str)> = None;
    let mut refused = None;
    for mode in modes {
        let mut samples = Vec::new();
        let mut sources: Vec<&str> = Vec::new();
        for (point, source) in own(*mode) {
            match (of_collective(&point.outcome), &point.outcome) {
                (Some(found), _) => trouble = trouble.or(Some((found, source))),
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
        let remark = refused.map_or_else(String::new, |why| {
            format!("; calls that the host waits for say nothing of a soft box here ({why}), so these follow each other")
        });
        let of = Calls {
            bytes,
            ranks,
            is_captured,
            remark,
        };
        return of_times(judging, about, of, times, &sources.join(", "));
    }
    match (trouble, refused) {
        (Some((trouble, source)), _) => {
            let trouble = if is_captured {
                without_graphs(trouble)
            } else {
                trouble
            };
            judging.troubled(KIND, about, &trouble, source)
        }
        (None, Some(why)) => {
            let text = format!("it was measured, and says nothing of the box: {why}");
            judging
                .subject(KIND, about)
                .inconclusive(ReasonCode::Noisy, text, None, vec![])
        }
        (None, None) => judging.lacking(KIND, about),
    }
}

/// That a backend has no graphs is nothing that its devices lack.
fn without_graphs(trouble: Trouble) -> Trouble {
    let is_none = [ReasonCode::NotApplicable, ReasonCode::UnsupportedByDevice];
    if !is_none.contains(&trouble.code) {
        return trouble;
    }
    Trouble {
        code: ReasonCode::NotApplicable,
        text: format!("not covered: {}", trouble.text),
        ..trouble
    }
}

/// Which calls were timed.
struct Calls {
    bytes: u64,
    ranks: u32,
    is_captured: bool,
    /// Said at the end of the reason.
    remark: String,
}

impl Calls {
    /// In words.
    fn words(&self) -> String {
        let (size, ranks) = (ByteCount(self.bytes), self.ranks);
        let captured = match self.is_captured {
            true => " in a captured graph",
            false => "",
        };
        format!("an all-reduce of {size} by {ranks} ranks{captured}")
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
    of: Calls,
    times: Figure,
    source: &str,
) -> Check {
    let row = judging.row(KIND, about.first().map(String::as_str));
    let calls = of.words();
    let labels = judging.pool.labels();
    let bus = |us: &f64| {
        of.bytes as f64 / (us * 1e3)
            * CollectivePoint::bus_factor(CollectiveKind::AllReduce, of.ranks)
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
                more: vec![times.evidence(format!("time of {calls}"), "us", source)],
                remark: of.remark.clone(),
            }
        };
    let what = format!("bus bandwidth of {calls}");
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
                OF_PAIR,
                ReasonCode::BelowFloor,
                Ceiling::NoLink,
            );
            held.more.push(rates.evidence(what, "GB/s", source));
            with_baseline(judging, held, rates)
        }
        _ => {
            let what = format!("time of {calls}");
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
