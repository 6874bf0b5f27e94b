//! What bytes over the wire make of two links: arithmetic on generation, lanes and plan.

use measure::record::{CollectiveKind, PlannedCollective};

use super::protocol::carried;
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

/// Collectives that are sent so many times, or between so many and so many times.
#[derive(Clone, Copy)]
pub(super) struct Bytes<'a> {
    planned: &'a [PlannedCollective],
    least: f64,
    most: f64,
}

impl<'a> Bytes<'a> {
    /// Exactly so many times.
    pub(super) fn times(planned: &'a [PlannedCollective], times: f64) -> Self {
        Self::between(planned, times, times)
    }

    pub(super) fn between(planned: &'a [PlannedCollective], least: f64, most: f64) -> Self {
        Self {
            planned,
            least,
            most,
        }
    }

    /// Bytes over a link of one sending of all, each times what is carried for a byte of it.
    fn each(&self, ranks: u32, carried: impl Fn(&PlannedCollective) -> f64) -> f64 {
        let all = self.planned.iter();
        all.map(|one| f64::from(one.count) * on_link(one, ranks) * carried(one))
            .sum()
    }
}

/// What collectives take over both links by bytes alone; `None` where a link is not known. The first of `bytes` are those whose
/// count and size are told.
pub(super) fn wire(
    (a, b): (&LinkSide, &LinkSide),
    of: TimeOf,
    words: String,
    bytes: &[Bytes<'_>],
    share: &Prior,
) -> Option<WireDifference> {
    let (link_a, link_b) = (a.link.as_ref()?, b.link.as_ref()?);
    let tp = a.inputs.tp;
    let sum = |times: fn(&Bytes<'_>) -> f64| -> f64 {
        bytes
            .iter()
            .map(|of| of.each(tp, |_| 1.0) * times(of))
            .sum()
    };
    let ends = [sum(|of| of.least), sum(|of| of.most)];
    let with_flags: f64 = bytes
        .iter()
        .map(|of| of.each(tp, |one| carried(one, [a, b])) * of.most)
        .sum();
    let apart = 1.0 / link_b.raw_gb_per_s - 1.0 / link_a.raw_gb_per_s;
    let reduces = bytes
        .first()?
        .planned
        .iter()
        .filter(|one| one.kind == CollectiveKind::AllReduce);
    let largest = reduces.clone().max_by_key(|one| one.bytes_per_rank)?;
    let range = |per_gb: f64| at_shares(ends.map(|bytes| bytes * per_gb / 1e6), share);
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
        difference_ms: range(apart),
        most_ms: Some(with_flags * apart.abs() / 1e6 / share.low),
    })
}

/// The least and the most time at the raw rate over the shares of it that links reach; of negative ones the ends change places.
fn at_shares([least, most]: [f64; 2], share: &Prior) -> Range {
    let ends = [least / share.high, most / share.low];
    Range {
        low: ends[0].min(ends[1]),
        mid: (least + most) / 2.0 / share.at(0.5),
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
    // The side that takes less sends its message in its bytes' time at least; the other takes that and the difference.
    let less = match us.mid > 0.0 {
        true => a,
        false => b,
    };
    let rate = less.link.as_ref().filter(|_| measured.is_told());
    let gb_per_s = rate.map(|link| {
        let bytes = on_link(most, a.inputs.tp);
        bytes / 1e3 / (bytes / link.raw_gb_per_s / 1e3 + us.mid.abs())
    });
    Some(Needed {
        bytes_per_rank: most.bytes_per_rank,
        count,
        us,
        gb_per_s,
    })
}
