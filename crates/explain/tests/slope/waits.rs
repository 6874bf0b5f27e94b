//! A wait at each collective that no arm changes: no slope shows it, and a half-width model does.

use crate::slope::cases::{inputs, near, nvidia, point, run};
use crate::slope::made::{Design, Truth, ablation, arm};
use explain::{
    Cause, Change, ConstantPart, Explanation, Grade, Outcome, Slope, SlopeCaveat, explain, slope,
};
use import::{CurvePoint, ServeRun};
use record::{CallMode, CollectiveKind};
use tp_plan::EngineFacts;

/// All-reduces of a step of Llama-3.1-8B: 1 + 2 * 32.
const PLANNED: f64 = 65.0;

/// What an all-reduce takes on the box as it is, us.
const BASE_US: f64 = 26.0;

/// The step without collectives: half-width model 12.6 ms, and 0.15 ms for the executor, the middle of its range.
const HALF_MS: f64 = 12.6;
const ALONE_MS: f64 = HALF_MS + 0.15;

const STEADY: Design = Design {
    step: 0.001,
    collective: 0.01,
    launches: 5,
};

fn step(us: f64, wait_us: f64) -> f64 {
    ALONE_MS + PLANNED * (us + wait_us) / 1e3
}

/// Arms of links and delays; in every one of them each all-reduce waits so much longer than a bench's.
fn tested(wait_us: f64) -> Slope {
    let mut truth = Truth::of(3);
    let arms = [
        ("baseline", Change::Baseline, BASE_US),
        ("p2p-off", Change::Link, 45.0),
        ("delay-50", Change::Delay, 76.0),
    ]
    .map(|(name, change, us)| {
        let ms = step(us, wait_us);
        arm(&mut truth, STEADY, (name, change), Some(us), ms)
    });
    let mut of = ablation(arms.to_vec());
    of.model = "llama-3.1-8b".to_owned();
    of.planned = 65;
    slope(&of, 1, 600)
}

/// TP1 24 ms, TP2 as the baseline, a curve of the box, and a half-width model of so many ms.
fn explained(wait_us: f64, half_ms: Option<f64>) -> Explanation {
    let around = nvidia(Some(false));
    let message = 16 * 4096 * 2;
    let curve = [
        (1, 26.0),
        (2, 38.0),
        (4, 60.0),
        (8, 100.0),
        (16, 180.0),
        (64, 650.0),
    ]
    .map(|(times, us)| point(2, times * message, us, CallMode::Interleaved));
    // The step of these arms holds all-reduces alone: the logits' gather, 16 * 128256 / 2 values of 2 bytes, is next to nothing.
    let gather = CurvePoint {
        kind: CollectiveKind::AllGather,
        ..point(2, 16 * 128_256, 1.0, CallMode::Interleaved)
    };
    let curve: Vec<CurvePoint> = curve.into_iter().chain([gather]).collect();
    let served = run("tp2.json", 2, 16, 64, 60.0, step(BASE_US, wait_us));
    let mut inputs = inputs("llama-3.1-8b", 2, around.clone(), vec![served], curve);
    inputs
        .serve
        .push((1, run("tp1.json", 1, 16, 64, 90.0, 24.0)));
    inputs.engines.push(EngineFacts::vllm(1, &around));
    inputs.evidence.half = half_ms
        .map(|ms| ServeRun {
            model: Some("llama-3.1-8b-half-tp2".to_owned()),
            ..run("half.json", 1, 16, 64, 60.0, ms)
        })
        .into_iter()
        .collect();
    explain(&inputs, 1, 4_000).with_slope(tested(wait_us))
}

fn grade(of: &Explanation) -> Option<Grade> {
    let Outcome::Attributed { attribution, .. } = &of.outcome else {
        panic!("{of:?}");
    };
    attribution.bar(Cause::AllReduce).unwrap().grade
}

#[test]
fn a_slope_alone_calls_its_product_a_lower_figure() {
    // 8 us more at each of 65 all-reduces, 0.52 ms of every arm: the line is as steep and lies as much higher.
    let (with, without) = (tested(8.0), tested(0.0));
    let fit = |of: &Slope| of.fit.clone().unwrap();
    // 65 * 26 us = 1.69 ms either way.
    near(fit(&with).communication_ms.mid, 1.69, 0.06);
    near(fit(&without).communication_ms.mid, 1.69, 0.06);
    near(
        fit(&with).intercept_ms.mid - fit(&without).intercept_ms.mid,
        0.52,
        0.03,
    );
    assert_eq!(with.constant, ConstantPart::NotKnown);
    // Files of before have no word of it.
    let mut json = serde_json::to_value(&with).unwrap();
    json.as_object_mut().unwrap().remove("constant");
    assert_eq!(serde_json::from_value::<Slope>(json).unwrap(), with);
}

#[test]
fn beside_results_the_product_is_widened_by_what_is_assumed() {
    let of = explained(8.0, None).slope.unwrap();
    let ConstantPart::Assumed {
        communication_ms,
        by,
    } = &of.constant
    else {
        panic!("{:?}", of.constant);
    };
    assert_eq!(by.name, "in_situ");
    // 1.69 ms times 0.92 to 1.28, the 5% and 95% points of 0.9 to 1.3, which the slope's own errors widen a little. The truth is
    // 65 * 34 us = 2.21 ms, 1.31 times: at the end of what is assumed.
    near(communication_ms.low, 1.69 * 0.92, 0.06);
    near(communication_ms.high, 1.69 * 1.28, 0.06);
}

#[test]
fn a_half_width_model_finds_the_wait_that_no_arm_changes() {
    let explanation = explained(8.0, Some(HALF_MS));
    let of = explanation.slope.clone().unwrap();
    let check = of.check().unwrap();
    // 0.52 ms; the executor's range is 0.3 ms wide and a start differs by half a per cent of 12.6 ms, 0.06.
    near(check.constant_ms.mid, 0.52, 0.06);
    assert!(!check.agrees && check.constant_ms.low > 0.3, "{check:?}");
    // 65 * (26 + 8) us = 2.21 ms.
    near(check.communication_ms.mid, 2.21, 0.06);
    // The slope is what was planned: the bar by curve and count is causal, and its words tell what is not in it.
    assert_eq!(grade(&explanation), Some(Grade::B));
    assert!(of.evidence().is_some());
}

#[test]
fn without_a_wait_the_two_ends_agree() {
    let explanation = explained(0.0, Some(HALF_MS));
    let of = explanation.slope.clone().unwrap();
    let check = of.check().unwrap();
    near(check.constant_ms.mid, 0.0, 0.06);
    assert!(check.agrees, "{check:?}");
    near(check.communication_ms.mid, 1.69, 0.06);
    assert_eq!(grade(&explanation), Some(Grade::B));
}

#[test]
fn a_half_width_model_above_the_line_makes_the_slope_no_evidence() {
    // 13.6 ms where several GPUs take 12.75 without collectives: no communication is negative.
    let explanation = explained(0.0, Some(13.6));
    let of = explanation.slope.clone().unwrap();
    let check = of.check().unwrap();
    assert!(check.contradicts(), "{check:?}");
    assert_eq!(of.evidence(), None);
    // 14.44 less 13.6 and 0.15 is 0.7 where curve and arms give 1.7: none of the three is better than prior knowledge.
    assert_eq!(grade(&explanation), Some(Grade::D));
}

#[test]
fn an_ablation_of_another_load_is_not_held_against_the_half_width_model() {
    // The results' step is 6% longer than the arm's, as that of longer outputs is.
    let explanation = {
        let mut longer = explained(0.0, Some(HALF_MS));
        let Outcome::Attributed { attribution, .. } = &mut longer.outcome else {
            panic!("{longer:?}");
        };
        let of = &mut attribution.step_of_several;
        (of.low, of.mid, of.high) = (of.low * 1.06, of.mid * 1.06, of.high * 1.06);
        longer.with_slope(tested(0.0))
    };
    let of = explanation.slope.unwrap();
    assert!(matches!(of.constant, ConstantPart::Assumed { .. }));
    assert!(
        of.caveats
            .iter()
            .any(|caveat| matches!(caveat, SlopeCaveat::OtherLoad { .. }))
    );
}
