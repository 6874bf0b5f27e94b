//! Curves whose times do not grow with their sizes: what they hold are no times of collectives, or not of those sizes.
//!
//! On public curves (aiconfigurator, priors.toml) a protocol's switch makes a larger message up to 1.52 times as fast as a smaller
//! one, and from 8 KiB to 32 MiB every time grows at least sixfold.

use measure::import::CurvePoint;
use measure::record::CallMode;
use measure::unit::ByteCount;

/// A message this many times as fast as a smaller one is no switch of protocols.
const FALLS: f64 = 2.0;

/// Below this size a curve's first times may be those of a library that is not warm yet.
const WARM: u64 = 4 << 10;

/// From the smallest to the largest size, so many times as many bytes must take longer.
const SPAN: u64 = 64;

/// Up to this size the time of a launch may hide that of the bytes.
const BEYOND_LAUNCH: u64 = 16 << 20;

/// Times that differ by no more are the same.
const SAME: f64 = 1.05;

/// So many times as many bytes should show in the time of a message above [`SMALL`].
const STEP: u64 = 8;

/// Up to this size times may be that of a launch on every box.
const SMALL: u64 = 64 << 10;

/// Times of sizes below [`BEYOND_LAUNCH`] that differ by no more are one number, which no measurement gives three times where it
/// goes beyond [`LAUNCH_BOUND`].
const ONE_NUMBER: f64 = 1.005;

/// Up to this size all times may be that of a launch on a healthy box, and one that stands out tells nothing of the others.
pub(crate) const LAUNCH_BOUND: u64 = 1 << 20;

/// Up to [`LAUNCH_BOUND`] a call that is no more than so many times as long as the curve's fastest is its launch, where nothing hides that.
const LAUNCH: f64 = 1.5;

/// So many sizes must be left for one to stand out of them.
const TO_STAND_OUT: usize = 3;

/// One size whose time is not that of its neighbours, in a curve that grows without it.
pub(crate) struct Outlier {
    /// The sizes that may be it: without either of them the curve grows.
    pub(crate) sizes: Vec<u64>,
    /// Its curve.
    pub(crate) curve: Vec<CurvePoint>,
    /// What was seen.
    pub(crate) words: String,
}

/// Why times of collectives cannot be those of their sizes: larger messages take less than half as long as smaller ones, beyond
/// the intervals of both and at more than one size, or as long as ones that are [`SPAN`] times smaller; `None` where they can.
#[must_use]
pub fn not_growing(points: &[CurvePoint]) -> Option<String> {
    curves(points).iter().find_map(|curve| match falls(curve) {
        Some(why) if standing_out(curve).is_empty() => Some(format!(
            "{why}: no collective takes half as long for more bytes; are columns mixed up, or rates given as times? give times of one call in us, or measure again"
        )),
        Some(_) => None,
        None => stays(curve),
    })
}

/// The first size that stands out of a curve that grows without it.
pub(crate) fn outlier(points: &[CurvePoint]) -> Option<Outlier> {
    curves(points).iter().find_map(|curve| {
        let words = falls(curve)?;
        let sizes = standing_out(curve);
        (!sizes.is_empty()).then(|| Outlier {
            sizes,
            curve: curve.iter().map(|point| (*point).clone()).collect(),
            words,
        })
    })
}

/// Curves that [`not_growing`] lets pass, and that are not what collectives take where nothing changes on the way: a larger message that
/// is faster by more than [`SAME`] and beyond the intervals of both, or as fast as one of [`STEP`] times less; each in words. Only what
/// bytes make of a time counts, and only where a size of the curve that is `read` lies within the two.
pub(crate) fn doubtful(
    points: &[CurvePoint],
    read: &dyn Fn(&[&CurvePoint]) -> Vec<u64>,
) -> Vec<String> {
    let all = curves(points);
    let unexplained = all.iter().filter(|curve| falls(curve).is_none());
    unexplained
        .filter_map(|curve| {
            let bound = bound_by_bytes(curve);
            let read = read(curve);
            let counts = |small: &CurvePoint, large: &CurvePoint| {
                let within = small.bytes_per_rank..=large.bytes_per_rank;
                bound(small) && read.iter().any(|size| within.contains(size))
            };
            falls_by(curve, SAME, &counts).or_else(|| rests(curve, &counts))
        })
        .collect()
}

/// Tells whether a call's time is that of its bytes: not up to [`SMALL`], where protocols change, and not that of a launch.
fn bound_by_bytes(curve: &[&CurvePoint]) -> impl Fn(&CurvePoint) -> bool {
    let fastest = curve.iter().map(|point| point.us);
    let fastest = fastest.fold(f64::INFINITY, f64::min);
    move |point| {
        let hides_launches = matches!(point.mode, Some(CallMode::Graph | CallMode::Interleaved));
        let is_launch =
            !hides_launches && point.bytes_per_rank <= LAUNCH_BOUND && point.us <= LAUNCH * fastest;
        point.bytes_per_rank > SMALL && !is_launch
    }
}

/// The same time, to [`SAME`], for [`STEP`] times as many bytes and more, of pairs that count: the two that lie farthest apart.
fn rests(
    curve: &[&CurvePoint],
    counts: &dyn Fn(&CurvePoint, &CurvePoint) -> bool,
) -> Option<String> {
    let large = curve.iter().rev();
    let (small, large) = large
        .flat_map(|large| {
            let counted = curve.iter().filter(|small| counts(small, large));
            counted.map(move |small| (*small, *large))
        })
        .find(|(small, large)| {
            let is_far = large.bytes_per_rank >= STEP.saturating_mul(small.bytes_per_rank);
            is_far && large.us <= SAME * small.us && small.us <= SAME * large.us
        })?;
    Some(format!(
        "{}: {} times as many bytes take no longer",
        both(small, large),
        large.bytes_per_rank / small.bytes_per_rank
    ))
}

/// Each curve by itself, its sizes in order.
fn curves(points: &[CurvePoint]) -> Vec<Vec<&CurvePoint>> {
    let mut left: Vec<&CurvePoint> = points
        .iter()
        // Ranks in host memory stand for no GPU, and share their machine with whatever else runs.
        .filter(|point| point.engine.is_some() || point.library.as_deref() != Some("host"))
        .filter(|point| point.is_above_zero() && point.bytes_per_rank >= WARM)
        .collect();
    let mut all = Vec::new();
    while let Some(first) = left.first().copied() {
        let (mut curve, others): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|point| is_of(first, point));
        curve.sort_by_key(|point| point.bytes_per_rank);
        all.push(curve);
        left = others;
    }
    all
}

/// Sizes of a curve that falls, without each of which it grows.
fn standing_out(curve: &[&CurvePoint]) -> Vec<u64> {
    let mut sizes: Vec<u64> = curve.iter().map(|point| point.bytes_per_rank).collect();
    sizes.dedup();
    if sizes.len() <= TO_STAND_OUT {
        return Vec::new();
    }
    let grows_without = |size: &u64| {
        let others = curve.iter().filter(|point| point.bytes_per_rank != *size);
        let others: Vec<&CurvePoint> = others.copied().collect();
        falls(&others).is_none() && stays(&others).is_none()
    };
    sizes.into_iter().filter(grows_without).collect()
}

/// Whether two points are of one curve.
fn is_of(a: &CurvePoint, b: &CurvePoint) -> bool {
    let of = |point: &CurvePoint| (point.kind, point.ranks, point.mode);
    of(a) == of(b) && (&a.engine, &a.library) == (&b.engine, &b.library)
}

/// Two sizes of which the larger takes less than half as long, in words.
fn falls(curve: &[&CurvePoint]) -> Option<String> {
    falls_by(curve, FALLS, &|_, _| true)
}

/// Two sizes that count, of which the smaller takes more than so many times as long as the larger, beyond the intervals of both, in
/// words.
fn falls_by(
    curve: &[&CurvePoint],
    times: f64,
    counts: &dyn Fn(&CurvePoint, &CurvePoint) -> bool,
) -> Option<String> {
    // Repeats of a size contradict each other elsewhere; here all of them must fall.
    let repeats = |of: &CurvePoint| {
        let bytes = of.bytes_per_rank;
        curve.iter().filter(move |one| one.bytes_per_rank == bytes)
    };
    let fall = |small: &CurvePoint, large: &CurvePoint| {
        let meet = small.low.zip(large.high).is_some_and(|(a, b)| a <= b);
        small.us > times * large.us && !meet
    };
    let mut pairs = curve.iter().enumerate().flat_map(|(index, small)| {
        let after = curve.iter().skip(index + 1);
        after.map(move |large| (*small, *large))
    });
    let (small, large) = pairs.find(|(small, large)| {
        small.bytes_per_rank < large.bytes_per_rank
            && counts(small, large)
            && fall(small, large)
            && repeats(small).all(|one| repeats(large).all(|other| fall(one, other)))
    })?;
    Some(both(small, large))
}

fn stays(curve: &[&CurvePoint]) -> Option<String> {
    let (small, large) = (*curve.first()?, *curve.last()?);
    if large.bytes_per_rank < SPAN.saturating_mul(small.bytes_per_rank) {
        return None;
    }
    let times = || curve.iter().map(|point| point.us);
    let spread = times().fold(0.0, f64::max) / times().fold(f64::INFINITY, f64::min);
    let is_one = curve.len() > 2 && large.bytes_per_rank > LAUNCH_BOUND && spread <= ONE_NUMBER;
    // One slow call at the smallest size says nothing of the others.
    let far_below = curve
        .iter()
        .filter(|point| point.bytes_per_rank <= large.bytes_per_rank / SPAN);
    let least = far_below
        .map(|point| point.us)
        .fold(f64::INFINITY, f64::min);
    let is_flat = large.bytes_per_rank >= BEYOND_LAUNCH && large.us <= SAME * least;
    (is_one || is_flat).then(|| {
        format!(
            "{}: {} times as many bytes take no longer, so that these are no times of those sizes; measure again",
            both(small, large),
            large.bytes_per_rank / small.bytes_per_rank
        )
    })
}

/// Both points with their files.
fn both(small: &CurvePoint, large: &CurvePoint) -> String {
    let of = |point: &CurvePoint| format!("{} {:.2} us", ByteCount(point.bytes_per_rank), point.us);
    let files = match small.origin == large.origin {
        true => small.origin.clone(),
        false => format!("{} and {}", small.origin, large.origin),
    };
    let mode = small.mode.map_or(String::new(), |mode| format!(", {mode}"));
    format!(
        "{} on {} ranks{mode} in {files}: {} and {}",
        small.kind,
        small.ranks,
        of(small),
        of(large)
    )
}

#[cfg(test)]
mod tests {
    use measure::record::CollectiveKind;

    use super::*;

    fn point(bytes: u64, us: f64, half: Option<f64>) -> CurvePoint {
        CurvePoint {
            kind: CollectiveKind::AllReduce,
            ranks: 2,
            bytes_per_rank: bytes,
            us,
            low: half.map(|half| us * (1.0 - half)),
            high: half.map(|half| us * (1.0 + half)),
            n: None,
            mode: Some(CallMode::Graph),
            library: None,
            engine: None,
            origin: "c.csv".to_owned(),
            simulated: None,
        }
    }

    fn curve(points: &[(u64, f64)]) -> Vec<CurvePoint> {
        let point = |(bytes, us): &(u64, f64)| point(*bytes, *us, None);
        points.iter().map(point).collect()
    }

    /// With the same sizes read of all curves.
    fn doubtful(points: &[CurvePoint], read: &[u64]) -> Vec<String> {
        super::doubtful(points, &|_| read.to_vec())
    }

    #[test]
    fn a_curve_that_falls_is_refused_with_both_sizes_and_a_switch_of_protocols_is_not() {
        // 190 / 91.5 = 2.08.
        let why = not_growing(&curve(&[(8 << 10, 190.0), (16 << 10, 91.5)])).unwrap();
        assert!(
            why.starts_with("all_reduce on 2 ranks, graph in c.csv: 8 KiB 190.00 us and 16 KiB 91.50 us: no collective"),
            "{why}"
        );
        // 26.15 / 17.17 = 1.52, of a public curve.
        let switch = [(512 << 10, 26.15), (1 << 20, 17.17), (2 << 20, 20.0)];
        assert_eq!(not_growing(&curve(&switch)), None);
        // A library that warms up.
        let cold = [(8, 90.0), (8 << 10, 12.0), (1 << 20, 60.0)];
        assert_eq!(not_growing(&curve(&cold)), None);
        // Intervals that meet: 100 less 60% is 40, and 45 more 60% is 72.
        let wide = [
            point(8 << 10, 100.0, Some(0.6)),
            point(1 << 20, 45.0, Some(0.6)),
        ];
        assert_eq!(not_growing(&wide), None);
        // Of two times of one size one does not fall: 19 to 20.
        let repeated = [(8 << 10, 57.0), (8 << 10, 19.0), (16 << 10, 20.0)];
        assert_eq!(not_growing(&curve(&repeated)), None);
        // Another mode is another curve.
        let mut two = curve(&[(8 << 10, 190.0), (16 << 10, 50.0)]);
        two[0].mode = None;
        assert_eq!(not_growing(&two), None);
    }

    #[test]
    fn one_size_that_stands_out_is_told_and_a_curve_that_falls_throughout_is_refused() {
        // 24 us and 25 GB/s, but for 5 ms at 64 KiB: 5000 / (24 + 42) = 76 times the time of 1 MiB.
        let stall = [
            (8 << 10, 24.3),
            (64 << 10, 5000.0),
            (1 << 20, 66.0),
            (32 << 20, 1366.0),
        ];
        assert_eq!(not_growing(&curve(&stall)), None);
        let found = outlier(&curve(&stall)).unwrap();
        assert_eq!(found.sizes, [64 << 10]);
        assert!(
            found
                .words
                .ends_with("64 KiB 5000.00 us and 1 MiB 66.00 us"),
            "{}",
            found.words
        );
        // The smallest size may be it, too, and a curve that grows has none.
        let cold = [
            (8 << 10, 5000.0),
            (64 << 10, 27.0),
            (1 << 20, 66.0),
            (32 << 20, 1366.0),
        ];
        assert_eq!(not_growing(&curve(&cold)), None);
        assert_eq!(outlier(&curve(&cold)).unwrap().sizes, [8 << 10]);
        assert!(outlier(&curve(&[(8 << 10, 24.0), (1 << 20, 66.0)])).is_none());
        // Rates in place of times fall at every size, and two sizes are too many.
        for falling in [
            [
                (8 << 10, 800.0),
                (64 << 10, 300.0),
                (1 << 20, 120.0),
                (32 << 20, 50.0),
            ],
            [
                (8 << 10, 5000.0),
                (64 << 10, 5000.0),
                (1 << 20, 66.0),
                (32 << 20, 1366.0),
            ],
        ] {
            assert!(not_growing(&curve(&falling)).is_some(), "{falling:?}");
            assert!(outlier(&curve(&falling)).is_none(), "{falling:?}");
        }
    }

    #[test]
    fn a_curve_that_falls_a_little_or_rests_is_doubted_with_sizes_and_times() {
        // 60 / 80 is 0.75; of the pairs the first one that falls by 5% stands for all.
        let steps = [(128 << 10, 80.0), (256 << 10, 70.0), (512 << 10, 60.0)];
        let falling = doubtful(&curve(&steps), &[128 << 10]);
        assert_eq!(falling.len(), 1);
        assert!(
            falling[0].ends_with("128 KiB 80.00 us and 256 KiB 70.00 us"),
            "{falling:?}"
        );
        // 4 MiB over 256 KiB is 16.
        let resting = doubtful(&curve(&[(256 << 10, 60.0), (4 << 20, 60.0)]), &[1 << 20]);
        let is = "256 KiB 60.00 us and 4 MiB 60.00 us: 16 times as many bytes take no longer";
        assert!(resting[0].ends_with(is), "{resting:?}");
        // 62.9 / 60 is 1.048 and 63.1 / 60 1.052; four times as many bytes, and small messages, may be bound by launches.
        let rests = |points: &[(u64, f64)]| {
            let read: Vec<u64> = points.iter().map(|(bytes, _)| *bytes).collect();
            !doubtful(&curve(points), &read).is_empty()
        };
        assert!(rests(&[(128 << 10, 60.0), (1 << 20, 62.9)]));
        assert!(!rests(&[(128 << 10, 60.0), (1 << 20, 63.1)]));
        assert!(!rests(&[(256 << 10, 60.0), (1 << 20, 60.0)]));
        assert!(!rests(&[(8 << 10, 60.0), (64 << 10, 60.0)]));
        assert!(!rests(&[(64 << 10, 60.0), (512 << 10, 60.0)]));
        // A dip of a protocol among small messages, as NCCL has it.
        assert!(!rests(&[
            (8 << 10, 8.10),
            (16 << 10, 7.52),
            (128 << 10, 9.5)
        ]));
        // Nothing of it counts where no size within the two is read.
        assert!(doubtful(&curve(&steps), &[64 << 10, 1 << 20]).is_empty());
        // Intervals that meet: 80 less 10% is 72, and 70 more 10% is 77; 1% of each leaves 79.2 above 70.7.
        let with = |half| {
            let points = [(128 << 10, 80.0), (256 << 10, 70.0)];
            points.map(|(bytes, us)| point(bytes, us, Some(half)))
        };
        assert!(doubtful(&with(0.1), &[128 << 10]).is_empty());
        assert_eq!(doubtful(&with(0.01), &[128 << 10]).len(), 1);
    }

    #[test]
    fn calls_that_are_bound_by_their_launch_are_not_doubted_and_those_above_are() {
        // 20.4 / 20.7 is no growth to 1 MiB: each call is its launch, and 24 us at 2 MiB are above it.
        let mut eager = curve(&[
            (128 << 10, 20.7),
            (256 << 10, 20.6),
            (512 << 10, 19.4),
            (1 << 20, 20.9),
            (2 << 20, 24.0),
        ]);
        let read = [128 << 10, 1 << 20];
        for mode in [Some(CallMode::BackToBack), None] {
            eager.iter_mut().for_each(|point| point.mode = mode);
            assert!(doubtful(&eager, &read).is_empty(), "{mode:?}");
        }
        // A graph hides launches: 20.9 / 20.7 is 1.01 for 8 times the bytes.
        for point in &mut eager {
            point.mode = Some(CallMode::Graph);
        }
        assert_eq!(doubtful(&eager, &read).len(), 1);
        // 60 us are three times the launch of 20.
        let mut slow = curve(&[(8 << 10, 20.0), (128 << 10, 60.0), (1 << 20, 60.0)]);
        slow.iter_mut()
            .for_each(|point| point.mode = Some(CallMode::BackToBack));
        assert_eq!(doubtful(&slow, &read).len(), 1);
    }

    #[test]
    fn a_curve_that_stays_is_refused_where_bytes_must_show() {
        let same = |bytes: &[u64]| {
            let points: Vec<_> = bytes.iter().map(|bytes| (*bytes, 39.3)).collect();
            not_growing(&curve(&points))
        };
        // 8 KiB to 1 GiB: 131072 times.
        let why = same(&[8 << 10, 1 << 30]).unwrap();
        assert!(
            why.contains("131072 times as many bytes take no longer"),
            "{why}"
        );
        assert!(same(&[8 << 10, 64 << 10, 2 << 20]).is_some());
        // Two small messages behind one launch, and sizes of one octave.
        assert_eq!(same(&[8 << 10, 1 << 20]), None);
        assert_eq!(same(&[8 << 10, 16 << 10, 32 << 10]), None);
        // Small messages are bound by launches on healthy boxes.
        assert_eq!(same(&[8 << 10, 64 << 10, 512 << 10]), None);
        assert_eq!(same(&[8 << 10, 64 << 10, 1 << 20]), None);
        // 39.3 to 45 us for 2048 times as many bytes: 45 / 39.3 = 1.145.
        assert_eq!(
            not_growing(&curve(&[(8 << 10, 39.3), (16 << 20, 45.0)])),
            None
        );
    }
}
