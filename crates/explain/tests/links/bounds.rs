//! What refused cases still tell, and first tokens, on the figures that users reported.

use crate::links::cases::{inputs, near, nvidia, point, run, timed};
use explain::{Bounded, ChunkBound, Inputs, Outcome, bounded, explain, first_token, text};
use measure::import::{ServeRun, Spread};
use measure::record::CallMode;
use tp_plan::{EngineFacts, Surroundings, Vendor};

/// Two of four L40, gpt-oss-120b, 1000 prompts of 1024 tokens at once.
fn l40x4() -> Inputs {
    let around = Surroundings {
        architecture: Some("sm_89".to_owned()),
        memory_bytes: Some(45 << 30),
        ..nvidia(None)
    };
    let mut prompts = run("tp2.txt", 2, 1, 1024, 44_668.95, 162.63);
    prompts.concurrency_asked = None;
    prompts.request_rate_asked = Some(f64::INFINITY);
    prompts.completed = 1000;
    prompts.duration_s = 92.72;
    prompts.requests_per_s = 10.79;
    prompts.input_tokens = Some(1_022_592);
    prompts.output_tokens = Some(52_897);
    prompts.fixed_output = Some(false);
    prompts.e2el_ms = None;
    prompts.itl_ms = Some(Spread {
        median: Some(170.0),
        ..timed(156.0)
    });
    let mut inputs = inputs("gpt-oss-120b", 2, around, vec![prompts], vec![]);
    inputs.known.gpu = Some("NVIDIA L40".to_owned());
    inputs
}

#[track_caller]
fn chunks(inputs: &Inputs) -> Box<ChunkBound> {
    match bounded(inputs).as_slice() {
        [Bounded::PrefillChunks { bound }] => bound.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_l40_step_is_a_chunk_and_both_paths_fit_it() {
    let bound = chunks(&l40x4());
    // (1,022,592 + 52,897) / 2048 = 525.1 steps; 92.72 s / 525.1 = 176.6 ms.
    near(bound.steps, 525.1, 0.1);
    near(bound.step_ms, 176.6, 0.1);
    // 2048 * 2880 * 2 = 11.8 MB, and 2048 * 3072 * 2 = 12.6 MB after the experts' padding.
    let reduces: Vec<(u32, u64)> = bound
        .all_reduces
        .iter()
        .map(|of| (of.count, of.bytes_per_rank))
        .collect();
    assert_eq!(reduces, [(37, 11_796_480), (36, 12_582_912)]);
    let [peer, staged] = bound.paths.as_slice() else {
        panic!("{bound:?}");
    };
    // The published curve at these sizes: 601 and 640 us; 37 * 0.601 + 36 * 0.640 = 45 ms.
    near(peer.ms.mid, 45.3, 0.5);
    // 889 MB at 15 and at 8 GB/s: 59 and 111 ms.
    near(staged.ms.low, 59.3, 0.3);
    near(staged.ms.high, 111.2, 0.3);
    // 2 * 5.1e9 active parameters * 2048 / 2 = 10.4 TFLOP: 87 ms at 120, 116 at 90 TFLOP/s, as worked out by hand.
    near(bound.arithmetic.low, 87.0, 2.0);
    near(bound.arithmetic.high, 116.0, 3.0);
    assert!(peer.fits && staged.fits && !bound.identifiable);
    assert!(
        bound
            .settles
            .contains("allreduce-bench --model gpt-oss-120b --tp 2 --prefill-chunk 2048"),
        "{}",
        bound.settles
    );
    assert!(bound.settles.contains("11.8 MB") && bound.settles.contains("12.6 MB"));
}

/// What is said of the sums.
fn said(inputs: &Inputs, about: &str) -> String {
    let told: Vec<String> = bounded(inputs)
        .iter()
        .flat_map(Bounded::sentences)
        .collect();
    let found = told.iter().find(|sentence| sentence.contains(about));
    found.unwrap_or_else(|| panic!("{about}: {told:?}")).clone()
}

fn with_prior(mut inputs: Inputs, name: &str, low: f64, high: f64) -> Inputs {
    let name = name.to_owned();
    let set = explain::Override { name, low, high };
    inputs.priors.set(set).unwrap();
    inputs
}

#[test]
fn what_is_said_of_the_sums_follows_from_their_intervals() {
    // Arithmetic: 10.58 TFLOP at 120 to 90 TFLOP/s, 88.2 to 117.6 ms. Peer access 45.3: 134 to 163,
    // which ends 14 to 43 ms before the 176.6. Staged 59.3 to 111.2: 148 to 229.
    let one = said(&l40x4(), "of the sums");
    assert!(
        one.starts_with("of the sums, 134 to 163 ms with peer access and 148 to 229 ms staged through host memory, the 177 ms lie only in the one staged through host memory, which points to it and does not prove it"),
        "{one}"
    );
    assert!(
        one.contains("14 to 43 ms of them would make it the step with peer access"),
        "{one}"
    );
    assert!(
        one.contains("NOT identifiable") && one.contains("not in the arithmetic"),
        "{one}"
    );
    // 10.58 TFLOP at 75 TFLOP/s are 141 ms: 186 with peer access.
    let both = said(
        &with_prior(l40x4(), "prefill_tflops", 75.0, 120.0),
        "NOT identifiable",
    );
    assert!(
        both.contains("134 to 186 ms with peer access") && both.contains("all hold the 177 ms"),
        "{both}"
    );
    // At 200 TFLOP/s 53 ms, and 889 MB at 10 GB/s 89 ms: 142 at most.
    let fast = with_prior(l40x4(), "prefill_tflops", 200.0, 220.0);
    let none = said(
        &with_prior(fast, "staged_gb_per_s", 10.0, 15.0),
        "NOT identifiable",
    );
    assert!(
        none.contains("all end before the 177 ms") && none.contains("35 ms at least"),
        "{none}"
    );
    // At 60 TFLOP/s and less 176 ms and more: longer than the step with either path's all-reduces.
    let slow = with_prior(l40x4(), "prefill_tflops", 50.0, 60.0);
    assert!(chunks(&slow).paths.iter().all(|path| !path.fits));
    said(&slow, "no path holds the 177 ms");
}

#[test]
fn a_curve_of_exactly_the_asked_sizes_is_not_asked_for_again() {
    let mut inputs = l40x4();
    let sized = |bytes, us| point(2, bytes, us, CallMode::BackToBack);
    inputs.curve = vec![sized(11_796_480, 850.0)];
    let half = chunks(&inputs).settles;
    assert!(half.contains("allreduce-bench"), "{half}");
    inputs.curve.push(sized(12_582_912, 900.0));
    let both = chunks(&inputs).settles;
    assert!(!both.contains("allreduce-bench"), "{both}");
    assert!(
        both.starts_with("a trace of some steps with prompts (nsys, rocprof)"),
        "{both}"
    );
    // 37 * 0.85 + 36 * 0.9 = 64 ms as the curve has it; with the arithmetic 140 to 200, which hold 177.
    let one = said(&inputs, "one path is left");
    assert!(one.contains("which holds the step"), "{one}");
}

/// What a refusal says to do first.
fn first(inputs: &Inputs) -> String {
    text(&explain(inputs, 1, 200))
        .lines()
        .nth(1)
        .unwrap()
        .to_owned()
}

#[test]
fn sizes_are_advised_that_the_weights_fit() {
    // About 65 GB of weights, 48.3 GB a GPU: 2 and 4 hold them.
    let mut l40 = l40x4();
    l40.known.gpus = Some(4);
    let told = first(&l40);
    assert!(
        told.contains("--tensor-parallel-size 2 and 4, which its weights fit, and explain with --tp2 and --tp4"),
        "{told}"
    );
    // 145 GB, 68.7 GB a GPU: 137 on 2, 275 on 4. Eight are not on a box of four.
    let mut mxc = mxc500x4(&SWEEP[..3]);
    let told = first(&mxc);
    assert!(told.contains("--tensor-parallel-size 4 and 8"), "{told}");
    mxc.known.gpus = Some(4);
    let told = first(&mxc);
    assert!(
        told.contains("no two sizes that its weights fit (4 and 8) are on this box of 4 GPUs")
            && told.contains("--a and --b")
            && told.contains("smaller model")
            && !told.contains("--tensor-parallel-size 1"),
        "{told}"
    );
    // On GPUs of 192 GiB one holds it.
    mxc.around.memory_bytes = Some(192 << 30);
    assert!(first(&mxc).contains("--tensor-parallel-size 1 and 4"));
}

#[test]
fn access_that_a_box_file_promises_proves_no_path() {
    let mut inputs = l40x4();
    inputs.around.peer_access = Some(true);
    // NCCL stages between sockets on some hosts although the driver allows access.
    assert_eq!(chunks(&inputs).paths.len(), 2);
    // Without access there is one path: 59 to 111 ms.
    inputs.around.peer_access = Some(false);
    let bound = chunks(&inputs);
    assert_eq!(bound.paths.len(), 1);
    assert!(bound.identifiable && bound.paths[0].path.contains("staged"));
}

#[test]
fn the_bounds_stand_below_the_refusal_and_read_back() {
    let explanation = explain(&l40x4(), 1, 200);
    assert!(matches!(explanation.outcome, Outcome::Refused { .. }));
    let words = text(&explanation);
    assert!(
        words.starts_with("Nothing can be explained yet: "),
        "{words}"
    );
    assert!(words.contains("NOT identifiable"), "{words}");
    let json = serde_json::to_string(&explanation).unwrap();
    let back: explain::Explanation = serde_json::from_str(&json).unwrap();
    assert_eq!(back.bounded, explanation.bounded);
}

#[test]
fn a_curve_of_this_box_leaves_one_path() {
    let mut inputs = l40x4();
    inputs.curve = vec![
        point(2, 8 << 20, 430.0, CallMode::BackToBack),
        point(2, 16 << 20, 850.0, CallMode::BackToBack),
    ];
    let bound = chunks(&inputs);
    assert_eq!(bound.paths.len(), 1);
    assert!(bound.identifiable);
    // 37 * 0.60 + 36 * 0.64 = 45 ms as the curve has it, times 0.9 to 1.3 in the engine.
    let ms = bound.paths[0].ms;
    assert!(ms.low < 45.0 && 45.0 < ms.high && ms.high < 60.0, "{ms:?}");
}

#[test]
fn a_path_that_leaves_no_room_is_excluded() {
    let mut inputs = l40x4();
    let (name, low, high) = ("staged_gb_per_s".to_owned(), 2.0, 4.0);
    inputs
        .priors
        .set(explain::Override { name, low, high })
        .unwrap();
    // 889 MB at 4 GB/s are 222 ms of a step of 177.
    let bound = chunks(&inputs);
    assert_eq!(
        bound.paths.iter().map(|path| path.fits).collect::<Vec<_>>(),
        [true, false]
    );
    assert!(bound.identifiable);
}

/// Four MXC500 with CPUs and memory of node 0: concurrency asked, requests per second, latency in s, output tokens per second, failed.
const SWEEP: [(f64, f64, f64, f64, u64); 8] = [
    (8.0, 0.37, 20.94, 109.62, 0),
    (16.0, 0.61, 25.73, 179.37, 0),
    (32.0, 0.89, 35.16, 260.32, 0),
    (64.0, 1.08, 55.09, 309.04, 14),
    (100.0, 1.37, 61.88, 385.08, 35),
    (128.0, 1.44, 67.18, 383.47, 78),
    (150.0, 1.48, 70.76, 393.34, 89),
    (200.0, 1.47, 73.5, 364.43, 164),
];

fn mxc500x4(loads: &[(f64, f64, f64, f64, u64)]) -> Inputs {
    let around = Surroundings {
        vendor: Vendor::Metax,
        architecture: None,
        memory_bytes: Some(64 << 30),
        ..nvidia(None)
    };
    let runs = loads
        .iter()
        .map(|(asked, rate, latency_s, tokens, failed)| {
            let completed = 1000 - failed;
            let mut run: ServeRun = run("sweep.json", 4, 8, 64, 200.0, 20.0);
            run.streamed = false;
            (run.ttft_ms, run.tpot_ms, run.input_tokens) = (None, None, None);
            run.concurrency_asked = Some(*asked);
            run.completed = completed;
            run.failed = Some(*failed);
            run.requests_per_s = *rate;
            run.duration_s = completed as f64 / rate;
            run.output_tokens = Some((completed as f64 * tokens / rate) as u64);
            run.e2el_ms = Some(timed(latency_s * 1e3));
            run
        });
    let mut inputs = inputs("qwen2.5-72b", 4, around.clone(), runs.collect(), vec![]);
    inputs.engines = vec![EngineFacts::vllm(4, &around)];
    inputs
}

#[test]
fn the_mxc500_slope_is_no_link_effect() {
    let inputs = mxc500x4(&SWEEP[..6]);
    let told = bounded(&inputs);
    let [Bounded::InFlight { bound }] = told.as_slice() else {
        panic!("{told:?}");
    };
    // 161 all-reduces of 8192 * 2 bytes: 2.64 MB for each sequence of a step.
    assert_eq!(bound.bytes_per_sequence, 161 * 16_384);
    // 8 in flight: 0.37 * 20.94 = 7.7, and 20.94 s / (109.62 / 0.37) tokens = 70.7 ms.
    near(bound.points[0].in_flight, 7.7, 0.1);
    near(bound.points[0].ms_per_token, 70.7, 0.1);
    assert!(bound.points[0].by_latency);
    // Worked out by hand: 2.2 to 2.4 ms for each further sequence, so about 1.2 GB/s.
    let slope = bound.slope_ms.unwrap();
    assert!(slope.low < 2.4 && 2.0 < slope.high, "{slope:?}");
    near(slope.mid, 2.2, 0.2);
    near(bound.slope_gb_per_s.unwrap(), 1.2, 0.15);
    assert_eq!(bound.failed, Some(14 + 35 + 78));
}

#[test]
fn one_load_tells_no_slope_and_the_whole_still_bounds_the_link() {
    let inputs = mxc500x4(&[(100.0, 0.869, 71.212, 609.616, 37)]);
    let explanation = explain(&inputs, 1, 200);
    assert!(matches!(explanation.outcome, Outcome::Refused { .. }));
    let [Bounded::InFlight { bound }] = explanation.bounded.as_slice() else {
        panic!("{:?}", explanation.bounded);
    };
    assert_eq!(bound.slope_ms, None);
    // 61.9 in flight * 2.64 MB = 163 MB in 71.212 s / 701.5 tokens = 101.5 ms: 1.61 GB/s.
    near(bound.whole_gb_per_s, 1.61, 0.02);
    let words = text(&explanation);
    assert!(words.contains("fewer than three loads"), "{words}");
}

#[test]
fn a_time_per_token_stands_before_a_latency_and_failures_in_what_to_do_first() {
    let mut inputs = mxc500x4(&SWEEP[..2]);
    let [first, second] = &mut inputs.serve[..] else {
        panic!("two loads");
    };
    (first.1.streamed, first.1.tpot_ms) = (true, Some(timed(25.1)));
    second.0 = 1;
    let told = bounded(&inputs)[0].sentences();
    // 0.61 * 25.73 = 15.7, and 25.73 s / (179.37 / 0.61) tokens = 87.5 ms.
    assert_eq!(
        told[..2],
        [
            "latency over output tokens, prompts and waiting included, on TP1: 87.5 ms with 15.7 really in flight",
            "time per output token on TP4: 25.1 ms with 7.7 really in flight"
        ]
    );
    let words = text(&explain(&mxc500x4(&SWEEP[..6]), 1, 200));
    // 14 + 35 + 78.
    assert!(
        words.contains("What to do first: find out why requests fail (127 in 3 runs)"),
        "{words}"
    );
    assert!(
        words.contains("TP4; vLLM") && !words.contains("against TP1"),
        "{words}"
    );
}

#[test]
fn a_first_token_alone_is_arithmetic_collectives_and_the_rest() {
    // 72.7e9 parameters less 152064 * 8192 of the embedding: 71.5e9; 2 * 71.5e9 * 1024 / 2 = 73.2 TFLOP, at 100 TFLOP/s 732 ms.
    let curve = vec![point(2, 16 << 20, 1000.0, CallMode::BackToBack)];
    let alone = run("one.json", 2, 1, 1024, 1000.0, 40.0);
    let mut inputs = inputs("qwen2.5-72b", 2, nvidia(None), vec![alone], curve);
    let (name, low, high) = ("prefill_tflops".to_owned(), 100.0, 100.0);
    inputs
        .priors
        .set(explain::Override { name, low, high })
        .unwrap();
    let first = first_token(&inputs, 1, 2_000).unwrap();
    near(first.arithmetic.mid, 732.0, 5.0);
    // 161 all-reduces of 1024 * 8192 * 2 = 16 MiB at 1 ms, times 0.9 to 1.3.
    let sent = first.communication.unwrap();
    assert!(sent.low > 144.0 && sent.high < 211.0, "{sent:?}");
    assert!(sent.low < 161.0 && 161.0 < sent.high, "{sent:?}");
    near(first.left.mid, 1000.0 - 732.0 - 177.0, 10.0);
    // With sixteen in flight a prompt waits, and nothing is said.
    inputs.serve[0].1.concurrency_asked = Some(16.0);
    let why = first_token(&inputs, 1, 10).unwrap_err();
    assert!(why.contains("16 requests were in flight"), "{why}");
}
