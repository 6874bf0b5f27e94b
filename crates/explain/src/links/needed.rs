//! What one all-reduce would have to take longer, were the link all of a difference.

use record::{CollectiveKind, PlannedCollective};

use super::result::Needed;
use super::side::LinkSide;
use crate::range::Range;

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
        let ranks = f64::from(a.inputs.tp);
        #[expect(
            clippy::cast_precision_loss,
            reason = "messages are far below 2^53 bytes"
        )]
        let bytes = most.bytes_per_rank as f64 * 2.0 * (ranks - 1.0) / ranks;
        bytes / 1e3 / (bytes / link.raw_gb_per_s / 1e3 + us.mid.abs())
    });
    Some(Needed {
        bytes_per_rank: most.bytes_per_rank,
        count,
        us,
        gb_per_s,
    })
}
