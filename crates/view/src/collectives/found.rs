//! What the answer about collectives rests on: the transport, the latency floor, the bandwidth, and what is wrong.

use record::calls::{Row, faster_though_larger};
use record::caveat::Caveat;
use record::unit::ByteCount;
use record::{CallMode, CollectiveKind, CollectivePoint, Collectives, TransportReason, Unmeasured};

use crate::cell::{short, significant};
use crate::document::{Item, Tone};
use crate::lines::{Missing, because, distinct, first_of, missing};

/// By which way the ranks exchange data, in the library's words.
pub(super) enum Transport {
    /// Device to device, or over a network between hosts.
    Direct(String),
    /// Through memory of the host.
    Host(String),
    /// Device to device on a simulated machine where a real library would go through memory of the host.
    Unlikely(String),
    /// It did not say.
    Unknown,
}

/// The way that the library told.
pub(super) fn transport(collectives: &Collectives) -> Transport {
    let Some(facts) = collectives.transports.first() else {
        return Transport::Unknown;
    };
    let ways = facts.channels.iter();
    let ways = ways.map(|channel| channel.via.split('/').next().unwrap_or_default());
    let ways: Vec<&str> = distinct(ways);
    match ways.as_slice() {
        [] => Transport::Unknown,
        ways if ways.contains(&"SHM") => Transport::Host(ways.join(" and ")),
        ways if is_unlikely(&facts.reasons) => Transport::Unlikely(ways.join(" and ")),
        ways => Transport::Direct(ways.join(" and ")),
    }
}

/// Whether a real library would not have gone this way.
fn is_unlikely(reasons: &[TransportReason]) -> bool {
    use TransportReason::BeyondLevel;
    let mut simulated = reasons.iter();
    simulated.any(|reason| {
        matches!(
            reason,
            BeyondLevel {
                simulated: true,
                ..
            }
        )
    })
}

/// The variable that lets the library go directly where its level forbids it.
pub(super) fn variable(collectives: &Collectives) -> Option<&str> {
    let reasons = collectives
        .transports
        .iter()
        .flat_map(|facts| &facts.reasons);
    reasons.into_iter().find_map(|reason| match reason {
        TransportReason::BeyondLevel { variable, .. } => Some(variable.as_str()),
        _ => None,
    })
}

/// Whether the GPUs are MIG instances, by the reason of the transport.
pub(super) fn is_mig(collectives: &Collectives) -> bool {
    let mut of_all = collectives.transports.iter().flat_map(|of| &of.reasons);
    of_all.any(|reason| matches!(reason, TransportReason::Mig))
}

/// Whether the times can stand for those of an engine on GPUs.
pub(super) fn is_curve(collectives: &Collectives, rows: &[Row<'_>]) -> bool {
    let backend = collectives.backend.as_ref();
    let is_host = backend.is_some_and(|of| of.name == "host");
    let is_time = |row: &Row<'_>| {
        let is_above_zero = row.time().is_some_and(|time| time.is_above_zero());
        row.series.kind == CollectiveKind::AllReduce && is_above_zero
    };
    let is_wrong = |point: &CollectivePoint| {
        let why = point.outcome.unmeasured();
        why.is_some_and(|(why, _)| why == Unmeasured::WrongData)
    };
    !is_host && !collectives.points.iter().any(is_wrong) && rows.iter().any(is_time)
}

/// The mode whose times stand for a step, the one that predicts serving first.
pub(super) fn headline_mode(rows: &[Row<'_>]) -> Option<CallMode> {
    let best = [CallMode::Interleaved, CallMode::Graph, CallMode::BackToBack];
    let has = |mode: &CallMode| rows.iter().any(|row| row.series.mode == Some(*mode));
    match best.into_iter().find(has) {
        Some(mode) => Some(mode),
        None => rows.first().and_then(|row| row.series.mode),
    }
}

/// Below this a call's fixed time weighs: at 25 GB/s a ring of four moves 1 MiB in 63 us, beside 10 to 20 us that any call takes.
const FILLS_A_LINK: u64 = 1 << 20;

/// `All-reduce: 13.0 us at 8 KiB; bus bandwidth 4.68 GB/s at 1.96 MiB.`
pub(super) fn floor_and_bandwidth(rows: &[Row<'_>]) -> Option<String> {
    let mode = headline_mode(rows);
    let timed = |row: &&Row<'_>| row.series.mode == mode;
    let all: Vec<(&Row<'_>, f64)> = rows
        .iter()
        .filter(timed)
        .filter_map(|row| Some((row, row.time().filter(|time| time.is_above_zero())?.value)))
        .collect();
    let of_kind = |kind: CollectiveKind| all.iter().filter(move |(row, _)| row.series.kind == kind);
    let is_reduce = of_kind(CollectiveKind::AllReduce).next().is_some();
    let kind = match is_reduce {
        true => CollectiveKind::AllReduce,
        false => all.first()?.0.series.kind,
    };
    let (smallest, us) = of_kind(kind).min_by(|a, b| a.1.total_cmp(&b.1))?;
    let rate = |(row, us): &(&Row<'_>, f64)| row.point.bus_gb_per_s(*us);
    let fastest = of_kind(kind).max_by(|a, b| rate(a).total_cmp(&rate(b)))?;
    let name = words(kind);
    let floor = format!(
        "{}: {} us a call at {}",
        capital(name),
        short(*us),
        ByteCount(smallest.bytes_per_rank)
    );
    Some(match fastest.0.bytes_per_rank == smallest.bytes_per_rank {
        true => format!("{floor}."),
        false => format!(
            "{floor}; bus bandwidth {} GB/s at {}{}.",
            short(rate(fastest)),
            ByteCount(fastest.0.bytes_per_rank),
            match fastest.0.bytes_per_rank < FILLS_A_LINK {
                true => ", too small to fill a link",
                false => "",
            }
        ),
    })
}

/// `all-reduce`.
pub(super) fn words(kind: CollectiveKind) -> &'static str {
    match kind {
        CollectiveKind::AllReduce => "all-reduce",
        CollectiveKind::AllGather => "all-gather",
        CollectiveKind::ReduceScatter => "reduce-scatter",
        CollectiveKind::Broadcast => "broadcast",
        CollectiveKind::SendRecv => "send-receive",
    }
}

pub(super) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

/// What is wrong with points, and larger messages that are faster.
pub(super) fn findings(collectives: &Collectives, rows: &[Row<'_>]) -> Vec<Item> {
    let place = |point: &CollectivePoint| {
        let size = ByteCount(point.bytes_per_rank);
        format!("{} of {size}, {}", words(point.kind), point.mode)
    };
    let without = collectives.points.iter().filter_map(|point| {
        let (why, seen) = point.outcome.unmeasured()?;
        Some((place(point), why, seen))
    });
    let without: Vec<Missing<'_>> = without.collect();
    let absent = because(&without, Unmeasured::NotApplicable);
    let mut all: Vec<Item> = missing(&without).collect();
    all.extend(first_of(Tone::Open, "not-measured", &absent));
    let mut crossed = Vec::new();
    let mut hidden = Vec::new();
    for series in rows.chunk_by(|a, b| a.series == b.series) {
        for (smaller, larger) in faster_though_larger(series) {
            crossed.push(format!(
                "{} of {} takes less than {}, {}",
                words(larger.series.kind),
                ByteCount(larger.bytes_per_rank),
                ByteCount(smaller.bytes_per_rank),
                larger.point.mode
            ));
        }
        let is_hidden = |row: &&Row<'_>| row.time().is_some_and(|time| !time.is_above_zero());
        hidden.extend(series.iter().filter(is_hidden).map(|row| {
            let size = ByteCount(row.bytes_per_rank);
            format!("{} of {size} is hidden by the gap", words(row.series.kind))
        }));
    }
    all.extend(first_of(Tone::Warning, "not-monotonic", &crossed));
    all.extend(first_of(Tone::Warning, "hidden-by-gap", &hidden));
    all
}

/// Why the library took its transport.
pub(super) fn of_transport(collectives: &Collectives) -> Vec<Item> {
    let Some(facts) = collectives.transports.first() else {
        return Vec::new();
    };
    let reason = |reason: &TransportReason| {
        let text = match reason {
            TransportReason::OtherHosts => "Ranks are on different hosts: network.".to_owned(),
            TransportReason::P2pDisabled { variable } => format!("{variable} forbids P2P."),
            TransportReason::Mig => "MIG instances have no P2P.".to_owned(),
            TransportReason::PeerAccessDenied => {
                "The driver allows no peer access between these GPUs.".to_owned()
            }
            TransportReason::BeyondLevel {
                level,
                pairs,
                simulated,
                ..
            } => match simulated {
                // The simulated library goes over P2P at any distance.
                true => format!(
                    "Timed over P2P; a real library sends {} pairs through host memory (P2P level {level}).",
                    pairs.len()
                ),
                false => format!(
                    "{} pairs go through host memory: they are beyond the library's P2P level {level}.",
                    pairs.len()
                ),
            },
            TransportReason::Unexplained => {
                "No known rule forbids P2P: look at containers, IPC and the library's warnings."
                    .to_owned()
            }
        };
        Item::of(Tone::Warning, text).coded("staged-transport")
    };
    facts.reasons.iter().map(reason).collect()
}

/// What to know before believing the numbers.
pub(super) fn reservations(collectives: &Collectives) -> Vec<Item> {
    let minor = ["outliers", "wide-interval", "no-gate"];
    let is_shown = |caveat: &&Caveat| !minor.contains(&caveat.code());
    let points = collectives.points.iter().flat_map(|point| &point.caveats);
    crate::caveats(collectives.caveats.iter().chain(points).filter(is_shown))
}

/// A time in ms of us, in short.
pub(super) fn ms(us: f64) -> String {
    let ms = us / 1e3;
    match ms {
        ms if ms >= 99.95 => format!("{ms:.0}"),
        ms if ms >= 0.995 => format!("{ms:.2}"),
        ms => significant(ms),
    }
}

/// The name of a mode for a reader.
pub(super) fn mode(mode: Option<CallMode>) -> &'static str {
    match mode {
        Some(CallMode::HostSynced) => "host-synced: wall clock of one call with launch and wait",
        Some(CallMode::BackToBack) => "back to back: mean of queued calls",
        Some(CallMode::Graph) => "graph: mean of calls in one replayed graph",
        Some(CallMode::Interleaved) => "interleaved: mean of calls with work between them",
        None => "mode unknown",
    }
}
