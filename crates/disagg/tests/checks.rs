//! The ten printed blocks of a system of two nodes with eight H200 each, against figures that were worked out by hand.

use disagg::{Claim, check, prompt_flops};
use tp_plan::ModelFacts;

/// Input tokens, requests a second, requests, seconds, mean and 90th percentile of TTFT in ms, as printed.
const BLOCKS: [[f64; 6]; 10] = [
    [1024.0, 80.0, 400.0, 26.64, 3798.44, 11270.41],
    [4096.0, 72.0, 360.0, 30.95, 4014.70, 13839.73],
    [8192.0, 65.0, 325.0, 36.78, 3875.87, 17928.26],
    [16384.0, 60.0, 300.0, 45.35, 4181.46, 26969.47],
    [32768.0, 45.0, 225.0, 54.76, 412.94, 521.72],
    [1024.0, 80.0, 400.0, 26.60, 3831.97, 11221.28],
    [4096.0, 72.0, 360.0, 30.76, 3985.90, 13974.44],
    [8192.0, 65.0, 325.0, 37.05, 3985.14, 18310.46],
    [16384.0, 60.0, 300.0, 45.68, 4313.98, 26941.45],
    [32768.0, 35.0, 175.0, 53.38, 846.18, 2006.68],
];

fn codes(block: &[f64; 6]) -> Vec<&'static str> {
    let [tokens, offered, requests, duration, mean, p90] = *block;
    let model = ModelFacts::builtin("qwen3-30b-a3b").unwrap();
    let claim = Claim {
        requests,
        duration_s: duration,
        offered_per_s: Some(offered),
        slots: Some(256.0),
        // 1024 tokens of 12.6 ms at least; all had come after 5 s.
        decode_s: Some(12.9),
        ttft_mean_ms: mean,
        ttft_tail_ms: Some(p90),
        limit_ms: Some(5000.0),
        prompt_flops: Some(prompt_flops(&model, tokens)),
        // Eight H200 in FP8.
        peak_flops: Some(8.0 * 1.979e15),
        ..Claim::default()
    };
    check(&claim).iter().map(disagg::Finding::code).collect()
}

#[test]
fn rates_are_of_bursts_and_slots_are_waited_for() {
    let found: Vec<_> = BLOCKS.iter().map(codes).collect();
    let having = |code| found.iter().filter(|codes| codes.contains(&code)).count();
    // 400 / 26.64 = 15.0 of 80 a second, and so on: none is kept up.
    assert_eq!(having("rate-not-sustained"), 10);
    // More than 256 requests in eight of ten.
    assert_eq!(having("waited-for-slots"), 8);
    assert_eq!(having("slo-by-mean"), 8);
    // The 32k rows, and none but those.
    assert_eq!(found[4], ["rate-not-sustained", "prefill-beyond-peak"]);
    assert_eq!(found[9], ["rate-not-sustained", "prefill-beyond-peak"]);
    assert_eq!(having("prefill-beyond-peak"), 2);
}

#[test]
fn a_prompt_of_32768_tokens_takes_0_62_petaflop() {
    let model = ModelFacts::builtin("qwen3-30b-a3b").unwrap();
    // 2 * 3.0e9 * 32768 = 0.20e15 and 2 * 32768^2 * 32 * 128 * 48 = 0.42e15.
    let flops = prompt_flops(&model, 32_768.0);
    assert!((flops / 1e15 - 0.62).abs() < 0.03, "{flops}");
}

fn found(claim: &Claim) -> Vec<&'static str> {
    check(claim).iter().map(disagg::Finding::code).collect()
}

#[test]
fn a_closed_loop_waits_for_slots_only_with_more_in_flight_than_there_are() {
    let with = |in_flight| {
        found(&Claim {
            requests: 400.0,
            duration_s: 100.0,
            in_flight,
            slots: Some(256.0),
            ..Claim::default()
        })
    };
    assert_eq!(with(Some(16.0)), [""; 0]);
    assert_eq!(with(Some(300.0)), ["waited-for-slots"]);
    assert_eq!(with(None), ["waited-for-slots"]);
}

#[test]
fn long_replies_at_a_slow_rate_are_no_burst() {
    // 60 at one a second of 20 s each end 20 s after the last: 0.75 a second.
    let with = |duration_s| {
        found(&Claim {
            requests: 60.0,
            duration_s,
            offered_per_s: Some(1.0),
            decode_s: Some(20.0),
            ..Claim::default()
        })
    };
    assert_eq!(with(80.0), [""; 0]);
    assert_eq!(with(120.0), ["rate-not-sustained"]);
}
