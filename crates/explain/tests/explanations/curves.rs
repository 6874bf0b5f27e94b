//! Which curve is taken, in which mode, and what is said of it.

use crate::explanations::boxes::{GRAPH_ALL_GATHER, point, rtxpro6000_mig};
use explain::{Attribution, Cause, Claim, Inputs, attribute};
use record::{CallMode, CollectiveKind};

const DRAWS: u32 = 20_000;

/// 161 all-reduces of 60 us and an all-gather of 400 us: 10.06 ms a step.
fn with_curve(mode: CallMode) -> Inputs {
    let mut inputs = rtxpro6000_mig();
    inputs.curve = vec![
        point(CollectiveKind::AllReduce, 256 << 10, 60.0),
        point(CollectiveKind::AllGather, GRAPH_ALL_GATHER, 400.0),
    ];
    for point in &mut inputs.curve {
        point.mode = Some(mode);
    }
    inputs
}

/// Makes the intervals of a mode reach below zero.
fn hide(inputs: &mut Inputs, mode: CallMode) {
    for point in &mut inputs.curve {
        if point.mode == Some(mode) {
            (point.low, point.high) = (Some(-500.0), Some(778.0));
        }
    }
}

fn names(got: &Attribution) -> Vec<&str> {
    got.priors.iter().map(|prior| prior.name.as_str()).collect()
}

#[test]
fn times_that_the_gap_hides_are_left_out_and_the_next_mode_is_taken() {
    let mut inputs = with_curve(CallMode::Interleaved);
    hide(&mut inputs, CallMode::Interleaved);
    inputs.curve.extend(with_curve(CallMode::Graph).curve);
}

#[test]
fn where_only_a_far_size_is_told_the_next_mode_is_taken_too() {
    let mut inputs = with_curve(CallMode::Interleaved);
    hide(&mut inputs, CallMode::Interleaved);
    let mut far = point(CollectiveKind::AllReduce, 64 << 20, 5000.0);
    far.mode = Some(CallMode::Interleaved);
    inputs.curve.push(far);
    inputs.curve.extend(with_curve(CallMode::Graph).curve);
}

#[test]
fn where_the_gap_hides_every_time_there_is_no_curve() {
    let mut inputs = with_curve(CallMode::Interleaved);
    hide(&mut inputs, CallMode::Interleaved);
    // Nobody published anything of this GPU either.
    inputs.known.gpu = None;
    let got = attribute(&inputs, 1, DRAWS).unwrap();
    assert!(
        !matches!(got.claim, Claim::Estimated) && got.bar(Cause::Communication).is_none(),
        "{:?}",
        got.claim
    );
}

#[test]
fn a_curve_without_intervals_is_not_known_exactly() {
    let bar_of = |inputs: &Inputs| {
        let got = attribute(inputs, 1, DRAWS).unwrap();
        let is_assumed = names(&got).contains(&"unstated_curve_spread");
        (got.bar(Cause::Communication).unwrap().ms, is_assumed)
    };
    let mut inputs = with_curve(CallMode::Graph);
    for known in ["in_situ=1", "exposed=1"] {
        inputs.priors.set(known.parse().unwrap()).unwrap();
    }
    // Intervals of 99% to 101%: ln(1.01 / 0.99) / 3.92 = 0.51% of 10.06 ms; 5% to 95% are 3.29 of these, 0.17 ms.
    let (stated, is_assumed) = bar_of(&inputs);
    assert!(stated.high - stated.low < 0.2, "{stated:?}");
    assert!(!is_assumed);
    for point in &mut inputs.curve {
        (point.low, point.high) = (None, None);
    }
    // At least 1%: 0.33 ms.
    let (unstated, is_assumed) = bar_of(&inputs);
    assert!(unstated.high - unstated.low > 0.33, "{unstated:?}");
    assert!(is_assumed);
}
