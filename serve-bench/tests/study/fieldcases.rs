//! `explain` on the figures that others measured by hand, as files.

use crate::study::common::{Ran, Scratch, bar, range};

/// A result of 64 requests of 256 tokens that were not streamed, 16 in flight.
fn result(scratch: &Scratch, name: &str, numbers: [f64; 9]) -> String {
    let [rate, prompt, output, p50, p95, mean, min, max, total] = numbers;
    let text = serde_json::json!({
        "model": "Qwen2.5-VL-72B-Instruct-FP8", "concurrency": 16, "num_requests": 64, "max_tokens": 256,
        "requests_per_s": rate, "prompt_tokens_per_s": prompt, "output_tokens_per_s": output,
        "latency_p50_s": p50, "latency_p95_s": p95, "latency_mean_s": mean, "latency_min_s": min, "latency_max_s": max,
        "total_time_s": total,
    });
    scratch.write(name, &text.to_string())
}

/// Two GPUs without peers: Qwen2.5-VL-72B FP8 on two RTX Pro 6000 with MIG forced on, not streamed, 16 in flight, 64 requests of 256 tokens.
fn case_2(scratch: &Scratch) -> [String; 2] {
    [
        result(
            scratch,
            "tp1.json",
            [
                1.0171, 90.5189, 260.3688, 15.6923, 15.8496, 15.7242, 15.6644, 15.8615, 62.9261,
            ],
        ),
        result(
            scratch,
            "tp2.json",
            [
                1.3594, 120.9863, 348.0055, 11.7613, 11.7944, 11.7622, 11.7284, 11.7997, 47.0797,
            ],
        ),
    ]
}

fn explain_case_2(scratch: &Scratch, more: &[&str]) -> Ran {
    let [tp1, tp2] = case_2(scratch);
    let arguments = [
        "explain",
        "--tp1",
        &tp1,
        "--tp2",
        &tp2,
        "--box",
        "rtxpro6000-mig",
        "--model",
        "qwen2.5-vl-72b-fp8",
        "--max-num-seqs",
        "32",
        "--out",
        "out",
    ];
    scratch.run(&[&arguments, more].concat())
}

#[test]
fn field_case_2_is_explained_as_it_was_by_hand() {
    let scratch = Scratch::new();
    let ran = explain_case_2(&scratch, &[]);
    ran.expect(0);
    let explanation = scratch.json("out/explanation.json");
    let attribution = &explanation["outcome"]["attribution"];
    // Worked out by hand with the same public figures: 5% and 95% of each part, ms a step, and us of an all-reduce of 256 KiB.
    for (name, value, by_hand) in [
        (
            "narrow GEMMs",
            &bar(&explanation, "narrow_gemm")["ms"],
            (0.9, 4.5),
        ),
        (
            "never sharded",
            &bar(&explanation, "unsharded")["ms"],
            (1.1, 2.1),
        ),
        (
            "communication",
            &bar(&explanation, "communication")["ms"],
            (8.5, 12.7),
        ),
        ("remainder", &attribution["remainder"], (8.5, 12.7)),
        (
            "one all-reduce",
            &attribution["implied"]["us"],
            (51.0, 77.0),
        ),
    ] {
        let (low, _, high) = range(value);
        assert!(
            low < by_hand.1 && by_hand.0 < high,
            "{name}: [{low}, {high}] and {by_hand:?}"
        );
        // An interval that is much wider would overlap with anything.
        assert!(
            high - low < 2.0 * (by_hand.1 - by_hand.0),
            "{name}: [{low}, {high}] and {by_hand:?}"
        );
    }
    assert_eq!(attribution["implied"]["bytes_per_rank"], 262_144);
    // The screen is short, and its lines fit but for commands, which are copied whole.
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(lines.len() <= 25, "{}", ran.stdout);
    let is_command = |line: &&str| line.starts_with("      ");
    let fits = lines
        .iter()
        .filter(|line| !is_command(line))
        .all(|line| line.chars().count() <= 100);
    assert!(fits, "{}", ran.stdout);
    assert!(ran.stdout.contains("1.34x"), "{}", ran.stdout);
    for never in ["enable p2p", "enable peer", "nccl_p2p_level"] {
        assert!(!ran.stdout.to_lowercase().contains(never), "{}", ran.stdout);
    }
}

#[test]
fn a_prior_that_is_changed_moves_the_interval_as_arithmetic_says() {
    let scratch = Scratch::new();
    // By hand nothing was counted for one process a rank.
    let given = [
        "--prior",
        "gemm_speedup=2.0..2.0",
        "--prior",
        "executor_ms=0",
    ];
    explain_case_2(&scratch, &given).expect(0);
    let explanation = scratch.json("out/explanation.json");
    let (_, loss, _) = range(&bar(&explanation, "narrow_gemm")["ms"]);
    assert!(loss.abs() < 1e-9, "GEMMs that halve lose nothing: {loss}");
    // What they lost before is left over: worked out by hand, an all-reduce of 81 us instead of 64.
    let (low, mid, high) = range(&explanation["outcome"]["attribution"]["implied"]["us"]);
    assert!(
        (mid - 81.0).abs() < 3.0 && low < 81.0 && 81.0 < high,
        "{low} {mid} {high}"
    );
    let wrong = explain_case_2(&scratch, &["--prior", "gemm_speedup=fast"]);
    wrong.expect(2);
    let unknown = explain_case_2(&scratch, &["--prior", "no_such=1..2"]);
    unknown.expect(2);
    assert!(unknown.stderr.contains("no_such"), "{}", unknown.stderr);
    // Name and form.
    let says = "`gemm_speedup=fast` is no prior; write NAME=LOW..HIGH";
    assert!(wrong.stderr.contains(says), "{}", wrong.stderr);
}

/// The model at half width, made up: 64 requests in four waves of that latency.
fn half(scratch: &Scratch, latency_s: f64) -> String {
    let rate = 16.0 / latency_s;
    let (low, high) = (0.999 * latency_s, 1.001 * latency_s);
    let numbers = [
        rate,
        rate * 89.0,
        rate * 256.0,
        latency_s,
        high,
        latency_s,
        low,
        high,
        64.0 / rate,
    ];
    // Served under a name that says what it is.
    let file = result(scratch, "half.json", numbers);
    let text = std::fs::read_to_string(&file).unwrap();
    scratch.write("half.json", &text.replace("-FP8\"", "-FP8-half-tp2\""))
}

#[test]
fn a_half_width_model_and_a_trace_are_read_from_files() {
    let scratch = Scratch::new();
    let file = half(&scratch, 8.7);
    let ran = explain_case_2(&scratch, &["--half", &file]);
    ran.expect(0);
    let explanation = scratch.json("out/explanation.json");
    assert_eq!(bar(&explanation, "communication")["grade"], "A");
    // (11.7622 - 8.7) s over 256 tokens are 11.96 ms, and (8.7 - 15.7242 / 2) s are 3.3 ms; some of it may be prefill.
    let half_model = &explanation["outcome"]["attribution"]["half"];
    let (low, _, high) = range(&half_model["difference"]);
    assert!(
        low < 11.96 && 11.96 < high + 0.1 && high - low < 3.0,
        "{half_model}"
    );
    let (low, _, high) = range(&half_model["loss"]);
    assert!(low < 3.3 && 3.3 < high + 0.1, "{half_model}");
    // A trace of ten steps with 161 all-reduces of 60 us and one all-gather of 300 us.
    let trace = scratch.write(
        "trace.csv",
        "\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\",\"MinNs\",\"MaxNs\",\"StdDev\"\n\
         \"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)\",1610,96600000,60000.0,97.0,1,2,600.0\n\
         \"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)\",10,3000000,300000.0,3.0,1,2,600.0\n",
    );
    explain_case_2(&scratch, &["--trace", &trace]).expect(0);
    let explanation = scratch.json("out/explanation.json");
    let (low, _, high) = range(&bar(&explanation, "all_reduce")["ms"]);
    // 161 * 60 us = 9.66 ms, times 0.9 to 1.05.
    assert!(low > 8.6 && high < 10.3, "{low} {high}");
}

#[test]
fn evidence_of_another_load_is_found_and_of_another_form_is_refused() {
    let scratch = Scratch::new();
    for latency_s in [12.5, 7.0] {
        let file = half(&scratch, latency_s);
        explain_case_2(&scratch, &["--half", &file]);
        let explanation = scratch.json("out/explanation.json");
        let codes = explanation["findings"].to_string();
        assert!(codes.contains("shard-out-of-bounds"), "{codes}");
    }
    let [tp1, _] = case_2(&scratch);
    let ran = explain_case_2(&scratch, &["--trace", &tp1]);
    ran.expect(2);
    assert!(
        ran.stderr.contains("--trace") && ran.stderr.contains("no format"),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.stderr.trim().lines().count(), 1, "{}", ran.stderr);
    explain_case_2(&scratch, &["--half", "no-such-file.json"]).expect(2);
}

/// A run of prompts, as vLLM printed it: gpt-oss-120b on two of four L40, 1000 requests of 1024 tokens at once.
const CASE_1: &str = "============ Serving Benchmark Result ============
Successful requests:                     1000
Benchmark duration (s):                  92.72
Total input tokens:                      1022592
Total generated tokens:                  52897
Request throughput (req/s):              10.79
Output token throughput (tok/s):         570.52
Peak output token throughput (tok/s):    1799.00
Peak concurrent requests:                1000.00
Total Token throughput (tok/s):          11599.66
---------------Time to First Token----------------
Mean TTFT (ms):                          44668.95
Median TTFT (ms):                        44620.76
P99 TTFT (ms):                           88297.92
-----Time per Output Token (excl. 1st token)------
Mean TPOT (ms):                          162.63
Median TPOT (ms):                        170.06
P99 TPOT (ms):                           172.12
---------------Inter-token Latency----------------
Mean ITL (ms):                           156.00
Median ITL (ms):                         170.00
P99 ITL (ms):                            173.31
==================================================
";

#[test]
fn field_case_1_is_refused_because_its_steps_are_prefill() {
    let scratch = Scratch::new();
    let tp2 = scratch.write("tp2.txt", CASE_1);
    let ran = scratch.run(&[
        "explain",
        "--tp2",
        &tp2,
        "--box",
        "l40x4",
        "--model",
        "gpt-oss-120b",
        "--out",
        "out",
    ]);
    ran.expect(3);
    let explanation = scratch.json("out/explanation.json");
    let findings = explanation["findings"].as_array().unwrap();
    let codes: Vec<&str> = findings
        .iter()
        .map(|of| of["code"].as_str().unwrap())
        .collect();
    assert_eq!(
        explanation["outcome"]["refusal"]["reasons"][0]["code"],
        "size-missing"
    );
    assert!(codes.contains(&"prefill-in-steps"), "{codes:?}");
    // 1022592 prompt tokens are 500 steps of 2048; 92.72 s of 170 ms each are 545: 92% carry a prompt.
    let prefill = findings
        .iter()
        .find(|of| of["code"] == "prefill-in-steps")
        .unwrap();
    assert!(
        (prefill["share"].as_f64().unwrap() - 0.92).abs() < 0.01,
        "{prefill}"
    );
}

#[test]
fn field_case_5_is_refused_because_fewer_were_in_flight_than_asked_and_some_failed() {
    let scratch = Scratch::new();
    // MXC500 with CPUs and memory of node 0: 480 done of which 37 failed, 100 asked to be in flight.
    let tp4 = scratch.write(
        "tp4.json",
        r#"{"Total requests": 480, "Succeed requests": 443, "Failed requests": 37, "Number of concurrency": 100,
            "Average QPS": 0.869, "Average latency (s)": 71.212, "Output token throughput (tok/s)": 609.616, "Time taken for tests (s)": 509.78}"#,
    );
    let ran = scratch.run(&[
        "explain",
        "--tp4",
        &tp4,
        "--box",
        "mxc500x4",
        "--model",
        "qwen2.5-72b",
        "--out",
        "out",
    ]);
    ran.expect(3);
    let explanation = scratch.json("out/explanation.json");
    let findings = explanation["findings"].as_array().unwrap();
    let of = |code: &str| findings.iter().find(|of| of["code"] == code).unwrap();
    assert_eq!(of("requests-failed")["failed"], 37);
    // 0.869 * 71.212 = 61.9 of 100.
    assert!((of("in-flight-off")["seen"].as_f64().unwrap() - 61.9).abs() < 0.1);
}
