//! What bytes over the wire make of two links: arithmetic on generation, lanes and plan.

use measure::record::{CollectiveKind, PlannedCollective};

use super::result::{Needed, TimeOf, WireDifference, WireTime};
use super::side::{LinkSide, PhysicalLink};
use crate::priors::Prior;
use crate::range::Range;

/// Bytes that cross each rank's link in one direction: 2(n-1)/n of an all-reduce's message, n-1 contributions of an all-gather,
/// with the algorithms that move least.
#[expect(
    clippy::cast_precision_loss,
    reason = "messages are far below 2^53 bytes"
)]
fn on_link(of: &PlannedCollective, ranks: u32) -> f64 {
    let ranks = f64::from(ranks);
    let bytes = of.bytes_per_rank as f64;
    match of.kind {
        CollectiveKind::AllReduce => bytes * 2.0 * (ranks - 1.0) / ranks,
        _ => bytes * (ranks - 1.0),
    }
}

/// What `times` steps of these collectives take over both links by bytes alone; `None` where a link is not known.
pub(super) fn wire(
    (a, b): (&LinkSide, &LinkSide),
    of: TimeOf,
    words: String,
    planned: &[PlannedCollective],
    times: f64,
    share: &Prior,
) -> Option<WireDifference> {
    let (link_a, link_b) = (a.link.as_ref()?, b.link.as_ref()?);
    let tp = a.inputs.tp;
    let each = |one: &PlannedCollective| f64::from(one.count) * on_link(one, tp);
    let bytes = planned.iter().map(each).sum::<f64>() * times;
    let reduces = planned
        .iter()
        .filter(|one| one.kind == CollectiveKind::AllReduce);
    let largest = reduces.clone().max_by_key(|one| one.bytes_per_rank)?;
    let range = |per_gb: f64| at_shares(bytes * per_gb / 1e6, share);
    let time = |link: &PhysicalLink| WireTime {
        least_us: on_link(largest, tp) / link.raw_gb_per_s / 1e3,
        all_ms: range(1.0 / link.raw_gb_per_s),
    };
    Some(WireDifference {
        of,
        words,
        count: reduces.map(|one| one.count).sum(),
        bytes_per_rank: largest.bytes_per_rank,
        a: time(link_a),
        b: time(link_b),
        difference_ms: range(1.0 / link_b.raw_gb_per_s - 1.0 / link_a.raw_gb_per_s),
    })
}

/// A time at the raw rate over the shares of it that links reach; of a negative one the ends change places.
fn at_shares(raw: f64, share: &Prior) -> Range {
    let ends = [raw / share.high, raw / share.low];
    Range {
        low: ends[0].min(ends[1]),
        mid: raw / share.at(0.5),
        high: ends[0].max(ends[1]),
    }
}

/// What one all-reduce would have to take more, were the link the whole cause of a difference in ms.
pub(super) fn needed(
    (a, b): (&LinkSide, &LinkSide),
    measured: &Range,
    planned: &[PlannedCollective],
) -> Option<Needed> {
    let reduces = planned
        .iter()
        .filter(|one| one.kind == CollectiveKind::AllReduce);
    let count: u32 = reduces.clone().map(|one| one.count).sum();
    let most = reduces.max_by_key(|one| one.count)?;
    let each = |ms: f64| ms * 1e3 / f64::from(count);
    let us = Range {
        low: each(measured.low),
        mid: each(measured.mid),
        high: each(measured.high),
    };
    let told = measured.low > 0.0 || measured.high < 0.0;
    let faster = a.link.iter().chain(&b.link).map(|link| link.raw_gb_per_s);
    // Over the faster link the message takes at least its bytes; the slower one takes that and the difference.
    let faster = faster.reduce(f64::max).filter(|_| told);
    let gb_per_s = faster.map(|rate| {
        let bytes = on_link(most, a.inputs.tp);
        bytes / 1e3 / (bytes / rate / 1e3 + us.mid.abs())
    });
    Some(Needed {
        bytes_per_rank: most.bytes_per_rank,
        count,
        us,
        gb_per_s,
    })
}
