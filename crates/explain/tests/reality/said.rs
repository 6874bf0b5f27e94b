//! What a prediction says of where its figures come from, and of inputs that it has no use for.

use crate::reality::pairs::{Case, DRAWS, Gpu, SEED, inputs, predicted, run_of_one};
use explain::{Grade, Level, PartName, predict, prediction_text};

/// Two R9700, of which there is no curve at all: the link's rate is all that is known.
fn by_link() -> Case {
    Case::new(Gpu::R9700, "llama-3.1-8b", 2, 4, 210.0, 215.0)
}

#[test]
fn a_time_worked_out_from_a_links_rate_is_called_a_formula_and_is_no_evidence() {
    let two = predicted(&by_link(), None);
    let part = |name| two.parts.iter().find(|part| part.name == name).unwrap();
    for name in [PartName::AllReduce, PartName::AllGather] {
        let part = part(name);
        assert!(part.source.starts_with("a formula"), "{}", part.source);
        assert!(!part.source.contains("this box"), "{}", part.source);
        assert_eq!(part.grade, Grade::D);
    }
    // A formula knows nothing of ranks that come late: 66 collectives of 0 to 2 us x 0.564, 0.037 ms in the middle.
    let skew = part(PartName::Skew);
    assert!(skew.ms.mid > 0.02 && skew.ms.mid < 0.06, "{:?}", skew.ms);
    assert!(skew.source.contains("segment_jitter_us"), "{}", skew.source);
}

#[test]
fn a_half_width_model_is_used_for_two_ranks_and_said_to_be_of_no_use_for_four() {
    let case = |tp| Case::new(Gpu::H200, "llama-3.1-8b", tp, 16, 1024.0, 256.0);
    let half = run_of_one(16, 256.0, Some(100.0), Some(5.0), 1375.0);
    let of = |tp| {
        let mut inputs = inputs(&case(tp), None);
        inputs.half = vec![half.clone()];
        predict(&inputs, SEED, DRAWS).unwrap()
    };
    let says = |of: &explain::Prediction| of.caveats.iter().any(|c| c.contains("half-width"));
    let two = of(2);
    assert_eq!(two.sizes[0].level, Level::HalfModel);
    assert!(!says(&two), "{:?}", two.caveats);
    for tp in [1, 4] {
        let other = of(tp);
        assert_eq!(other.sizes[0].level, Level::Roofline);
        assert!(says(&other), "TP{tp}: {:?}", other.caveats);
    }
}

#[test]
fn no_line_of_the_text_ends_in_blanks() {
    let prediction = predict(&inputs(&by_link(), None), SEED, DRAWS).unwrap();
    let text = prediction_text(&prediction);
    assert!(text.ends_with('\n') && !text.ends_with("\n\n"));
    for line in text.lines() {
        assert_eq!(line, line.trim_end());
    }
}

/// Others' prompts ride along with the steps that decode. Prompts of 64 tokens multiply less than it takes to read the weights, so
/// that all they cost is that no graph holds those steps.
#[test]
fn short_prompts_of_others_cost_less_than_long_ones() {
    let tpot_over_step = |input| {
        let case = Case::new(Gpu::H100, "llama-3.1-8b", 1, 16, input, 256.0);
        let one = predicted(&case, None);
        one.serving.tpot.mid - one.step.mid
    };
    // 15 x 4096 tokens x 16 GFLOP at 0.5 to 0.85 of 989 TFLOP/s are 1.2 to 2.0 s in 256 steps, and half of them at least is seen.
    let long = tpot_over_step(4096.0);
    assert!(long > 2.0 && long < 9.0, "{long}");
    let short = tpot_over_step(64.0);
    assert!(short < 0.5, "{short}");
}
