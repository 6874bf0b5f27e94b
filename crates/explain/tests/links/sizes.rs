//! TP2 against TP4 where there is no run of one GPU.

use crate::links::cases::{inputs, near, nvidia, point, run};
use explain::{
    Claim, Grade, Inputs, SizeAttribution, SizeCause, SizeComparison, SizeOutcome, compare_sizes,
    sizes_answer, sizes_text,
};
use measure::record::CallMode;
use tp_plan::EngineFacts;

/// All-reduces of 16 sequences of a 72B model: 16 * 8192 * 2 bytes.
const MESSAGE: u64 = 16 * 8192 * 2;

/// Qwen2.5-72B on two and four GPUs, 16 in flight; all-reduces of 20 us on two and 50 us on four.
fn sizes(two_ms: f64, four_ms: f64, curve_of_two: bool) -> Inputs {
    let around = nvidia(Some(false));
    let mut curve = vec![
        point(4, MESSAGE, 50.0, CallMode::Interleaved),
        point(4, 32 * MESSAGE, 800.0, CallMode::Interleaved),
    ];
    if curve_of_two {
        curve.push(point(2, MESSAGE, 20.0, CallMode::Interleaved));
        curve.push(point(2, 32 * MESSAGE, 320.0, CallMode::Interleaved));
    }
    let four = run("tp4.json", 4, 16, 64, 200.0, four_ms);
    let mut inputs = inputs("qwen2.5-72b", 4, around.clone(), vec![four], curve);
    inputs
        .serve
        .push((2, run("tp2.json", 2, 16, 64, 200.0, two_ms)));
    inputs.engines.push(EngineFacts::vllm(2, &around));
    for (name, low, high) in [
        ("gemm_speedup", 1.9, 1.9),
        ("attention_us_per_layer", 15.0, 15.0),
        ("elementwise_us_per_layer", 10.0, 10.0),
        ("host_ms", 0.5, 0.5),
        ("start_to_start", 0.0, 0.0),
    ] {
        let name = name.to_owned();
        inputs
            .priors
            .set(explain::Override { name, low, high })
            .unwrap();
    }
    inputs
}

#[track_caller]
fn attributed(comparison: &SizeComparison) -> &SizeAttribution {
    match &comparison.outcome {
        SizeOutcome::Attributed { attribution } => attribution,
        SizeOutcome::Refused { refusal } => panic!("{refusal}"),
    }
}

#[test]
fn the_fewers_own_communication_is_taken_out_before_it_is_halved() {
    // On two: 36 ms of which 161 * 20 us = 3.22 ms and 0.13 ms for the logits are collectives (times 0.95 to 1.1), so 32.6 ms without.
    // Half of that is 16.3. Attention at its floor of 80 * 15 us = 1.2 ms, norms and host 80 * 10 us + 0.5 ms = 1.3 ms:
    // GEMMs 30.1 ms, which lose 30.1 * (1/1.9 - 1/2) = 0.79 ms; never sharded (1.2 + 1.3) / 2 = 1.25 ms.
    // On four: collectives 161 * 50 us = 8.05 ms and 0.3 ms for the logits: together 16.3 + 0.8 + 1.25 + 8.35 = 26.7 ms.
    let comparison = compare_sizes(&sizes(36.0, 26.7, true), 2, 1, 4_000);
    let attribution = attributed(&comparison);
    let bar = |cause| {
        let bar = attribution.bars.iter().find(|bar| bar.cause == cause);
        bar.unwrap().ms
    };
    near(bar(SizeCause::Ideal).mid, 16.3, 0.2);
    near(bar(SizeCause::NarrowGemm).mid, 0.79, 0.05);
    near(bar(SizeCause::Unsharded).mid, 1.25, 0.02);
    near(bar(SizeCause::Communication).mid, 8.35, 0.35);
    // Draws that sum to more than was measured are dropped, so what is left lies a little above nothing.
    near(bar(SizeCause::Unexplained).mid, 0.0, 0.4);
    assert_eq!(attribution.claim, Claim::Estimated);
    // 36 / 26.7 = 1.35; with free links 36 / 18.3 = 1.97.
    near(attribution.speed_up.mid, 1.35, 0.02);
    near(attribution.free_links.mid, 1.97, 0.03);
    let answer = sizes_answer(&comparison);
    assert!(
        answer.len() == 2 && answer[0].contains("not 2 times"),
        "{answer:?}"
    );
}

#[test]
fn without_the_fewers_curve_nothing_is_attributed_and_the_command_is_named() {
    let comparison = compare_sizes(&sizes(36.0, 26.7, false), 2, 1, 1_000);
    let SizeOutcome::Refused { refusal } = &comparison.outcome else {
        panic!("{comparison:?}");
    };
    let reason = refusal.to_string();
    assert!(
        reason.contains("cannot be taken out") && reason.contains("--tp 2"),
        "{reason}"
    );
    // How fast they are needs no curve: 36 / 26.7 = 1.348.
    let rate = comparison.rate.unwrap();
    near(rate.speed_up.mid, 1.348, 0.005);
    let answer = sizes_answer(&comparison);
    assert!(
        answer.len() == 2
            && answer[0].starts_with("4 GPUs decode 1.35 [1.3")
            && answer[0].contains(
                "] times as fast as 2; why cannot be explained yet: what TP2 itself sends"
            ),
        "{answer:?}"
    );
    // Files that do not belong together have no ratio.
    let mut other = sizes(36.0, 26.7, false);
    other.serve[0].1.concurrency_asked = Some(32.0);
    other.serve[0].1.requests_per_s *= 2.0;
    let answer = sizes_answer(&compare_sizes(&other, 2, 1, 1_000));
    assert!(
        answer[0].starts_with("Nothing can be explained yet: "),
        "{answer:?}"
    );
}

/// The same runs, of which no file says its size.
fn unstated(mut inputs: Inputs) -> Inputs {
    for (_, run) in &mut inputs.serve {
        run.tp = None;
    }
    inputs
}

#[test]
fn files_the_wrong_way_round_are_advised_to_be_checked_with_and_without_a_curve() {
    for has_curve in [true, false] {
        let inputs = unstated(sizes(26.7, 36.0, has_curve));
        let comparison = compare_sizes(&inputs, 2, 1, 4_000);
        let answer = sizes_answer(&comparison);
        // 26.7 / 36 = 0.742.
        assert!(
            answer[0].starts_with("NOT FASTER THAN TP2 (")
                && answer[0].contains("4 GPUs decode 0.74 ["),
            "{answer:?}"
        );
        assert_eq!(
            answer.last().unwrap(),
            "What to do: check that the files are not mixed up: tp2.json was given as TP2 and tp4.json as TP4, because a step takes 36.0 ms on 4 GPUs and 26.7 ms on 2, and no file states its tensor parallel size.",
        );
        assert!(
            sizes_text(&comparison)
                .contains("serve-bench explain with tp4.json as --tp2 and tp2.json as --tp4"),
            "{answer:?}"
        );
    }
    // Faster, nothing is to be checked.
    let right = compare_sizes(&unstated(sizes(36.0, 26.7, true)), 2, 1, 1_000);
    assert!(right.advice.is_empty());
}

#[test]
fn an_interval_that_holds_one_is_not_told_apart_from_as_fast() {
    // 36 / 36.01 is 0.9997 and 36 / 35.99 is 1.0003, each time known within 0.1%.
    for four_ms in [36.01, 35.99] {
        let inputs = unstated(sizes(36.0, four_ms, true));
        let comparison = compare_sizes(&inputs, 2, 1, 4_000);
        let answer = sizes_answer(&comparison);
        assert!(
            answer[0].starts_with("Not told apart from as fast as TP2: 4 GPUs decode 1.00 [1.00, 1.00] times as fast as 2, not 2 times: "),
            "{answer:?}"
        );
        assert!(comparison.advice.is_empty());
    }
}

#[test]
fn a_size_between_both_is_compared_with_the_largest_in_a_sentence() {
    let three = |two_ms: f64, four_ms: f64| {
        let mut inputs = sizes(two_ms, four_ms, true);
        let one = run("tp1.json", 1, 16, 64, 200.0, 66.0);
        inputs.serve.push((1, one));
        let around = inputs.around.clone();
        inputs.engines.push(EngineFacts::vllm(1, &around));
        inputs
    };
    let last = |inputs: &Inputs| {
        let explanation = explain::explain(inputs, 1, 1_000);
        assert_eq!(explanation.between.len(), 1);
        explain::answer(&explanation).pop().unwrap()
    };
    // 36 / 40 is 0.9.
    let slower = last(&three(36.0, 40.0));
    assert!(
        slower.starts_with("NOT FASTER THAN TP2 (a slow link does that, and files given the wrong way round): 4 GPUs decode 0.90 [")
            && slower.ends_with("] times as fast as 2, whose result has no other part in this."),
        "{slower}"
    );
    let faster = last(&three(36.0, 26.7));
    assert!(faster.starts_with("4 GPUs decode 1.35 ["), "{faster}");
    let mut other = three(36.0, 26.7);
    for (_, run) in other.serve.iter_mut().filter(|(tp, _)| *tp == 2) {
        run.concurrency_asked = Some(32.0);
        run.requests_per_s *= 2.0;
    }
    let other = last(&other);
    assert!(
        other.starts_with("The result of TP2 has no part in this: it is not compared with TP4 ("),
        "{other}"
    );
    // Two sizes have none between them.
    let both = explain::explain(&sizes(36.0, 26.7, true), 1, 100);
    assert!(both.between.is_empty());
    assert!(
        compare_sizes(&sizes(36.0, 26.7, true), 2, 1, 100)
            .between
            .is_empty()
    );
}

#[test]
fn what_fewer_send_by_a_published_curve_is_said_to_be_and_has_its_grade() {
    let mut inputs = sizes(36.0, 26.7, false);
    inputs.known.gpu = Some("NVIDIA RTX PRO 6000 Blackwell Server Edition".to_owned());
    let comparison = compare_sizes(&inputs, 2, 1, 4_000);
    let attribution = attributed(&comparison);
    assert_eq!(attribution.grade_of_fewer, Some(Grade::D));
    assert!(attribution.source_of_fewer.contains("another box's curve"));
    // Published at 256 KiB are 39.3 us staged, times 0.8 to 2.5 from box to box: 161 of them are 5 to 16 ms.
    let sent = attribution.sent_of_fewer;
    assert!(sent.low < 6.5 && sent.high > 11.0, "{sent:?}");
    let ideal = &attribution.bars[0];
    assert_eq!(
        (ideal.cause, ideal.grade),
        (SizeCause::Ideal, Some(Grade::D))
    );
    // The four's own curve is of this box.
    let sent = attribution
        .bars
        .iter()
        .find(|bar| bar.cause == SizeCause::Communication);
    assert_eq!(sent.unwrap().grade, Some(Grade::C));
    // Which size lacks its curve is said, with the command.
    let has = |part: &str| {
        attribution
            .caveats
            .iter()
            .any(|caveat| caveat.contains(part))
    };
    assert!(
        has("TP2: there is no curve of this box"),
        "{:?}",
        attribution.caveats
    );
    assert!(has("--tp 2 --batches 16"), "{:?}", attribution.caveats);
    assert!(!has("TP4: there is no curve"), "{:?}", attribution.caveats);
    let answer = sizes_answer(&comparison);
    assert!(
        answer[1].contains("(grade D, another box's curve"),
        "{answer:?}"
    );
    // With a curve of both nothing is in doubt.
    let both = compare_sizes(&sizes(36.0, 26.7, true), 2, 1, 1_000);
    assert_eq!(attributed(&both).grade_of_fewer, Some(Grade::C));
    assert!(!sizes_answer(&both)[1].contains("grade D"));
}

#[test]
fn other_batches_of_two_sizes_are_refused() {
    let mut inputs = sizes(36.0, 26.7, true);
    for (tp, run) in &mut inputs.serve {
        if *tp == 2 {
            run.concurrency_asked = Some(32.0);
            run.requests_per_s *= 2.0;
        }
    }
    let comparison = compare_sizes(&inputs, 2, 1, 1_000);
    let SizeOutcome::Refused { refusal } = &comparison.outcome else {
        panic!("{comparison:?}");
    };
    assert!(refusal.to_string().contains("batch equal"), "{refusal}");
    let json = serde_json::to_string(&comparison).unwrap();
    assert!(json.contains(r#""kind":"sizes""#), "{json}");
}

#[test]
fn a_curve_that_rests_is_warned_of_below_the_answer_once() {
    let mut inputs = sizes(36.0, 26.7, true);
    assert!(!sizes_text(&compare_sizes(&inputs, 2, 1, 1_000)).contains("WARNING"));
    // 16 times 256 KiB are 4 MiB, and 50.5 / 50 is 1.01.
    let rests = point(4, 16 * MESSAGE, 50.5, CallMode::Interleaved);
    inputs.curve.push(rests);
    let text = sizes_text(&compare_sizes(&inputs, 2, 1, 1_000));
    let said = "\nWARNING: more bytes do not always take longer (all_reduce on 4 ranks, interleaved in curve of 50 us and curve of 50.5 us: 256 KiB 50.00 us and 4 MiB 50.50 us: 16 times as many bytes take no longer)";
    assert_eq!(text.matches(said).count(), 1, "{text}");
}

#[test]
fn a_dip_that_the_step_does_not_read_is_not_warned_of() {
    let mut inputs = sizes(36.0, 26.7, true);
    // A protocol's dip at sizes far below the 256 KiB of the step, and a fall far above: the logits are 2.3 MiB a rank and lie between
    // 256 KiB and 8 MiB.
    for (bytes, us) in [
        (8 << 10, 8.10),
        (16 << 10, 7.52),
        (64 << 20, 6400.0),
        (128 << 20, 5900.0),
    ] {
        let point = point(4, bytes, us, CallMode::Interleaved);
        inputs.curve.push(point);
    }
    let text = sizes_text(&compare_sizes(&inputs, 2, 1, 1_000));
    assert!(!text.contains("WARNING"), "{text}");
}

#[test]
fn more_gpus_that_are_slower_are_told_first() {
    // 36 / 40 is 0.9.
    let comparison = compare_sizes(&sizes(36.0, 40.0, true), 2, 1, 4_000);
    let answer = sizes_answer(&comparison);
    assert!(
        answer[0].starts_with(
            "NOT FASTER THAN TP2 (a slow link does that, and files given the wrong way round): 4 GPUs decode 0.9"
        ),
        "{answer:?}"
    );
    let faster = sizes_answer(&compare_sizes(&sizes(36.0, 26.7, true), 2, 1, 4_000));
    assert!(faster[0].starts_with("4 GPUs decode 1.3"), "{faster:?}");
}

#[test]
fn communication_is_perhaps_where_its_curve_is_of_another_box_or_one_gpu_does_not_show_it() {
    let mut comparison = compare_sizes(&sizes(36.0, 26.7, true), 2, 1, 4_000);
    let answer = sizes_answer(&comparison);
    assert!(
        answer[0].contains(", communication 8.")
            && answer[0].contains("] by the curve of 4 ranks, "),
        "{answer:?}"
    );
    if let SizeOutcome::Attributed { attribution } = &mut comparison.outcome {
        attribution.untold_from_one = Some(attribution.remainder);
    }
    let answer = sizes_answer(&comparison);
    assert!(
        answer[0].contains(", communication perhaps 8.")
            && answer[0].contains("by the curve of 4 ranks (against TP1 the step itself does not tell it from nothing), "),
        "{answer:?}"
    );
    let mut published = sizes(36.0, 26.7, true);
    published.curve.retain(|point| point.ranks == 2);
    published.known.gpu = Some("NVIDIA RTX PRO 6000 Blackwell Server Edition".to_owned());
    let comparison = compare_sizes(&published, 2, 1, 4_000);
    let grade = attributed(&comparison)
        .bars
        .iter()
        .find(|bar| bar.cause == SizeCause::Communication);
    assert_eq!(grade.unwrap().grade, Some(Grade::D));
    let answer = sizes_answer(&comparison);
    assert!(answer[0].contains("communication perhaps "), "{answer:?}");
}
