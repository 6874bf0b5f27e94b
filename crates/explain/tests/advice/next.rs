//! Which measurement comes first.

use crate::advice::boxes::{GRAPH_ALL_GATHER, mean, point, rtxpro6000_mig};
use explain::{Cause, DRAWS, Grade, Inputs, Measure, NextStep, attribute, next};
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
    assert!(steps.iter().any(|step| step.after_ms.is_some()));
    for step in &steps {
        assert!((step.now_ms - (bar.ms.high - bar.ms.low)).abs() < 1e-9);
        // A twentieth of the width is the least that is worth a run, and both ends differ as they are written.
        assert!(
            step.after_ms
                .is_none_or(|after| after <= 0.95 * step.now_ms)
        );
    }
    // The curve in the engine's mode is asked for, since the one that was given is no evidence.
    assert!(how(&steps, Measure::Curve).is_some_and(|step| step.after_ms.is_some()));
}

#[test]
fn what_was_given_is_not_asked_for() {
    let all = steps(&rtxpro6000_mig());
    let asks = [Measure::Shard, Measure::Repeats];
    for part in &asks[..1] {
        assert!(how(&all, *part).is_some(), "{part:?}: {all:?}");
    }
    let mut given = rtxpro6000_mig();
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

#[test]
fn what_narrows_most_a_minute_comes_first() {
    for inputs in [rtxpro6000_mig(), with_curve(CallMode::Graph)] {
        let steps = steps(&inputs);
        // What narrows by the most a minute comes first.
        let pace = |step: &NextStep| {
            let after = step.after_ms?;
            Some((step.now_ms - after) / step.minutes)
        };
        let paces: Vec<f64> = steps.iter().filter_map(pace).collect();
        assert!(paces.is_sorted_by(|a, b| a >= b), "{steps:?}");
        // Those without a share stand behind those with one.
        let first = steps.iter().position(|step| step.after_ms.is_none());
        assert!(first.is_none_or(|first| first == paces.len()), "{steps:?}");
    }
}
