//! Curves by arithmetic: which points make one, and how a time is read off it.

use super::*;

fn point(bytes: u64, us: f64) -> CurvePoint {
    CurvePoint {
        kind: CollectiveKind::AllReduce,
        ranks: 2,
        bytes_per_rank: bytes,
        us,
        low: None,
        high: None,
        n: None,
        mode: Some(CallMode::Graph),
        library: None,
        engine: None,
        origin: "test".to_owned(),
        simulated: None,
    }
}

fn curve(points: &[CurvePoint]) -> Curve {
    let mode = Some(CallMode::Graph);
    Curve::of_points(points, CollectiveKind::AllReduce, 2, mode, false).unwrap()
}

#[test]
fn a_curve_reaches_to_twice_its_ends() {
    let wide = curve(&[point(32 << 10, 4.0), point(128 << 10, 9.0)]);
    assert_eq!(
        [16_383, 16_384, 262_144, 262_145].map(|bytes| wide.reaches(bytes)),
        [false, true, true, false]
    );
    // Small messages take as long as smaller ones.
    assert!(curve(&[point(16 << 10, 4.0)]).reaches(8));
}

#[test]
fn modes_and_ranks_are_not_mixed_and_repeats_widen_the_spread() {
    let mut other = point(1024, 50.0);
    other.mode = None;
    let mut four = point(1024, 80.0);
    four.ranks = 4;
    // Geometric mean of 4 and 9 is 6; each lies ln(1.5) = 0.405 from it.
    let got = curve(&[point(1024, 4.0), point(1024, 9.0), other, four]).at(1024);
    assert!(
        (got.us - 6.0).abs() < 1e-9 && (got.spread - 0.405).abs() < 1e-3,
        "{got:?}"
    );
}

#[test]
fn one_time_of_many_that_lies_apart_is_held_too() {
    // Nine of 10 us and one of 20: the mean of the logarithm is ln 10 + 0.0693, from which ln 20 lies 0.624 away: over 1.645 0.379,
    // where the root mean square is 0.208.
    let mut points = vec![point(1024, 10.0); 9];
    points.push(point(1024, 20.0));
    let got = curve(&points).at(1024);
    assert!((got.spread - 0.379).abs() < 1e-3, "{got:?}");
    assert!(got.us * (1.645 * got.spread).exp() > 19.99, "{got:?}");
}

#[test]
fn what_an_engine_did_is_no_time_of_the_library() {
    let mut own = point(1024, 2.0);
    own.engine = Some("vllm 0.13.0".to_owned());
    let points = [point(1024, 4.0), own];
    assert_eq!(curve(&points).at(1024).us, 4.0);
    let (kind, mode) = (CollectiveKind::AllReduce, Some(CallMode::Graph));
    let engine = Curve::of_points(&points, kind, 2, mode, true).unwrap();
    assert_eq!(engine.at(1024).us, 2.0);
    assert_eq!(Curve::of_points(&points[..1], kind, 2, mode, true), None);
}

#[test]
fn an_interval_becomes_a_spread() {
    let mut wide = point(1024, 10.0);
    (wide.low, wide.high) = (Some(9.0), Some(11.0));
    // ln(11 / 9) / 3.92 = 0.2007 / 3.92 = 0.0512.
    let got = curve(&[wide]).at(1024);
    assert!(
        (got.spread - 0.0512).abs() < 1e-4 && !got.is_unstated,
        "{got:?}"
    );
    // Without one nothing is known of the spread, which is not the same as none; so between it and a neighbour.
    let both = curve(&[point(1024, 10.0), point(4096, 10.0)]);
    assert!(both.at(1024).is_unstated && both.at(2048).is_unstated);
}

#[test]
fn a_time_whose_interval_reaches_zero_is_no_point() {
    let mut hidden = point(1024, 139.0);
    (hidden.low, hidden.high) = (Some(-500.0), Some(778.0));
    let (kind, mode) = (CollectiveKind::AllReduce, Some(CallMode::Graph));
    assert_eq!(
        Curve::of_points(&[hidden.clone()], kind, 2, mode, false),
        None
    );
    // What is left is read beyond its end: of one point the exponent is 0 to 1, in the middle 9 * (1/4)^(1/2).
    let got = curve(&[hidden, point(4096, 9.0)]).at(1024);
    assert!(!got.is_exact);
    assert!((got.us - 4.5).abs() < 1e-9, "{got:?}");
}

#[test]
fn an_all_gather_counts_by_what_crosses_a_link() {
    // Two ranks: an all-gather of 1 MiB each moves 1 MiB, as does an all-reduce of 1 MiB (2 * 1/2).
    assert_eq!(all_reduce_as_large(1 << 20, 2), 1 << 20);
    // Eight: 7 MiB, and 2 * 7/8 * 4 MiB = 7 MiB.
    assert_eq!(all_reduce_as_large(1 << 20, 8), 4 << 20);
}

#[test]
fn between_neighbours_the_line_is_straight_in_logarithms() {
    let curve = curve(&[point(4096, 9.0), point(1024, 4.0)]);
    // Half way in the logarithm is 2048; sqrt(4 * 9) = 6.
    let middle = curve.at(2048);
    assert!((middle.us - 6.0).abs() < 1e-9, "{middle:?}");
    assert!(!middle.is_exact && curve.at(4096).is_exact);
}

#[test]
fn beyond_its_ends_a_curve_goes_on_by_a_range_of_exponents() {
    let rising = curve(&[point(1024, 4.0), point(4096, 16.0)]);
    let ends = |bytes| {
        let got = rising.at(bytes);
        let beyond = got.beyond.unwrap();
        [0.0, 0.5, 1.0].map(|quantile| got.us * beyond.factor(quantile))
    };
    let near = |got: [f64; 3], is: [f64; 3]| {
        for (got, is) in got.iter().zip(is) {
            assert!((got - is).abs() < 1e-9, "{got} is not {is}");
        }
    };
    // ln(16 / 4) / ln(4096 / 1024) = 1. A quarter of the smallest size: 4 * (1/4)^(0, 1/2 and 1).
    near(ends(256), [4.0, 2.0, 1.0]);
    // Sixteen times the largest: 16 * 16^(1/2, 3/4 and 1).
    near(ends(65536), [64.0, 128.0, 256.0]);
    // A time that does not grow may go on flat; of a single size all is possible from flat to all bandwidth.
    let flat = curve(&[point(1024, 9.0), point(4096, 9.0)]).at(8192);
    let single = curve(&[point(4096, 9.0)]).at(8192);
    for got in [flat, single] {
        let beyond = got.beyond.unwrap();
        assert!((got.us * beyond.factor(0.0) - 9.0).abs() < 1e-9, "{got:?}");
        assert!((got.us * beyond.factor(1.0) - 18.0).abs() < 1e-9, "{got:?}");
    }
    assert_eq!(rising.at(4096).beyond, None);
}
