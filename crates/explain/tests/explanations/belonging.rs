//! Files that do not belong together, and gates that had nothing to judge.

use crate::explanations::boxes::{mean, rtxpro6000_mig};
use crate::explanations::planted::streamed;
use crate::explanations::said::gate;
use explain::{Inputs, Verdict, attribute, explain, gates, text};
use measure::import::{gemm, trace};

fn of_models(one: Option<&str>, several: Option<&str>) -> Inputs {
    let mut inputs = rtxpro6000_mig();
    inputs.serve[0].1.model = one.map(str::to_owned);
    inputs.serve[1].1.model = several.map(str::to_owned);
    inputs
}

#[test]
fn a_model_is_known_by_its_facts_and_not_by_its_spelling() {
    let same = of_models(
        Some("qwen2.5-vl-72b-fp8"),
        Some("/models/Qwen2.5-VL-72B-Instruct-FP8-dynamic"),
    );
    assert_eq!(gate(&same, "same model").verdict, Verdict::Passed);
    assert_eq!(
        gate(&same, "the model asked about").verdict,
        Verdict::Passed
    );
    let other = of_models(Some("Qwen2.5-VL-72B-Instruct-FP8"), Some("llama-3.1-8b"));
    assert_eq!(gate(&other, "same model").verdict, Verdict::Failed);
    // A size in a name of one's own is enough to tell two apart.
    let sizes = of_models(Some("acme/nova-7b"), Some("acme/nova-13b"));
    assert_eq!(gate(&sizes, "same model").verdict, Verdict::Failed);
}

#[test]
fn a_name_of_ones_own_is_a_reservation_and_not_a_pass() {
    let own = of_models(Some("my-model"), Some("my-model"));
    assert_eq!(gate(&own, "same model").verdict, Verdict::Passed);
    let asked = gate(&own, "the model asked about");
    assert_eq!(asked.verdict, Verdict::Unknown);
    assert!(
        asked.seen.contains("cannot be told from the names"),
        "{asked:?}"
    );
    let two = of_models(Some("my-model"), Some("your-model"));
    assert_eq!(gate(&two, "same model").verdict, Verdict::Unknown);
    let caveats = attribute(&two, 1, 500).unwrap().caveats;
    let of_names = caveats
        .iter()
        .filter(|said| said.contains("from the names"));
    assert_eq!(of_names.count(), 2, "{caveats:?}");
    let none = of_models(None, None);
    assert_eq!(
        gate(&none, "the model asked about").verdict,
        Verdict::NotJudged
    );
    assert_eq!(gate(&none, "same model").verdict, Verdict::Unknown);
}

#[test]
fn what_was_not_judged_is_not_passed() {
    let mut inputs = rtxpro6000_mig();
    inputs.around.memory_bytes = None;
    for name in ["weights fit", "times agree", "collectives are right"] {
        let gate = gate(&inputs, name);
        assert_eq!(gate.verdict, Verdict::NotJudged, "{gate:?}");
        assert_eq!(gate.what_to_run, None);
    }
    let explanation = explain(&inputs, 1, 500);
    let words = text(&explanation);
    let all = gates(&inputs);
    let count = |verdict| all.iter().filter(|gate| gate.verdict == verdict).count();
    let line = format!(
        "gates: {} passed, {} unknown, {} not judged, 0 failed",
        count(Verdict::Passed),
        count(Verdict::Unknown),
        count(Verdict::NotJudged)
    );
    assert!(words.contains(&line), "{words}");
    assert!(words.contains("not judged: weights fit"), "{words}");
    let json = serde_json::to_string(&explanation).unwrap();
    assert!(json.contains("\"verdict\":\"not_judged\""));
    // It is no reservation either.
    assert!(
        !attribute(&inputs, 1, 500)
            .unwrap()
            .caveats
            .iter()
            .any(|said| said.starts_with("weights fit"))
    );
}

#[test]
fn a_refusal_of_measured_beside_simulated_is_of_no_soft_box() {
    let mut inputs = rtxpro6000_mig();
    inputs.serve[1].1.simulated = Some("l40x4".to_owned());
    let refused = explain(&inputs, 1, 200);
    assert_eq!(refused.simulated, None);
    assert!(!text(&refused).contains("SIMULATED"));
}

#[test]
fn two_soft_boxes_are_told_as_two_boxes() {
    let mut inputs = rtxpro6000_mig();
    inputs.known.links_of = None;
    for ((_, run), name) in inputs.serve.iter_mut().zip(["l40x4", "r9700-x8"]) {
        run.simulated = Some(name.to_owned());
    }
    let explanation = explain(&inputs, 1, 200);
    let of_boxes = gate(&inputs, "one soft box, not two");
    assert_eq!(of_boxes.verdict, Verdict::Failed);
    assert_eq!(of_boxes.seen, "l40x4 and r9700-x8");
    let words = text(&explanation);
    assert!(
        !words.contains("measured or simulated, not both: "),
        "{words}"
    );
    // Both are simulated, so that the text is marked, with both.
    assert!(
        words.starts_with("SIMULATED on the soft box l40x4 and r9700-x8: "),
        "{words}"
    );
    assert!(
        words.contains("What to do first: give files of one soft box"),
        "{words}"
    );
}

#[test]
fn a_trace_or_gemm_times_beside_a_soft_box_are_mixed() {
    let mut inputs = rtxpro6000_mig();
    for (_, run) in &mut inputs.serve {
        run.simulated = Some("rtxpro6000-mig".to_owned());
    }
    inputs.known.links_of = Some("rtxpro6000-mig".to_owned());
    let name = "measured or simulated";
    assert_eq!(gate(&inputs, name).verdict, Verdict::Passed);
    let mut with_gemm = inputs.clone();
    with_gemm.evidence.gemm = Some(gemm::of_text("m,n,k,us\n16,64,32,7.5\n", "g.csv").unwrap());
    assert_eq!(gate(&with_gemm, name).verdict, Verdict::Failed);
    let text =
        "Name,Calls,TotalDurationNs\nncclDevKernel_AllReduce_Sum_bf16_RING_LL(x),161,9000000\n";
    inputs.evidence.trace = Some(trace::of_text(text, "t.csv").unwrap());
    assert_eq!(gate(&inputs, name).verdict, Verdict::Failed);
}

#[test]
fn the_first_step_is_that_of_the_cause_and_not_of_what_follows() {
    // Failures leave slots empty, and then the batches are not equal.
    let mut inputs = rtxpro6000_mig();
    let run = &mut inputs.serve[0].1;
    (run.completed, run.failed) = (59, Some(5));
    run.requests_per_s = 14.7 / 15.7242;
    let first = |inputs: &Inputs| {
        text(&explain(inputs, 1, 200))
            .lines()
            .nth(1)
            .unwrap()
            .to_owned()
    };
    assert!(
        first(&inputs).contains("until none fails"),
        "{}",
        first(&inputs)
    );
    // A client that gives up.
    let mut inputs = rtxpro6000_mig();
    inputs.serve[0].1.requests_per_s = 8.4 / 15.7242;
    assert!(
        first(&inputs).contains("a client that lags"),
        "{}",
        first(&inputs)
    );
    // Nobody counted the tokens.
    let mut inputs = rtxpro6000_mig();
    let run = &mut inputs.serve[0].1;
    (run.output_tokens, run.output_tokens_asked) = (None, None);
    assert!(
        first(&inputs).contains("add the count of output tokens"),
        "{}",
        first(&inputs)
    );
    // One file for both sizes.
    let mut inputs = rtxpro6000_mig();
    inputs.serve[1].1 = inputs.serve[0].1.clone();
    assert!(
        first(&inputs).contains("name two different results"),
        "{}",
        first(&inputs)
    );
}

/// TP1 60.9 ms and TP2 45.3 ms a token, streamed, without gaps between tokens; the first token comes `first_ms` later than a step.
fn without_gaps(first_ms: f64) -> Inputs {
    let mut inputs = rtxpro6000_mig();
    inputs.serve = vec![streamed(1, 60.9, 0.0), streamed(2, 45.3, 0.0)];
    for (_, run) in &mut inputs.serve {
        let step = run.tpot_ms.unwrap().mean;
        run.ttft_ms = Some(mean(step + first_ms));
        run.e2el_ms = Some(mean(256.0 * step + first_ms));
        run.duration_s = 4.0 * (256.0 * step + first_ms) / 1e3;
        run.requests_per_s = 64.0 / run.duration_s;
    }
    inputs
}

#[test]
fn without_gaps_between_tokens_prompts_are_bounded_by_the_time_to_first_token() {
    // 15 others start while a request decodes 255 tokens, in three of four waves, and one in the first: 15 * 3/4 + 1/4 = 11.5 starts,
    // 0.0451 a token. A token holds what they take, so 0.0451 * 30 / (1 - 0.0451) ms = 1.42 of 45.3 are 3.1%, and of 60.9 2.3%.
    assert_eq!(
        gate(&without_gaps(30.0), "pure decode, TP2").verdict,
        Verdict::Passed
    );
    // 0.0451 * 100 / (1 - 0.0451) = 4.72 ms are 10%: nobody can tell, which is a reservation.
    let unknown = without_gaps(100.0);
    let seen = gate(&unknown, "pure decode, TP2");
    assert_eq!(seen.verdict, Verdict::Unknown);
    assert!(
        seen.seen.contains("up to 10% of the time per token"),
        "{seen:?}"
    );
    assert!(
        seen.what_to_run
            .unwrap()
            .contains("gaps between tokens (ITL)")
    );
    let caveats = attribute(&unknown, 1, 500).unwrap().caveats;
    assert!(
        caveats
            .iter()
            .any(|said| said.starts_with("pure decode, TP2")),
        "{caveats:?}"
    );
    // Neither gaps nor a first token nor a latency.
    let mut silent = without_gaps(30.0);
    for (_, run) in &mut silent.serve {
        (run.ttft_ms, run.e2el_ms) = (None, None);
    }
    assert_eq!(gate(&silent, "pure decode, TP2").verdict, Verdict::Unknown);
}
