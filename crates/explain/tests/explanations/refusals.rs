//! What cannot be explained is refused for the right reason.

use crate::explanations::boxes::{mean, nvidia, rtxpro6000_mig, run};
use crate::explanations::planted::streamed;
use crate::explanations::said;
use explain::{Evidence, Inputs, KnownBox, Priors, Seen, Verdict, attribute, explain, gates, text};
use measure::import::collectives::Trouble;
use measure::import::{ServeRun, Spread};
use tp_plan::{EngineFacts, ModelFacts, Surroundings, Vendor};

/// Two of four L40, gpt-oss-120b, 1000 requests all at once, 1024 in, at most 128 out.
fn l40x4() -> Inputs {
    let around = nvidia(None, "", 45);
    let mut run = run(2, 1000, 92.72);
    run.streamed = true;
    run.model = Some("openai/gpt-oss-120b".to_owned());
    run.request_rate_asked = Some(f64::INFINITY);
    run.input_tokens = Some(1_022_592);
    run.output_tokens = Some(52_897);
    run.output_tokens_asked = Some(128);
    let of = |average, median, p99| {
        Some(Spread {
            median: Some(median),
            p99: Some(p99),
            ..mean(average)
        })
    };
    run.ttft_ms = of(44_668.95, 44_620.76, 88_297.92);
    run.tpot_ms = of(162.63, 170.06, 172.12);
    run.itl_ms = of(156.0, 170.0, 173.31);
    Inputs {
        model: ModelFacts::builtin("gpt-oss-120b").unwrap(),
        tp: 2,
        engines: vec![EngineFacts::vllm(2, &around)],
        serve: vec![(2, run)],
        curve: vec![],
        troubles: vec![],
        around,
        known: KnownBox {
            gpu: Some("NVIDIA L40".to_owned()),
            ..KnownBox::default()
        },
        evidence: Evidence::default(),
        seen: Seen::default(),
        priors: Priors::builtin().unwrap(),
    }
}

/// What a gate saw, and its verdict; the first of that name.
fn gate(inputs: &Inputs, name: &str) -> (Verdict, String) {
    let gate = said::gate(inputs, name);
    let is_open = matches!(gate.verdict, Verdict::Failed | Verdict::Unknown);
    assert_eq!(gate.what_to_run.is_some(), is_open);
    (gate.verdict, gate.seen)
}

#[test]
fn case_1_is_refused_because_it_is_prefill() {
    let inputs = l40x4();
    // 1,022,592 / 2048 = 499.3 steps at least carry prefill; 92.72 s / 170.0 ms = 545.4 steps: 91.5%.
    let (verdict, seen) = gate(&inputs, "pure decode");
    assert_eq!(verdict, Verdict::Failed);
    assert!(seen.starts_with("91.5% of about 545 steps"), "{seen}");
    assert_eq!(gate(&inputs, "closed loop").0, Verdict::Failed);
    assert_eq!(gate(&inputs, "fixed output length").0, Verdict::Failed);
    let refusal = attribute(&inputs, 1, 100).unwrap_err();
    assert!(
        refusal.to_string().contains("pure decode, TP2: 91.5%"),
        "{refusal}"
    );
    let words = text(&explain(&inputs, 1, 100));
    assert!(
        words.starts_with("Nothing can be explained yet: "),
        "{words}"
    );
}

#[test]
fn files_of_another_model_tell_not_even_a_bound() {
    let mut inputs = l40x4();
    assert!(!explain(&inputs, 1, 100).bounded.is_empty());
    inputs.model = ModelFacts::builtin("llama-3.1-8b").unwrap();
    assert_eq!(gate(&inputs, "the model asked about").0, Verdict::Failed);
    let refused = explain(&inputs, 1, 100);
    assert!(refused.bounded.is_empty() && refused.first_token.is_none());
}

/// Four MXC500, Qwen2.5-72B at TP4, 100 in flight asked, with three NUMA bindings.
fn mxc500x4(of: &[(f64, f64, u64, u64)]) -> Inputs {
    let around = Surroundings {
        vendor: Vendor::Metax,
        architecture: None,
        ..nvidia(None, "", 64)
    };
    let serve = of.iter().map(|(rate, latency_s, completed, failed)| {
        let mut run: ServeRun = run(4, *completed, *completed as f64 / rate);
        run.concurrency_asked = Some(100.0);
        run.failed = Some(*failed);
        run.e2el_ms = Some(mean(latency_s * 1e3));
        (4, run)
    });
    Inputs {
        model: ModelFacts::builtin("qwen2.5-72b").unwrap(),
        tp: 4,
        engines: vec![EngineFacts::vllm(4, &around)],
        serve: serve.collect(),
        curve: vec![],
        troubles: vec![],
        around,
        known: KnownBox::default(),
        evidence: Evidence::default(),
        seen: Seen::default(),
        priors: Priors::builtin().unwrap(),
    }
}

#[test]
fn case_5_is_refused_because_slots_were_empty_and_requests_failed() {
    let inputs = mxc500x4(&[
        (0.766, 73.051, 426, 48),
        (0.869, 71.212, 443, 37),
        (0.653, 71.199, 423, 37),
    ]);
    // 0.766 * 73.051 = 56.0, 0.869 * 71.212 = 61.9, 0.653 * 71.199 = 46.5 of 100.
    let all = gates(&inputs);
    let flight: Vec<(Verdict, &str)> = all
        .iter()
        .filter(|gate| gate.name.starts_with("requests in flight"))
        .map(|gate| (gate.verdict, gate.seen.as_str()))
        .collect();
    let seen = |n, part| {
        (
            Verdict::Failed,
            format!("{n} in flight of 100 asked, {part} of it"),
        )
    };
    let wanted = [
        seen("56.0", "0.56"),
        seen("61.9", "0.62"),
        seen("46.5", "0.46"),
    ];
    let flight: Vec<(Verdict, String)> = flight
        .into_iter()
        .map(|(verdict, seen)| (verdict, seen.to_owned()))
        .collect();
    assert_eq!(flight, wanted);
    let refusal = attribute(&inputs, 1, 100).unwrap_err().to_string();
    assert!(refusal.contains("48 of 474 requests failed"), "{refusal}");
    assert!(refusal.contains("37 of 460 requests failed"), "{refusal}");
}

#[test]
fn an_open_loop_has_no_equal_batch() {
    // One request a second at both sizes: the faster server holds fewer, 11.0 against 5.6 in flight.
    let mut inputs = rtxpro6000_mig();
    for ((_, run), in_flight) in inputs.serve.iter_mut().zip([11.0, 5.6]) {
        run.concurrency_asked = None;
        run.request_rate_asked = Some(1.0);
        run.requests_per_s = 1.0;
        run.e2el_ms = Some(mean(in_flight * 1e3));
    }
    let (verdict, seen) = gate(&inputs, "batch equal");
    assert_eq!(
        (verdict, seen.as_str()),
        (
            Verdict::Failed,
            "11.0 in flight in tp1.json and 5.6 in flight in tp2.json"
        )
    );
    assert_eq!(gate(&inputs, "closed loop").0, Verdict::Failed);
}

#[test]
fn one_size_alone_has_no_speed_up_to_explain() {
    let mut inputs = rtxpro6000_mig();
    inputs.serve.truncate(1);
    let (verdict, seen) = gate(&inputs, "a run of one GPU");
    assert_eq!(
        (verdict, seen.as_str()),
        (Verdict::Failed, "results of TP1: 1, of TP2: 0")
    );
    assert!(attribute(&inputs, 1, 100).is_err());
    inputs.tp = 1;
    assert!(attribute(&inputs, 1, 100).is_err());
}

#[test]
fn measured_and_simulated_files_are_not_mixed() {
    let mut inputs = rtxpro6000_mig();
    inputs.serve[1].1.simulated = Some("rtxpro6000-mig".to_owned());
    let (verdict, seen) = gate(&inputs, "measured or simulated");
    assert_eq!(
        (verdict, seen.as_str()),
        (Verdict::Failed, "measured and rtxpro6000-mig")
    );
    inputs.serve[0].1.simulated = Some("rtxpro6000-mig".to_owned());
    // The links, too: those of a real box say nothing about a simulated one.
    assert_eq!(gate(&inputs, "measured or simulated").0, Verdict::Failed);
    inputs.known.links_of = Some("rtxpro6000-mig".to_owned());
    assert_eq!(gate(&inputs, "measured or simulated").0, Verdict::Passed);
    let words = text(&explain(&inputs, 1, 2000));
    assert!(
        words.starts_with("SIMULATED on the soft box rtxpro6000-mig"),
        "{words}"
    );
}

#[test]
fn a_short_run_may_leave_slots_empty_at_its_end_and_no_more() {
    // 40 requests of equal length and 16 slots: three waves, the last of 8: 40 / 3 = 13.3 in flight on average.
    let mut inputs = rtxpro6000_mig();
    let run = &mut inputs.serve[0].1;
    (run.completed, run.output_tokens, run.input_tokens) = (40, Some(40 * 256), Some(40 * 89));
    run.requests_per_s = 40.0 / (3.0 * 15.7242);
    assert_eq!(gate(&inputs, "requests in flight, TP1").0, Verdict::Passed);
    // 0.95 * 13.33 = 12.67 is the least.
    inputs.serve[0].1.requests_per_s = 12.6 / 15.7242;
    assert_eq!(gate(&inputs, "requests in flight, TP1").0, Verdict::Failed);
}

#[test]
fn what_no_file_says_is_a_reservation_and_not_a_refusal() {
    let mut inputs = rtxpro6000_mig();
    inputs.serve[0].1.failed = None;
    inputs.serve[0].1.model = None;
    assert_eq!(gate(&inputs, "no failures, TP1").0, Verdict::Unknown);
    assert_eq!(gate(&inputs, "same model").0, Verdict::Unknown);
    let caveats = attribute(&inputs, 1, 1000).unwrap().caveats;
    assert!(
        caveats
            .iter()
            .any(|caveat| caveat.starts_with("no failures, TP1")),
        "{caveats:?}"
    );
}

#[test]
fn wrong_sums_refuse_and_a_hang_is_a_reservation() {
    let mut inputs = rtxpro6000_mig();
    let trouble = |wrong_data, words: &str| Trouble {
        wrong_data,
        words: words.to_owned(),
    };
    inputs.troubles = vec![trouble(false, "all_reduce of 1 MiB, graph: hang")];
    assert_eq!(gate(&inputs, "collectives are right").0, Verdict::Unknown);
    assert!(attribute(&inputs, 1, 2000).is_ok());
    inputs
        .troubles
        .push(trouble(true, "all_reduce of 256 KiB, graph: wrong data"));
    let (verdict, seen) = gate(&inputs, "collectives are right");
    assert_eq!(verdict, Verdict::Failed);
    assert!(seen.contains("256 KiB"), "{seen}");
    assert!(attribute(&inputs, 1, 2000).is_err());
}

#[test]
fn a_model_that_cannot_have_run_there_is_refused() {
    // 75 GB of weights on a GPU of 48 GB.
    let mut inputs = rtxpro6000_mig();
    inputs.around.memory_bytes = Some(48_000_000_000);
    assert_eq!(gate(&inputs, "weights fit").0, Verdict::Failed);
    // A file that names another model than the one asked about.
    let mut inputs = rtxpro6000_mig();
    inputs.serve[0].1.model = Some("meta-llama/Llama-3.1-8B".to_owned());
    inputs.serve[1].1.model = Some("meta-llama/Llama-3.1-8B".to_owned());
    assert_eq!(gate(&inputs, "the model asked about").0, Verdict::Failed);
    // One file for both sizes.
    let mut inputs = rtxpro6000_mig();
    inputs.serve[1].1 = inputs.serve[0].1.clone();
    assert_eq!(gate(&inputs, "a run of one GPU").0, Verdict::Failed);
    // 72.7 GB of weights in 0.1 ms are 727 TB/s.
    let mut inputs = rtxpro6000_mig();
    for (_, run) in &mut inputs.serve {
        if let Some(latency) = &mut run.e2el_ms {
            latency.mean /= 600.0;
        }
    }
    assert_eq!(gate(&inputs, "a step can read").0, Verdict::Failed);
}

#[test]
fn several_tokens_a_step_are_refused_and_a_few_are_a_reservation() {
    // Gaps of 24.0 ms beside 11.9 ms a token: a chunk held 2.02; 13.09 beside 11.9 are 1.10.
    let with = |gap: f64, drafted: Option<&str>| {
        let mut inputs = rtxpro6000_mig();
        inputs.serve = vec![streamed(1, 60.9, 0.0), streamed(2, 45.3, 0.0)];
        let run = &mut inputs.serve[1].1;
        let gaps = run.tpot_ms.unwrap();
        run.itl_ms = Some(Spread {
            mean: gaps.mean * gap / 11.9,
            median: Some(gaps.mean),
            ..gaps
        });
        run.conditions.drafted = drafted.map(str::to_owned);
        let gates = gates(&inputs);
        let name = "one token a step, TP2";
        let gate = gates.iter().find(|gate| gate.name == name).unwrap();
        let refused = attribute(&inputs, 1, 500).is_err();
        (gate.verdict, gate.seen.clone(), refused)
    };
    let (verdict, seen, refused) = with(24.0, None);
    assert_eq!((verdict, refused), (Verdict::Failed, true));
    // 45.3 * 24.0 / 11.9 = 91.36.
    assert!(
        seen.starts_with(
            "a chunk held 2.02 tokens in the mean (mean ITL 91.36 ms, mean TPOT 45.30 ms): several"
        ),
        "{seen}"
    );
    assert_eq!(with(13.09, None).0, Verdict::Unknown);
    assert_eq!(with(11.9, None).0, Verdict::Passed);
    // 7.14 of 11.9 are 0.60 of a token, which no chunk holds: one of the two is something else.
    let (verdict, seen, refused) = with(7.14, None);
    assert_eq!((verdict, refused), (Verdict::Unknown, false));
    assert!(
        seen.contains(
            "0.60 tokens in the mean (mean ITL 27.18 ms, mean TPOT 45.30 ms): less than one"
        ),
        "{seen}"
    );
    let (verdict, seen, refused) = with(11.9, Some("accept_length = 2.50"));
    assert_eq!((verdict, refused), (Verdict::Failed, true));
    assert!(seen.contains("accept_length = 2.50"), "{seen}");
}
