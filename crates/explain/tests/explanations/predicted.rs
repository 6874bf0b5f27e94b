//! What a prediction says of the size that was measured. Other sizes are judged against published servers.

use crate::explanations::boxes::{mean, rtxpro6000_mig};
use explain::{DESCRIBED, DRAWS, Grade, Link, PartName, PredictInputs, predict, prediction_text};
use measure::import::{CurvePoint, Spread};
use measure::record::{CallMode, CollectiveKind};
use measure::stats::Interval;
use tp_plan::EngineFacts;

/// A mean over so many that is known to 0.1 ms.
fn known(ms: f64, n: u64) -> Option<Spread> {
    Some(Spread {
        n: Some(n),
        mean_interval: Some(Interval {
            low: ms - 0.1,
            high: ms + 0.1,
            level: 0.95,
        }),
        ..mean(ms)
    })
}

#[test]
fn the_measured_size_is_told_with_the_time_per_token_that_its_result_states() {
    let mut base = rtxpro6000_mig();
    base.serve.truncate(1);
    // A decode step of 60.6 ms, and the prompts of others in the time per token of 61.4.
    let run = &mut base.serve[0].1;
    run.streamed = true;
    run.decode_gap_ms = known(60.6, 2000);
    run.tpot_ms = known(61.4, 64);
    let output = 64 * 256;
    run.output_tokens = Some(output);
    let (duration_s, completed) = (run.duration_s, run.completed);
    let prediction = predict(
        &PredictInputs {
            base,
            sizes: vec![1],
            batch: 16,
            input_tokens: 89.0,
            output_tokens: 256.0,
            half: Vec::new(),
            link: None,
        },
        1,
        DRAWS,
    )
    .unwrap();
    let of_one = &prediction.sizes[0];
    assert!((of_one.step.mid - 60.6).abs() < 0.1, "{:?}", of_one.step);
    let serving = &of_one.serving;
    assert!((serving.tpot.mid - 61.4).abs() < 0.1, "{serving:?}");
    // 16 x 1000 / 61.4 = 260.6, where the step alone would be 264.0.
    assert!(
        (serving.tokens_per_s.mid - 260.6).abs() < 0.5,
        "{serving:?}"
    );
    // The file's own rate is of the whole run with its prompts: tokens over the duration.
    let [rate] = prediction.measured_rates.as_slice() else {
        panic!("{:?}", prediction.measured_rates)
    };
    assert_eq!(rate.tokens_per_s, output as f64 / duration_s);
    let text = prediction_text(&prediction);
    assert!(text.contains(" tok/s while decoding "), "{text}");
    let told = format!(
        "\n TP1: {:.0} tok/s over the run, prompts included, by {} (n = {completed} requests)\n",
        output as f64 / duration_s,
        rate.origin
    );
    assert!(text.contains(&told), "{told}{text}");
}

/// A prediction of TP1 from a result of 60.6 ms a step and what it was made with.
fn of_one(engine: Option<&str>, gap: f64, gpu: &str) -> PredictInputs {
    let mut base = rtxpro6000_mig();
    base.serve.truncate(1);
    base.known.gpu = Some(gpu.to_owned());
    let run = &mut base.serve[0].1;
    run.streamed = true;
    run.decode_gap_ms = known(gap, 2000);
    run.tpot_ms = known(gap, 64);
    run.conditions.engine = engine.map(str::to_owned);
    PredictInputs {
        base,
        sizes: vec![1],
        batch: 16,
        input_tokens: 89.0,
        output_tokens: 256.0,
        half: Vec::new(),
        link: None,
    }
}

#[test]
fn a_result_of_another_engine_is_refused_and_one_without_rules_is_told() {
    let gpu = "NVIDIA RTX Pro 6000";
    let refused = predict(&of_one(Some("sglang"), 60.6, gpu), 1, 200).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("the rules of vLLM are taken, and"),
        "{refused}"
    );
    let told = predict(&of_one(Some("lmdeploy"), 60.6, gpu), 1, 200).unwrap();
    let says = |caveat: &String| caveat.contains("the rules of vLLM are taken for lmdeploy");
    assert!(told.caveats.iter().any(says), "{:?}", told.caveats);
}

#[test]
fn a_measured_step_far_off_its_own_prediction_is_refused_with_both_figures() {
    // 75.2 GB of weights at 1792 GB/s are 42 ms, of which 60.6 are 1.4 times and 250 are 6.
    let gpu = "NVIDIA RTX Pro 6000";
    assert!(predict(&of_one(None, 60.6, gpu), 1, 200).is_ok());
    let refused = predict(&of_one(None, 250.0, gpu), 1, 200).unwrap_err();
    assert!(
        matches!(refused, explain::PredictError::Refused { .. }),
        "{refused}"
    );
    let told = refused.to_string();
    assert!(
        told.contains("more than 3 times apart: check that"),
        "{told}"
    );
    let between = |from: &str, to: &str| -> f64 {
        let (_, rest) = told.split_once(from).unwrap();
        rest.split_once(to).unwrap().0.parse().unwrap()
    };
    // The median of draws of a start, which lies within 0.5% of the run.
    let step = between("its step takes ", " ms, and");
    assert!((step / 250.0 - 1.0).abs() < 0.005, "{told}");
    let predicted = between("without that file ", " ms would");
    assert!((42.0..70.0).contains(&predicted), "{told}");
}

#[test]
fn a_half_model_far_off_its_own_prediction_is_refused_too() {
    // A rank of two reads half of 75.2 GB at 1792 GB/s in 21 ms: 30 are 1.4 times that, and 150 are 7.
    let of_half = |gap: f64| {
        let mut inputs = of_one(None, gap, "NVIDIA RTX Pro 6000");
        inputs.half = vec![inputs.base.serve[0].1.clone()];
        inputs.base.serve.clear();
        inputs.sizes = vec![2];
        predict(&inputs, 1, 200)
    };
    of_half(30.0).unwrap();
    let told = of_half(150.0).unwrap_err().to_string();
    assert!(
        told.contains("its step takes 149.") || told.contains("its step takes 150."),
        "{told}"
    );
    assert!(
        told.contains("a rank's share of this model at TP2"),
        "{told}"
    );
}

/// A box of so many GB a GPU that nobody measured, and nothing but the model's 75.2 GB of FP8 weights to go into it.
fn of_memory(gb: u64, sizes: &[u32], batch: u32, input_tokens: f64) -> PredictInputs {
    let mut base = rtxpro6000_mig();
    base.serve.clear();
    base.around.memory_bytes = Some(gb * 1_000_000_000);
    base.known.gpu = Some("NVIDIA RTX Pro 6000".to_owned());
    let engines = sizes.iter();
    base.engines = engines
        .map(|tp| EngineFacts::vllm(*tp, &base.around))
        .collect();
    PredictInputs {
        base,
        sizes: sizes.to_vec(),
        batch,
        input_tokens,
        output_tokens: 256.0,
        half: Vec::new(),
        link: Some(Link {
            gbps: 25.0,
            fabric: false,
            source: "a test".to_owned(),
        }),
    }
}

#[test]
fn a_size_that_the_weights_do_not_fit_is_left_out_and_the_others_are_told_against_the_smallest_that_fits()
 {
    // 75.2 GB of weights: not into 60 GB, into 2 x 60 with 54 - 37.6 = 16.4 GB left on each for the cache, and into 4 x 60.
    let prediction = predict(&of_memory(60, &[1, 2, 4], 8, 1024.0), 1, DRAWS).unwrap();
    let sizes: Vec<u32> = prediction.sizes.iter().map(|size| size.tp).collect();
    assert_eq!(sizes, [2, 4]);
    let [left_out] = prediction.not_predicted.as_slice() else {
        panic!("{:?}", prediction.not_predicted)
    };
    assert_eq!(left_out.tp, 1);
    let reason = &left_out.reason;
    assert!(
        reason.contains("1 x 60.0 GB of memory do not hold 75.2 GB of weights"),
        "{reason}"
    );
    assert_eq!(prediction.speed_up_over, Some(2));
    let [two, four] = prediction.sizes.as_slice() else {
        panic!("{sizes:?}")
    };
    assert_eq!(two.serving.speed_up, None);
    // The middle of ratios lies near the ratio of middles, and all draws of both within their ends.
    let (of_two, of_four) = (two.serving.tpot, four.serving.tpot);
    let gain = four.serving.speed_up.unwrap();
    let middles = of_two.mid / of_four.mid;
    assert!(
        (gain.mid / middles - 1.0).abs() < 0.05,
        "{gain:?} {middles}"
    );
    assert!(gain.low > of_two.low / of_four.high, "{gain:?}");
    let text = prediction_text(&prediction);
    assert!(text.contains("speed-up over TP2"), "{text}");
    assert!(text.contains("TP1 does not fit: 1 x 60.0 GB"), "{text}");
}

#[test]
fn a_cache_that_does_not_hold_the_sequences_is_said_with_how_many_it_holds_and_nothing_is_predicted()
 {
    // 90% of 100 GB less 75.2 are 14.8 GB. A token takes 80 layers x 2 x 8 heads x 128 values of 2 bytes: 327680 bytes, and
    // 10000 + 256 of them 3.36 GB: 4 sequences.
    let inputs = of_memory(100, &[1], 16, 10_000.0);
    let error = predict(&inputs, 1, DRAWS).unwrap_err().to_string();
    for says in [
        "TP1 does not fit",
        "about 4 sequences of 10256 tokens",
        "--batch 4",
    ] {
        assert!(error.contains(says), "{error}");
    }
    // 100000 + 256 of them are 32.9 GB: not one.
    let inputs = of_memory(100, &[1], 1, 100_000.0);
    let error = predict(&inputs, 1, DRAWS).unwrap_err().to_string();
    assert!(error.contains("not one sequence"), "{error}");
    // At 4 it is told.
    let inputs = of_memory(100, &[1], 4, 10_000.0);
    let prediction = predict(&inputs, 1, DRAWS).unwrap();
    assert_eq!(prediction.sizes[0].cache_holds, Some(4));
}

#[test]
fn a_curve_of_this_box_at_the_planned_sizes_is_of_grade_c_as_in_an_explanation() {
    let mut inputs = of_memory(100, &[2], 16, 89.0);
    // 16 x 8192 values of 2 bytes, and of logits 16 x 152064 / 2 values of 2 bytes; no peers, so that it is the library's.
    let point = |kind, bytes_per_rank, us| CurvePoint {
        kind,
        ranks: 2,
        bytes_per_rank,
        us,
        low: Some(us * 0.99),
        high: Some(us * 1.01),
        n: Some(10),
        mode: Some(CallMode::Graph),
        library: Some("nccl".to_owned()),
        engine: None,
        origin: "a test".to_owned(),
        simulated: None,
    };
    let reduce = point(CollectiveKind::AllReduce, 16 * 8192 * 2, 60.0);
    inputs.base.curve = vec![reduce.clone()];
    let grades = |inputs: &PredictInputs| {
        let prediction = predict(inputs, 1, DRAWS).unwrap();
        let parts = prediction.sizes[0].parts.iter();
        let sent =
            parts.filter(|part| matches!(part.name, PartName::AllReduce | PartName::AllGather));
        sent.map(|part| part.grade).collect::<Vec<_>>()
    };
    // The gather is read off the all-reduce's curve, at another size, which says nothing of the all-reduce.
    assert_eq!(grades(&inputs), [Grade::C, Grade::D]);
    let gather = point(CollectiveKind::AllGather, 16 * 152_064, 300.0);
    inputs.base.curve.push(gather);
    assert_eq!(grades(&inputs), [Grade::C, Grade::C]);
    // 161 x 60 us are 9.66 ms, times 0.9 to 1.3, 1.1 in the middle.
    let prediction = predict(&inputs, 1, DRAWS).unwrap();
    let mut parts = prediction.sizes[0].parts.iter();
    let sent = parts.find(|part| part.name == PartName::AllReduce).unwrap();
    assert!((sent.ms.mid - 10.6).abs() < 0.3, "{:?}", sent.ms);

    // The same times as a box file states them are nobody's measurement.
    let mut described = inputs.clone();
    for point in &mut described.base.curve {
        point.library = Some(DESCRIBED.to_owned());
    }
    assert_eq!(grades(&described), [Grade::D, Grade::D]);

    // What is not used is said: ranks in host memory, and a time whose interval reaches 0.
    let mut of_host = reduce.clone();
    of_host.library = Some("host".to_owned());
    let mut hidden = reduce;
    (hidden.bytes_per_rank, hidden.low) = (4096, Some(-1.0));
    inputs.base.curve.extend([of_host, hidden]);
    let told = predict(&inputs, 1, DRAWS).unwrap().caveats.join("\n");
    assert!(told.contains("times of ranks in host memory"), "{told}");
    assert!(told.contains("1 of 3 times of the curve"), "{told}");
}

#[test]
fn the_time_to_first_token_has_an_interval_even_where_the_step_is_measured() {
    let mut base = rtxpro6000_mig();
    base.serve.truncate(1);
    let run = &mut base.serve[0].1;
    run.streamed = true;
    run.decode_gap_ms = known(60.6, 2000);
    let inputs = PredictInputs {
        base,
        sizes: vec![1],
        batch: 16,
        input_tokens: 89.0,
        output_tokens: 256.0,
        half: Vec::new(),
        link: None,
    };
    let prediction = predict(&inputs, 1, DRAWS).unwrap();
    let first = prediction.sizes[0].serving.ttft_alone;
    // A prompt of 89 tokens takes the reading of all weights, which a step of 60.6 ms does too; how far it lies from that is
    // assumed, 0.85 to 1.15 of it: 90% of that width are 0.27 of the middle.
    assert!(first.mid > 55.0 && first.mid < 66.0, "{first:?}");
    let width = (first.high - first.low) / first.mid;
    assert!(width > 0.25 && width < 0.35, "{first:?}");
    let mut priors = prediction.priors.iter();
    assert!(priors.any(|prior| prior.name == "left_out"));
}
