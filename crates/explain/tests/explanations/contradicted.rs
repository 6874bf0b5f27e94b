//! A half-width model that a curve or an ablation contradicts: neither is believed, no cause leads, and both are run again.

use crate::explanations::ablated::ablation;
use crate::explanations::boxes::rtxpro6000_mig;
use crate::explanations::planted::{half, streamed, with_curve};
use explain::{
    Ablation, Change, Explanation, Grade, Inputs, Outcome, Raises, Rule, answer, explain, slope,
    text,
};

const DRAWS: u32 = 4000;

/// TP1 60.9 ms, TP2 45.3 ms, and a half-width model of this step, which leaves the rest of 45.3 ms for communication and executor.
fn with_half(ms: f64) -> Inputs {
    let mut inputs = rtxpro6000_mig();
    inputs.known.gpu = None;
    inputs.serve = vec![streamed(1, 60.9, 0.0), streamed(2, 45.3, 0.0)];
    inputs.evidence.half = vec![half(ms)];
    inputs
}

/// Arms of these runs: 161 all-reduces of 39.3 us are 6.3 ms of 45.3.
fn arms(inputs: &Inputs) -> Ablation {
    Ablation {
        model: inputs.model.name.clone(),
        ..ablation(39.3, 45.3, Change::Link)
    }
}

fn no_side_is_believed(shown: &Explanation) {
    let Outcome::Attributed {
        attribution,
        advice,
        ..
    } = &shown.outcome
    else {
        panic!("refused");
    };
    let mut bars = attribution.bars.iter().chain(&attribution.communication);
    assert!(
        bars.all(|bar| bar.grade.is_none_or(|grade| grade == Grade::D)),
        "{attribution:?}"
    );
    let by_half = [Rule::KernelsFirst, Rule::BoundTooLow, Rule::NothingToGain];
    assert!(
        advice.iter().all(|of| !by_half.contains(&of.rule)),
        "{advice:?}"
    );
    let words = text(shown);
    assert!(
        !words.contains("mainly because of") && !words.contains("(A: "),
        "{words}"
    );
    let first = &answer(shown)[0];
    // 45.3 less half of 60.9, 30.45.
    assert!(
        first.ends_with(
            "What takes the 14.8 ms beyond 1/2 of one GPU's time is not told until that is settled."
        ) || first.ends_with(
            "What takes the 14.9 ms beyond 1/2 of one GPU's time is not told until that is settled."
        ),
        "{first}"
    );
}

#[test]
fn a_half_width_model_that_leaves_less_than_the_curve_gives_is_run_again_with_it() {
    // 161 * 38.5 us and 193 us are 6.39 ms, times 0.9 to 1.3 in the middle 7.03, and the executor's 0.15: 7.18. 43.0 leaves 2.3, and
    // 45.0 leaves 0.3.
    for (ms, left) in [(43.0, "2.3"), (45.0, "0.3")] {
        let inputs = with_curve(with_half(ms), 38.5, 193.0);
        let shown = explain(&inputs, 1, DRAWS);
        no_side_is_believed(&shown);
        let said = answer(&shown);
        let is = format!(
            "The half-width model and the curve of this box contradict each other: by the one communication takes {left} ms of a step, by the other 7.2. Neither is believed. 2 GPUs give "
        );
        assert!(said[0].starts_with(&is), "{}", said[0]);
        assert_eq!(
            said[1],
            "What to do first: run the half-width model (serve-bench half-model --run) and the curve (allreduce-bench in the server's environment) again, one after the other."
        );
        let mut next = shown.outcome.to_measure().iter();
        assert!(
            next.any(|step| step.what.starts_with("half-width GEMMs again: ")
                && step.brings().starts_with("tells which of those")),
            "{:?}",
            shown.outcome.to_measure()
        );
        let ablate = shown.outcome.to_measure().iter();
        let raises = ablate.filter_map(|step| step.raises.clone()).next();
        assert!(
            matches!(&raises, Some(Raises::Not { why }) if why.contains("half-width model")),
            "{raises:?}"
        );
    }
    // 33.3 leaves 12 ms, and 161 * 66 us, 10.9 ms with the gather, times 0.9 to 1.3 hold that: nothing changes.
    let agrees = explain(&with_curve(with_half(33.3), 66.0, 300.0), 1, DRAWS);
    assert!(
        answer(&agrees)[0].contains("mainly because of communication")
            && text(&agrees).contains("(A: communication and executor)"),
        "{}",
        text(&agrees)
    );
    // 40 us make 8.8 ms at most: more is left than calls take, which is no contradiction of the two.
    let more = explain(&with_curve(with_half(33.3), 40.0, 300.0), 1, DRAWS);
    assert!(
        answer(&more)[0].contains(
            "; a run of the model at 1/2 width leaves more for communication than was timed"
        ),
        "{}",
        answer(&more)[0]
    );
}

#[test]
fn a_half_width_model_that_leaves_less_than_the_arms_time_is_run_again_with_them() {
    // 39 ms without links by the line, and 43.15 by the model: 4 ms less than nothing.
    let inputs = with_half(43.0);
    let alone = explain(&inputs, 1, DRAWS);
    assert!(
        answer(&alone)[1].contains("look at kernels before links"),
        "{}",
        answer(&alone)[1]
    );
    let shown = alone.with_slope(slope(&arms(&inputs), 1, 1000));
    no_side_is_believed(&shown);
    let said = answer(&shown);
    assert!(
        said[0].starts_with("The half-width model and the ablation contradict each other: by the one communication takes 2.3 ms of a step, by the other 6.3 at least. Neither is believed. 2 GPUs give "),
        "{}",
        said[0]
    );
    assert_eq!(
        said[1],
        "What to do first: run the half-width model (serve-bench half-model --run) and the ablation (serve-bench ablate) again, one after the other."
    );
    let mut next = shown.outcome.to_measure().iter();
    let ablate = next.find(|step| step.how.starts_with("serve-bench ablate"));
    let brings = ablate.unwrap().brings();
    assert!(
        brings.contains("raises no grade before the half-width model"),
        "{brings}"
    );
    // A curve that gives as much as the arms leaves the model alone against two.
    let curved = with_curve(with_half(43.0), 38.5, 193.0);
    let shown = explain(&curved, 1, DRAWS).with_slope(slope(&arms(&curved), 1, 1000));
    no_side_is_believed(&shown);
    let said = answer(&shown);
    assert!(
        said[0].starts_with("The half-width model contradicts the curve of this box and the ablation: by it communication takes 2.3 ms of a step, by them 7.2 and 6.3 at least. None of them is believed. "),
        "{}",
        said[0]
    );
    assert_eq!(
        said[1],
        "What to do first: run the half-width model (serve-bench half-model --run) again."
    );
}

#[test]
fn an_ablation_beside_a_half_width_model_that_it_bears_out_leaves_both() {
    // 45.3 less 6.33 is 38.97, and the executor's 0.15 less: 38.8.
    let inputs = with_half(38.8);
    let shown = explain(&inputs, 1, DRAWS).with_slope(slope(&arms(&inputs), 1, 1000));
    let said = answer(&shown);
    assert!(
        !said[0].contains("contradict") && said[0].contains("the ablation bears it out"),
        "{}",
        said[0]
    );
}
