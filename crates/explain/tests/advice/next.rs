//! Which measurement comes first.

use crate::advice::boxes::{GRAPH_ALL_GATHER, mean, nvidia, point, rtxpro6000_mig};
use explain::{Cause, DRAWS, Grade, Inputs, NextStep, Raises, attribute, next, text};
use measure::import::{Trace, trace};
use measure::record::{CallMode, CollectiveKind, PeerVerdict};
use tp_plan::{EngineFacts, Execution};

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

fn how<'a>(steps: &'a [NextStep], part: &str) -> Option<&'a NextStep> {
    steps.iter().find(|step| step.how.contains(part))
}

#[test]
fn with_a_graph_curve_what_remains_is_how_collectives_fare_inside_the_engine() {
    let steps = steps(&with_curve(CallMode::Graph));
    let trace = how(&steps, "nsys").unwrap().narrows.unwrap();
    // 161 * 55 us + 400 us = 9.26 ms over 0.9 to 1.3, of which 90%: 3.3 ms; less where draws exceed what was measured.
    assert!(trace.now_ms > 2.0 && trace.now_ms < 3.6, "{trace:?}");
    // A trace is off by 0.9 to 1.05: 90% of 0.15 in 0.975 of some 10.2 ms (9.26 * 1.1) is 1.4 ms.
    assert!((trace.after_ms - 1.4).abs() < 0.15, "{trace:?}");
    // Of 0.9 to 1.3 times the curve 0.95 to 1.1 is left: (0.15 / 0.4)^2 = 0.14 of the variance that the factor makes.
    let interleaved = how(&steps, "--modes interleaved").unwrap();
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
        let words = narrows.to_string();
        let ends: Vec<&str> = words.split_whitespace().collect();
        assert!(ends[1] != ends[4], "{words}");
    }
    // The curve in the engine's mode is asked for, since the one that was given is no evidence.
    assert!(how(&steps, "allreduce-bench").is_some_and(|step| step.narrows.is_some()));
}

#[test]
fn what_was_given_is_not_asked_for() {
    let all = steps(&rtxpro6000_mig());
    let asks = ["nsys", "half-model", "five starts of each server"];
    for part in &asks[..2] {
        assert!(how(&all, part).is_some(), "{part}: {all:?}");
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
        assert!(how(&left, part).is_none(), "{part}: {left:?}");
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
fn commands_carry_the_runs_own_model_lengths_and_load() {
    let all = steps(&rtxpro6000_mig());
    let load = "--concurrency 16 --requests 64 --input-tokens 89 --output-tokens 256";
    let half = how(&all, "half-model").unwrap();
    // The vision part keeps flags from the language part, so its configuration is written.
    assert_eq!(
        half.how,
        format!(
            "serve-bench half-model --model qwen2.5-vl-72b-fp8 --tp 2 --run {load} --write half-width"
        )
    );
    // 89 + 256 tokens and a template's 64 are 409: 512.
    let ablate = how(&all, "serve-bench ablate").unwrap();
    assert!(
        ablate.how.starts_with(&format!(
            "serve-bench ablate --model qwen2.5-vl-72b-fp8 --tp 2 {load} -- vllm serve RedHatAI/Qwen2.5-VL-72B-Instruct-FP8-Dynamic --max-model-len 512 ("
        )),
        "{}",
        ablate.how
    );
    // A model that was named by its folder, on an engine without graphs.
    let mut own = rtxpro6000_mig();
    own.seen.model_given = Some("/my models/vl/config.json".to_owned());
    for (_, run) in &mut own.serve {
        run.model = Some("/my models/vl".to_owned());
    }
    for engine in &mut own.engines {
        engine.execution = Execution::Eager;
    }
    let all = steps(&own);
    let ablate = how(&all, "serve-bench ablate").unwrap();
    assert!(
        ablate
            .how
            .contains("--model '/my models/vl/config.json' --tp 2")
            && ablate
                .how
                .contains("-- vllm serve '/my models/vl' --enforce-eager"),
        "{}",
        ablate.how
    );
    // A simulated case is gone on with on its box.
    for (_, run) in &mut own.serve {
        run.simulated = Some("rtxpro6000-mig".to_owned());
    }
    own.known.links_of = Some("rtxpro6000-mig".to_owned());
    let soft = how(&steps(&own), "serve-bench ablate").unwrap().how.clone();
    assert!(
        soft.contains("--sim rtxpro6000-mig") && !soft.contains("vllm"),
        "{soft}"
    );
}

#[test]
fn an_interleaved_curve_needs_no_second_one() {
    let steps = steps(&with_curve(CallMode::Interleaved));
    assert!(how(&steps, "allreduce-bench").is_none(), "{steps:?}");
}

#[test]
fn every_step_says_what_it_takes_and_none_claims_to_widen() {
    for inputs in [rtxpro6000_mig(), with_curve(CallMode::Graph)] {
        let steps = steps(&inputs);
        assert!(steps.iter().all(|step| step.minutes.is_some()));
        let narrows: Vec<_> = steps.iter().filter_map(|step| step.narrows).collect();
        assert!(narrows.iter().all(|of| of.after_ms <= of.now_ms));
        // The narrowest comes first; of those within a twentieth of today's width the quickest.
        let told: Vec<_> = steps.iter().filter(|step| step.narrows.is_some()).collect();
        for pair in told.windows(2) {
            let [a, b] = [pair[0], pair[1]].map(|step| step.narrows.unwrap());
            let is_quicker = pair[0].minutes <= pair[1].minutes;
            let alike = a.after_ms - b.after_ms <= 0.05 * a.now_ms;
            assert!(
                a.after_ms <= b.after_ms || (alike && is_quicker),
                "{steps:?}"
            );
        }
        // Those without a share stand behind those with one.
        let first = steps.iter().position(|step| step.narrows.is_none());
        assert!(
            first.is_none_or(|first| first == narrows.len()),
            "{steps:?}"
        );
    }
}

#[test]
fn case_2_says_in_its_text_what_the_half_model_would_settle() {
    let words = text(&explain::explain(&rtxpro6000_mig(), 1, 4000));
    let line = words.lines().find(|line| line.contains("half-width GEMMs"));
    let line = line.unwrap();
    assert!(
        line.contains("of the variance of communication as reported: from"),
        "{line}"
    );
    assert!(line.contains("minutes"), "{line}");
    // A start of 5 minutes, and runs of 62.9 and 47.1 s: 0.9 minutes.
    assert!(line.contains("about 6 minutes"), "{line}");
}

#[test]
fn on_a_soft_box_times_are_those_of_its_engine_and_a_trace_needs_a_real_server() {
    let real = rtxpro6000_mig();
    let mut soft = real.clone();
    for (_, run) in &mut soft.serve {
        run.simulated = Some("rtxpro6000-mig".to_owned());
    }
    soft.known.links_of = Some("rtxpro6000-mig".to_owned());
    let steps = steps(&soft);
    // A start of 0.1 minutes and runs of 62.9 and 47.0 s, 55.0 in the mean, are 61 s.
    let half = how(&steps, "half-model").unwrap();
    assert_eq!(half.takes().as_deref(), Some("about 61 s"));
    let trace = how(&steps, "nsys").unwrap();
    assert!(trace.how.contains("needs a real server"), "{trace:?}");
    // 5 + 0.9 + 2.
    assert_eq!(trace.takes().as_deref(), Some("about 8 minutes"));
    let of_real = self::steps(&real);
    assert!(!how(&of_real, "nsys").unwrap().how.contains("needs a real"));
}

#[test]
fn an_ablation_is_promised_grade_b_only_where_it_would_raise_one() {
    let raises = |inputs: &Inputs| {
        let steps = steps(inputs);
        how(&steps, "serve-bench ablate").unwrap().raises.clone()
    };
    let why = |inputs: &Inputs| match raises(inputs) {
        Some(Raises::Not { why }) => why,
        other => panic!("{other:?}"),
    };
    let graph = with_curve(CallMode::Graph);
    assert_eq!(raises(&graph), Some(Raises::ToB));
    let none = why(&rtxpro6000_mig());
    assert!(none.contains("without a curve of this box"), "{none}");
    let eager = why(&with_curve(CallMode::BackToBack));
    assert!(
        eager.contains("evidence for the all-reduces is D"),
        "{eager}"
    );
    // 55 us at 256 KiB, and 50 at 512: 1.1 times.
    let mut dips = graph.clone();
    dips.curve
        .push(point(CollectiveKind::AllReduce, 512 << 10, 50.0));
    let dips = why(&dips);
    assert!(
        dips.contains("sizes of the curve that are in doubt"),
        "{dips}"
    );
    // The library's curve, while the engine reduces with a kernel of its own.
    let mut own = graph.clone();
    own.around = nvidia(Some(true), "", 96);
    own.engines = [1, 2].map(|tp| EngineFacts::vllm(tp, &own.around)).to_vec();
    own.known.mig = false;
    own.known.peers = vec![PeerVerdict::Direct; 2];
    let own = why(&own);
    assert!(own.contains("evidence for the all-reduces is D"), "{own}");
    let mut versions = graph;
    for (run, version) in versions.serve.iter_mut().zip(["0.12.0", "0.13.0"]) {
        run.1.conditions.version = Some(version.to_owned());
    }
    let versions = why(&versions);
    assert!(
        versions.contains(
            "while the runs differ in more than the number of GPUs: not the same engine version"
        ),
        "{versions}"
    );
    let traced = {
        let mut inputs = with_curve(CallMode::Graph);
        inputs.evidence.trace = Some(traced());
        why(&inputs)
    };
    assert!(traced.contains("measured already"), "{traced}");
}
