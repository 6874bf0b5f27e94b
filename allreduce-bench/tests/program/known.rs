//! The time that a box's points give for a call, by arithmetic of these tests alone, and how far measured times are from it.
//!
//! Nothing here asks the code that the simulated libraries use: of the box file only the numbers as they stand are read.

use boxfile::{BoxFile, Collective, CollectiveLibrary, Protocol, Transport};
use record::{CallMode, CollectiveKind, CollectivePoint};

use super::common::{Kept, exact_us};

/// What limits a library's choice among the tables of a box.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Limited {
    /// It goes through host memory, because it was told so or because devices do not reach each other.
    pub(crate) through_host: bool,
    /// The only protocol that it may take.
    pub(crate) only: Option<Protocol>,
}

/// The time of a call in microseconds: of all tables of its operation and ranks that the library may take, the fastest.
///
/// Calls that are queued one by one take no less than what a launch costs the host; in a graph there are no launches, and the calls
/// of mode interleaved are in one.
pub(crate) fn expected_us(described: &BoxFile, point: &CollectivePoint, limited: Limited) -> f64 {
    let of_call = described.collective.iter().filter(|table| {
        table.library != CollectiveLibrary::Custom
            && table.ranks == point.ranks
            && is_same(table.kind, point.kind)
    });
    // Direct tables come first, where they may be taken; a table without a transport is for both.
    let is_direct = !limited.through_host
        && of_call
            .clone()
            .any(|table| table.transport != Some(Transport::Shm));
    let barred = if is_direct {
        Transport::Shm
    } else {
        Transport::P2p
    };
    let times = of_call
        .filter(|table| table.transport != Some(barred))
        .filter(|table| {
            limited.only.is_none() || table.protocol.is_none() || table.protocol == limited.only
        })
        .map(|table| {
            let launch = table.launch_us.as_ref().map_or(0.0, |launch| launch.value);
            (on_curve(&table.points, point.bytes_per_rank), launch)
        });
    let (us, launch_us) = times
        .min_by(|one, other| one.0.total_cmp(&other.0))
        .unwrap_or_else(|| panic!("no table for {point:?}"));
    if point.mode == CallMode::BackToBack {
        us.max(launch_us)
    } else {
        us
    }
}

/// On a straight line between two points, both axes being logarithms; the first time below the first point, the last bandwidth
/// above the last.
fn on_curve(points: &[(u64, f64)], bytes: u64) -> f64 {
    let bytes = bytes as f64;
    let (first, last) = (points[0], points[points.len() - 1]);
    if bytes <= first.0 as f64 {
        return first.1;
    }
    if bytes >= last.0 as f64 {
        return last.1 * bytes / last.0 as f64;
    }
    let holds = |pair: &&[(u64, f64)]| bytes <= pair[1].0 as f64;
    let pair = points.windows(2).find(holds).unwrap();
    let [(from, early), (to, late)] = [pair[0], pair[1]];
    let part = (bytes.log2() - (from as f64).log2()) / ((to as f64).log2() - (from as f64).log2());
    (early.log2() * (1.0 - part) + late.log2() * part).exp2()
}

fn is_same(table: boxfile::CollectiveKind, point: CollectiveKind) -> bool {
    use boxfile::CollectiveKind as Table;
    let point = match point {
        CollectiveKind::AllReduce => Table::AllReduce,
        CollectiveKind::AllGather => Table::AllGather,
        CollectiveKind::ReduceScatter => Table::ReduceScatter,
        CollectiveKind::Broadcast | CollectiveKind::SendRecv => return false,
    };
    table == point
}

/// How far times were from what they should be.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Errors {
    /// How many were compared.
    pub(crate) count: usize,
    most: f64,
    sum: f64,
}

impl Errors {
    /// Takes every point of a run, each of which has to be measured, exact and within `limit` of the box.
    pub(crate) fn judge(
        &mut self,
        kept: &Kept,
        described: &BoxFile,
        (limited, limit): (Limited, f64),
    ) {
        assert_eq!(kept.ran.code, 0, "{}{}", kept.ran.stdout, kept.ran.stderr);
        for point in &kept.collectives().points {
            self.take(
                point,
                expected_us(described, point, limited),
                limit,
                &described.name,
            );
        }
    }

    /// Takes one point.
    pub(crate) fn take(&mut self, point: &CollectivePoint, expected: f64, limit: f64, on: &str) {
        let error = (exact_us(&point.outcome) / expected - 1.0).abs();
        assert!(
            error <= limit,
            "{on}: {} of {} B on {} ranks, {}: {} us, not {expected} us",
            point.kind,
            point.bytes_per_rank,
            point.ranks,
            point.mode,
            exact_us(&point.outcome),
        );
        self.count += 1;
        self.most = self.most.max(error);
        self.sum += error;
    }

    /// `n points, at most X % and on average Y % off`.
    pub(crate) fn words(&self) -> String {
        let mean = self.sum / self.count.max(1) as f64;
        format!(
            "{} points, at most {:.3} % and on average {:.3} % off",
            self.count,
            self.most * 100.0,
            mean * 100.0
        )
    }
}

/// How far a time may be off on a box without noise: what an event's float rounds away is far below this.
pub(crate) const WITHOUT_NOISE: f64 = 0.005;

/// With the noise that boxes ship: 1 % a call, and one call in fifty 15 % slower.
pub(crate) const WITH_NOISE: f64 = 0.02;

/// The tables of a library for an operation, and nothing else of the box.
pub(crate) fn tables(
    described: &BoxFile,
    kind: boxfile::CollectiveKind,
) -> impl Iterator<Item = &Collective> {
    let of =
        move |table: &&Collective| table.kind == kind && table.library != CollectiveLibrary::Custom;
    described.collective.iter().filter(of)
}

#[test]
fn the_line_between_points_is_straight_in_logarithms() {
    // 8 us at 1 KiB and 32 us at 4 KiB: 2 KiB is halfway, and sqrt(8 x 32) = 16. Above: 32 us x 8 / 4 = 64.
    let points = [(1 << 10, 8.0), (4 << 10, 32.0)];
    for (kib, us) in [(1, 8.0), (2, 16.0), (4, 32.0), (8, 64.0)] {
        assert!((on_curve(&points, kib << 10) - us).abs() < 1e-9);
    }
    assert_eq!(on_curve(&points, 8), 8.0);
}
