//! Which measurement comes first.

use crate::advice::boxes::{GRAPH_ALL_GATHER, mean, point, rtxpro6000_mig};
use explain::{Cause, DRAWS, Grade, Inputs, Measure, NextStep, attribute, next};
use import::{Trace, trace};
use record::{CallMode, CollectiveKind};

fn steps(inputs: &Inputs) -> Vec<NextStep> {
    next(inputs, &attribute(inputs, 1, DRAWS).unwrap())
}

fn with_curve(mode: CallMode) -> Inputs {
    let mut inputs = rtxpro6000_mig();
    inputs.curve = vec![
        point(CollectiveKind::AllReduce, 256 << 10, 55.0),
        point(CollectiveKind::AllGather, GRAPH_ALL_GATHER, 400.0),
    ];
    for point in &mut inputs.curve {
        point.mode = Some(mode);
    }
    // Nothing is hidden, so that the factor from the curve is all that is drawn.
    inputs.priors.set("exposed=1".parse().unwrap()).unwrap();
    inputs
}

fn how(steps: &[NextStep], what: Measure) -> Option<&NextStep> {
    steps.iter().find(|step| step.measure == what)
}

#[test]
fn with_a_graph_curve_what_remains_is_how_collectives_fare_inside_the_engine() {
    let steps = steps(&with_curve(CallMode::Graph));
    let trace = how(&steps, Measure::Trace).unwrap().narrows.unwrap();
    // 161 * 55 us + 400 us = 9.26 ms over 0.9 to 1.3, of which 90%: 3.3 ms; less where draws exceed what was measured.
    assert!(trace.now_ms > 2.0 && trace.now_ms < 3.6, "{trace:?}");
    // A trace is off by 0.9 to 1.05: 90% of 0.15 in 0.975 of some 10.2 ms (9.26 * 1.1) is 1.4 ms.
    assert!((trace.after_ms - 1.4).abs() < 0.15, "{trace:?}");
    // Of 0.9 to 1.3 times the curve 0.95 to 1.1 is left: (0.15 / 0.4)^2 = 0.14 of the variance that the factor makes.
    let interleaved = how(&steps, Measure::InterleavedCurve).unwrap();
    let interleaved = interleaved.narrows.unwrap();
    assert!(
        interleaved.share < 0.87 && interleaved.share > 0.7,
        "{interleaved:?}"
    );
}

#[test]
fn at_grade_d_it_is_the_bars_interval_that_is_narrowed() {
    // A file that states no mode: 55 us a call, and another factor on top.
    let mut inputs = with_curve(CallMode::Graph);
    for point in &mut inputs.curve {
        point.mode = None;
    }
    let attribution = attribute(&inputs, 1, DRAWS).unwrap();
    let bar = attribution.bar(Cause::Communication).unwrap();
    assert_eq!(bar.grade, Some(Grade::D));
    let steps = next(&inputs, &attribution);
    let told: Vec<_> = steps.iter().filter_map(|step| step.narrows).collect();
    assert!(!told.is_empty(), "{steps:?}");
    for narrows in told {
        assert!((narrows.now_ms - (bar.ms.high - bar.ms.low)).abs() < 1e-9);
        // A twentieth of the width is the least that is worth a run, and both ends differ as they are written.
        assert!(narrows.after_ms <= 0.95 * narrows.now_ms);
    }
    // The curve in the engine's mode is asked for, since the one that was given is no evidence.
    assert!(how(&steps, Measure::Curve).is_some_and(|step| step.narrows.is_some()));
}

#[test]
fn what_was_given_is_not_asked_for() {
    let all = steps(&rtxpro6000_mig());
    let asks = [Measure::Trace, Measure::Shard, Measure::Repeats];
    for part in &asks[..2] {
        assert!(how(&all, *part).is_some(), "{part:?}: {all:?}");
    }
    let mut given = rtxpro6000_mig();
    given.evidence.trace = Some(traced());
    let mut half = given.serve[0].1.clone();
    half.model = Some("half-tp2".to_owned());
    // 33.3 ms a token instead of 61.4.
    half.e2el_ms = Some(mean(33.3 * 256.0));
    half.duration_s = 4.0 * 33.3 * 0.256;
    half.requests_per_s = 64.0 / half.duration_s;
    given.evidence.half = vec![half];
    for (tp, at) in [(1, 0), (2, 1)] {
        let run = given.serve[at].1.clone();
        given.serve.extend((0..4).map(|_| (tp, run.clone())));
    }
    let left = steps(&given);
    for part in asks {
        assert!(how(&left, part).is_none(), "{part:?}: {left:?}");
    }
}

/// 20 steps of 161 all-reduces of 56 us and one all-gather of 250 us.
fn traced() -> Trace {
    let text = "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n\
        39.0,180320000,3220,56000.0,56000.0,50000,60000,2000.0,ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)\n\
        1.0,5000000,20,250000.0,250000.0,240000,260000,3000.0,ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)\n";
    trace::of_text(text, "trace.csv").unwrap()
}

#[test]
fn an_interleaved_curve_needs_no_second_one() {
    let steps = steps(&with_curve(CallMode::Interleaved));
    assert!(
        how(&steps, Measure::InterleavedCurve).is_none(),
        "{steps:?}"
    );
}

#[test]
fn every_step_says_what_it_takes_and_none_claims_to_widen() {
    for inputs in [rtxpro6000_mig(), with_curve(CallMode::Graph)] {
        let steps = steps(&inputs);
        assert!(steps.iter().all(|step| step.minutes.is_some()));
        let narrows: Vec<_> = steps.iter().filter_map(|step| step.narrows).collect();
        assert!(narrows.iter().all(|of| of.after_ms <= of.now_ms));
        // What narrows by the most a minute comes first.
        let pace = |step: &NextStep| {
            let of = step.narrows.unwrap();
            (of.now_ms - of.after_ms) / step.minutes.unwrap()
        };
        let told = steps.iter().filter(|step| step.narrows.is_some());
        let paces: Vec<f64> = told.map(pace).collect();
        assert!(paces.is_sorted_by(|a, b| a >= b), "{steps:?}");
        // Those without a share stand behind those with one.
        let first = steps.iter().position(|step| step.narrows.is_none());
        assert!(
            first.is_none_or(|first| first == narrows.len()),
            "{steps:?}"
        );
    }
}
