//! Gates on what stands beside the runs: clocks, transports and logs of servers; and what a difference of load looks like.

use crate::explanations::boxes::{mean, rtxpro6000_mig};
use crate::explanations::said::{says, verdict};
use explain::{ServerLog, Verdict, attribute, explain, text};
use measure::import::serve::Throttle;
use measure::record::PeerVerdict;

const DRAWS: u32 = 4000;

#[test]
fn clocks_held_down_by_heat_refuse_and_a_power_cap_is_a_reservation() {
    let of = |slowed, reason: &str| {
        let mut inputs = rtxpro6000_mig();
        inputs.evidence.throttle = vec![Throttle {
            origin: "tp2.json".to_owned(),
            readings: 100,
            slowed,
            reasons: vec![reason.to_owned()],
            clock_mhz: None,
        }];
        inputs
    };
    let hot = of(6, "hardware thermal slowdown");
    assert_eq!(verdict(&hot, "no throttling, TP2"), Verdict::Failed);
    assert_eq!(verdict(&hot, "no throttling, TP1"), Verdict::Unknown);
    let refusal = attribute(&hot, 1, 200).unwrap_err().to_string();
    assert!(
        refusal.contains("6 of 100 readings show clocks held down (hardware thermal slowdown)"),
        "{refusal}"
    );
    // 5 of 100 are few.
    let warm = of(5, "hardware thermal slowdown");
    assert_eq!(verdict(&warm, "no throttling, TP2"), Verdict::Passed);
    let capped = of(90, "software power cap");
    assert_eq!(verdict(&capped, "no throttling, TP2"), Verdict::Unknown);
    assert!(says(
        &attribute(&capped, 1, DRAWS).unwrap(),
        "software power cap"
    ));
}

#[test]
fn a_power_cap_on_one_side_alone_refuses_and_one_on_both_passes_by_the_clocks() {
    let of = |sides: [(u64, Option<f64>); 2]| {
        let mut inputs = rtxpro6000_mig();
        let sides = ["tp1.json", "tp2.json"].into_iter().zip(sides);
        let throttle = sides.map(|(origin, (slowed, clock_mhz))| Throttle {
            origin: origin.to_owned(),
            readings: 100,
            slowed,
            reasons: vec!["software power cap".to_owned()],
            clock_mhz,
        });
        inputs.evidence.throttle = throttle.collect();
        verdict(&inputs, "clocks alike")
    };
    assert_eq!(of([(90, None), (10, None)]), Verdict::Failed);
    assert_eq!(of([(90, None), (80, None)]), Verdict::Unknown);
    assert_eq!(of([(3, None), (5, None)]), Verdict::Passed);
    // 1800 / 1500 = 1.2, and 1800 / 1750 = 1.03.
    assert_eq!(
        of([(90, Some(1500.0)), (80, Some(1800.0))]),
        Verdict::Failed
    );
    assert_eq!(
        of([(90, Some(1750.0)), (10, Some(1800.0))]),
        Verdict::Passed
    );
    let mut one_side = rtxpro6000_mig();
    one_side.evidence.throttle.clear();
    assert_eq!(verdict(&one_side, "clocks alike"), Verdict::NotJudged);
}

/// What the log of the server on two GPUs says.
fn log(transport: Option<&str>, reduces_itself: bool, peers: Option<bool>) -> ServerLog {
    ServerLog {
        origin: "tp2.log".to_owned(),
        tp: 2,
        transport: transport.map(str::to_owned),
        reduces_itself,
        peers,
        taken: "vLLM 0.13.0".to_owned(),
    }
}

#[test]
fn the_engines_log_proves_its_transport_and_contradicts_another_one() {
    let of = |bench: Option<&str>, log: ServerLog, peers: Option<PeerVerdict>| {
        let mut inputs = rtxpro6000_mig();
        inputs.known.mig = false;
        inputs.around.no_peer_reason = String::new();
        inputs.known.peers = peers.into_iter().collect();
        inputs.around.peer_access = None;
        inputs.evidence.transport = bench.map(str::to_owned);
        inputs.evidence.logs = vec![log];
        verdict(&inputs, "transport proven")
    };
    let shm = Some("SHM/direct/direct");
    assert_eq!(of(None, log(shm, false, None), None), Verdict::Passed);
    assert_eq!(of(None, log(None, false, None), None), Verdict::Unknown);
    assert_eq!(
        of(Some("SHM/direct"), log(shm, false, None), None),
        Verdict::Passed
    );
    // What was timed went another way than the engine.
    assert_eq!(
        of(Some("P2P/CUMEM"), log(shm, false, None), None),
        Verdict::Failed
    );
    // The engine's own kernel reads the other GPU's memory.
    assert_eq!(of(None, log(None, true, Some(true)), None), Verdict::Passed);
    let denied = Some(PeerVerdict::Denied);
    assert_eq!(
        of(None, log(None, true, Some(true)), denied),
        Verdict::Failed
    );
    let direct = Some(PeerVerdict::Direct);
    assert_eq!(
        of(None, log(shm, false, Some(false)), direct),
        Verdict::Unknown
    );
    // The log is among the inputs.
    let mut inputs = rtxpro6000_mig();
    inputs.evidence.logs = vec![log(shm, false, Some(false))];
    let words = text(&explain(&inputs, 1, 200));
    assert!(
        words.contains("tp2.log: the server's log of TP2: vLLM 0.13.0"),
        "{words}"
    );
}

#[test]
fn a_transport_that_the_gpus_do_not_have_is_of_another_box() {
    let of = |via: Option<&str>| {
        let mut inputs = rtxpro6000_mig();
        inputs.evidence.transport = via.map(str::to_owned);
        verdict(&inputs, "transport proven")
    };
    assert_eq!(of(None), Verdict::Unknown);
    assert_eq!(of(Some("SHM/direct")), Verdict::Passed);
    assert_eq!(of(Some("SHM/direct in arm no-P2P")), Verdict::Passed);
    assert_eq!(of(Some("P2P/CUMEM")), Verdict::Failed);
}

#[test]
fn a_speed_up_beyond_the_number_of_gpus_is_flagged_as_an_unequal_batch() {
    // gpt-oss-20b on R9700, one request a second (kyuz0/amd-r9700-vllm-toolboxes): 61.28 ms a token on one GPU, 28.60 on two, which
    // reads as 2.14x. Tokens/s times time per token were 11.0 and 5.6 in flight: 200 tokens of each request are
    // 12.3 s and 5.7 s long, and 0.9 and 0.98 of them came a second.
    let mut inputs = rtxpro6000_mig();
    for ((_, run), (tpot, in_flight)) in inputs.serve.iter_mut().zip([(61.28, 11.0), (28.60, 5.6)])
    {
        run.streamed = true;
        run.concurrency_asked = None;
        run.request_rate_asked = Some(1.0);
        run.output_tokens = Some(64 * 200);
        run.tpot_ms = Some(mean(tpot));
        run.ttft_ms = Some(mean(tpot));
        run.e2el_ms = Some(mean(tpot * 200.0));
        run.requests_per_s = in_flight / (tpot * 0.2);
    }
    assert_eq!(verdict(&inputs, "batch equal"), Verdict::Failed);
    let explanation = explain(&inputs, 1, 200);
    let words = text(&explanation);
    assert!(
        words.contains(
            "FAILED: batch equal (11.0 in flight in tp1.json and 5.6 in flight in tp2.json)"
        ),
        "{words}"
    );
    // What makes them equal, as a command: 11 in flight on two GPUs, each of 89 tokens and 256 more at most, which 512 hold.
    let command =
        "--tensor-parallel-size 2 --port 8000 --max-model-len 512, and beside it serve-bench run";
    assert!(
        words.contains(command) && words.contains("--concurrency 11 "),
        "{words}"
    );
    assert!(
        words.contains("run all in a closed loop with the same concurrency"),
        "{words}"
    );
    assert!(!words.contains("2.14x"), "{words}");
}
