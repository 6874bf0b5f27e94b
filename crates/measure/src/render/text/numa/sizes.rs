//! Where the size of a pageable copy changes its rate, in words.

use super::super::cell::quantity;
use super::super::record::line;
use super::{direction_and_kind, direction_words, label};
use crate::near::rate_changes;
use crate::record::{Numa, NumaPoint};
use crate::unit::ByteCount;

/// Sizes at which pageable copies change.
pub(super) fn sizes(numa: &Numa, mark: &str) -> String {
    let mut text = String::new();
    let mut cases: Vec<(usize, &str)> = Vec::new();
    for point in &numa.points {
        let key = (point.device, point.case.as_str());
        if point.proven("bandwidth").is_some() && !cases.contains(&key) {
            cases.push(key);
        }
    }
    let series = cases
        .into_iter()
        .map(|(device, case)| by_size(numa, device, case));
    for points in series.filter(|points| points.len() > 1) {
        if text.is_empty() {
            line(
                &mut text,
                &format!("\nPageable copies by size{mark}, near memory"),
            );
        }
        let device = points[0].device;
        let rates: Vec<String> = points
            .iter()
            .filter_map(|point| {
                let rate = quantity(point.proven("bandwidth")?);
                Some(format!("{} {rate}", ByteCount(point.bytes)))
            })
            .collect();
        line(
            &mut text,
            &format!(
                "  {} {}, GB/s: {}",
                label(numa, device),
                direction_words(direction_and_kind(points[0]).0),
                rates.join(", ")
            ),
        );
        for said in changes(numa, &points) {
            line(&mut text, &format!("    {said}"));
        }
    }
    text
}

/// What the sizes of one case say.
fn changes(numa: &Numa, points: &[&NumaPoint]) -> Vec<String> {
    let widest = points
        .iter()
        .filter_map(|point| point.proven("bandwidth")?.relative_half_width())
        .fold(0.0, f64::max);
    let Some(changes) = rate_changes(points) else {
        return vec!["too few sizes with an interval to tell whether it changes".to_owned()];
    };
    if changes.is_empty() && widest > WIDE {
        return vec![format!(
            "cannot tell whether it changes: intervals of up to ±{:.0}%; measure again when the machine is quiet",
            widest * 100.0
        )];
    }
    if changes.is_empty() {
        return vec![falls(points).unwrap_or_else(|| {
            "no change told: a fixed cost and one rate explain all sizes".to_owned()
        })];
    }
    let mut said: Vec<String> = changes
        .iter()
        .map(|change| {
            format!(
                "changes between {} and {}: a copy takes {:.2} times what the two sizes below let expect{}",
                ByteCount(change.below.bytes),
                ByteCount(change.above.bytes),
                change.times_expected,
                known(numa, change.below.bytes),
            )
        })
        .collect();
    if widest > WIDE {
        said.push(format!(
            "with intervals of up to ±{:.0}% this may be other work on the machine: measure again when it is quiet",
            widest * 100.0
        ));
    }
    said
}

/// Where a larger copy is slower than a smaller one, which no fixed cost explains: the greatest fall, in words.
fn falls(points: &[&NumaPoint]) -> Option<String> {
    let rate = |point: &NumaPoint| point.proven("bandwidth").cloned();
    let mut worst: Option<(f64, String)> = None;
    for (at, small) in points.iter().enumerate() {
        for large in &points[at + 1..] {
            let (Some(a), Some(b)) = (rate(small), rate(large)) else {
                continue;
            };
            let apart = a.interval.zip(b.interval);
            if apart.is_none_or(|(a, b)| b.high >= a.low * 0.9) {
                continue;
            }
            let part = b.value / a.value;
            if worst.as_ref().is_none_or(|(least, _)| part < *least) {
                let words = format!(
                    "the rate falls from {} at {} to {} at {}: caches are outgrown, or the driver goes another way; no single size stands out",
                    quantity(&a),
                    ByteCount(small.bytes),
                    quantity(&b),
                    ByteCount(large.bytes)
                );
                worst = Some((part, words));
            }
        }
    }
    worst.map(|(_, words)| words)
}

/// Intervals wider than this make a change of rate doubtful.
const WIDE: f64 = 0.1;

/// Thresholds that vendors' runtimes are known to have: the backend, the last size below, and what happens there.
const THRESHOLDS: [(&str, u64, &str); 1] = [(
    "hip",
    1 << 20,
    // clr, rocsettings.cpp: pinnedMinXferSize.
    "AMD's runtime stages copies of up to 1 MiB and pins the pages of larger ones",
)];

/// What is known to change behind a size.
fn known(numa: &Numa, bytes: u64) -> String {
    let backend = numa.backend.as_ref().map(|backend| backend.name.as_str());
    let row = THRESHOLDS
        .iter()
        .find(|(name, size, _)| Some(*name) == backend && *size == bytes);
    row.map_or_else(String::new, |(.., words)| format!(" ({words})"))
}

/// The points of a case with memory and thread near, smallest first, as far as they have a number of their place.
fn by_size<'a>(numa: &'a Numa, device: usize, case: &str) -> Vec<&'a NumaPoint> {
    let home = numa.devices.get(device).and_then(|device| device.node);
    let mut points: Vec<&NumaPoint> = numa
        .points
        .iter()
        .filter(|point| point.device == device && point.case == case)
        .filter(|point| point.memory_node == home && point.thread_node == home)
        .filter(|point| point.proven("bandwidth").is_some())
        .collect();
    points.sort_by_key(|point| point.bytes);
    points.dedup_by_key(|point| point.bytes);
    points
}
