//! What the terminal shows, from an explanation made by hand.

use explain::{
    Advice, Attribution, Bar, Cause, Claim, Effect, Explanation, Gate, Grade, Implied, InputSource,
    Measurement, Narrowing, NextStep, Outcome, PublishedTime, Range, Refusal, Rule, SCHEMA,
    StepFrom, VarianceShare, Verdict, text,
};

fn range(low: f64, mid: f64, high: f64) -> Range {
    Range { low, mid, high }
}

fn bar(cause: Cause, ms: Range, grade: Option<Grade>) -> Bar {
    Bar {
        cause,
        ms,
        grade,
        source: "by hand".to_owned(),
    }
}

fn attribution() -> Attribution {
    Attribution {
        tp: 2,
        batch: 16,
        padded_batch: 16,
        step_from: StepFrom::DecodeGap,
        step_of_one: range(60.2, 61.2, 61.7),
        step_of_several: range(44.1, 45.9, 46.0),
        bars: vec![
            bar(Cause::Ideal, range(30.1, 30.6, 30.9), None),
            bar(Cause::NarrowGemm, range(0.9, 2.6, 4.5), Some(Grade::D)),
            bar(Cause::Unsharded, range(1.1, 1.6, 2.1), Some(Grade::D)),
            bar(Cause::Host, range(0.1, 0.3, 0.6), Some(Grade::D)),
            bar(Cause::AllReduce, range(8.3, 8.7, 9.2), Some(Grade::C)),
            bar(Cause::AllGather, range(0.2, 0.3, 0.3), Some(Grade::C)),
            bar(Cause::Unexplained, range(-0.3, 1.6, 3.1), None),
        ],
        communication: Some(bar(
            Cause::Communication,
            range(8.5, 9.0, 9.5),
            Some(Grade::C),
        )),
        half: None,
        remainder: range(8.5, 10.6, 12.7),
        remainder_share_of_excess: range(0.58, 0.72, 0.84),
        claim: Claim::Estimated,
        implied: Some(Implied {
            bytes_per_rank: 256 << 10,
            count: 161,
            us: range(51.0, 64.0, 77.0),
            published: vec![PublishedTime {
                us: 18.52,
                path: "library, peer access".to_owned(),
                source: "somebody".to_owned(),
            }],
        }),
        throughput_gain: 1.34,
        speed_up: range(1.32, 1.33, 1.34),
        free_links: range(1.66, 1.76, 1.85),
        possible: Some(range(1.8, 1.88, 1.93)),
        halved_gemms: range(1.37, 1.41, 1.47),
        replicas: range(1.49, 1.5, 1.51),
        impossible: 0.12,
        collectives: vec![],
        priors: vec![],
        shares: vec![],
        prior_shares: vec![],
        caveats: vec!["one start of a server each".to_owned()],
        seed: 1,
        draws: 20_000,
    }
}

fn explanation(outcome: Outcome) -> Explanation {
    Explanation {
        schema: SCHEMA,
        simulated: Some("rtxpro6000-mig".to_owned()),
        model: "qwen2.5-72b-fp8".to_owned(),
        tp: 2,
        engine: Some("vLLM 0.13.0, graphs up to 512".to_owned()),
        box_name: Some("rtxpro6000-mig".to_owned()),
        gpu: None,
        inputs: vec![InputSource {
            origin: "tp1.json".to_owned(),
            taken: "TP1: time per output token of 64 requests".to_owned(),
        }],
        gates: vec![Gate {
            name: "no failures, TP1".to_owned(),
            verdict: Verdict::Failed,
            seen: "2 of 64 requests failed".to_owned(),
            needed: "every request succeeds".to_owned(),
            what_to_run: Some("run again until none fails".to_owned()),
        }],
        outcome,
        bounded: vec![],
        first_token: None,
        slope: None,
    }
}

#[test]
fn the_first_screen_answers_and_the_rest_is_behind_it() {
    let share = VarianceShare {
        measurement: Measurement::HalfModel,
        of_communication: None,
        of_remainder: 0.78,
    };
    let shown = explanation(Outcome::Attributed {
        attribution: Box::new(attribution()),
        advice: vec![Advice {
            rule: Rule::MigWithoutPeers,
            what: "serve 2 replicas of TP1".to_owned(),
            why: "these GPUs are MIG instances".to_owned(),
            effect: Some(Effect {
                of: "tokens/s of TP2".to_owned(),
                times: range(1.49, 1.5, 1.51),
                at_most: false,
            }),
            based_on: "somebody".to_owned(),
            prove: None,
        }],
        next: vec![NextStep {
            share,
            what: "the model at 1/2 width on one GPU".to_owned(),
            how: "vllm serve".to_owned(),
            narrows: Some(Narrowing {
                share: 0.78,
                now_ms: 4.2,
                after_ms: 2.0,
            }),
            minutes: Some(6.0),
        }],
        what_if: vec![],
    });
    insta::assert_snapshot!(text(&shown), @r#"
    SIMULATED on the soft box rtxpro6000-mig: no figure here is of real hardware

    TP2 gives 1.34x the tokens per second of TP1 (1.33x a decode step), not 2x: a step takes 45.9 ms where 1/2 of one GPU's would be 30.6, and the 15.3 ms between are communication by this box's own curve 9.0 [8.5, 9.5], narrow GEMMs 2.6 [0.9, 4.5], work that never shards 1.6 [1.1, 2.1], host 0.3 [0.1, 0.6], unexplained 1.6 [-0.3, 3.1] (ms, median [5%, 95%]).
    What to do: serve 2 replicas of TP1 (1.50 [1.49, 1.51]x tokens/s of TP2), because these GPUs are MIG instances.

    qwen2.5-72b-fp8, TP2 against TP1, 16 in flight; vLLM 0.13.0, graphs up to 512; box rtxpro6000-mig, GPU unknown; gates: 0 passed, 0 unknown, 1 failed
      ms a step        median    5%   95%  grade
      step on one GPU    61.2  60.2  61.7  simulated
      ideal share        30.6  30.1  30.9  arithmetic
      narrow GEMMs       +2.6  +0.9  +4.5  D
      never sharded      +1.6  +1.1  +2.1  D
      host               +0.3  +0.1  +0.6  D
      all-reduce         +8.7  +8.3  +9.2  C
      all-gather         +0.3  +0.2  +0.3  C
      unexplained        +1.6  -0.3  +3.1  —
      step on 2          45.9  44.1  46.0  simulated
     grade C: curve of this box times count, D: prior knowledge only; medians of 20000 draws, which need not sum

    step speed-up 1.33 [1.32, 1.34]x; at most 1.76 [1.66, 1.85]x if links were free
    speed-up possible at this batch 1.88 [1.80, 1.93]x: links free and GEMMs that lose nothing, so that only what never shards and the host are left
    communication, all-reduce and all-gather together, 9.0 [8.5, 9.5] ms (C): by hand
    12% of the draws sum to more than was measured: what is unexplained lies below zero there
    one all-reduce of 256 KiB (161 a step) takes at most 64 [51, 77] us
       published 18.5 us, library, peer access (somebody)

    gates
     - FAILED: no failures, TP1 (2 of 64 requests failed); needed: every request succeeds; run again until none fails

    what to do
     - serve 2 replicas of TP1: these GPUs are MIG instances; 1.50 [1.49, 1.51]x tokens/s of TP2 [somebody]

    what to measure next
     - the model at 1/2 width on one GPU: vllm serve (settles 78% of the variance of communication as reported: from 4.2 to about 2.0 ms between 5% and 95%; about 6 minutes)

    reservations
     - one start of a server each

    inputs
     - tp1.json: TP1: time per output token of 64 requests
    "#);
}

#[test]
fn a_refusal_says_why_and_what_to_run() {
    let shown = explanation(Outcome::Refused {
        refusal: Refusal {
            reasons: vec!["no failures, TP1: 2 of 64 requests failed".to_owned()],
        },
    });
    insta::assert_snapshot!(text(&shown), @r#"
    SIMULATED on the soft box rtxpro6000-mig: no figure here is of real hardware

    Nothing is attributed: no failures, TP1: 2 of 64 requests failed.
    What to do first: run again until none fails.

    qwen2.5-72b-fp8, TP2 against TP1; vLLM 0.13.0, graphs up to 512; box rtxpro6000-mig, GPU unknown; gates: 0 passed, 0 unknown, 1 failed
    gates
     - FAILED: no failures, TP1 (2 of 64 requests failed); needed: every request succeeds; run again until none fails

    inputs
     - tp1.json: TP1: time per output token of 64 requests
    "#);
}

#[test]
fn without_a_claim_the_first_sentence_claims_nothing() {
    let mut attribution = attribution();
    attribution.claim = Claim::None {
        reason: "too little is left".to_owned(),
    };
    attribution
        .bars
        .retain(|bar| !matches!(bar.cause, Cause::AllReduce | Cause::AllGather));
    attribution.communication = None;
    attribution.implied = None;
    let words = text(&explanation(Outcome::Attributed {
        attribution: Box::new(attribution),
        advice: vec![],
        next: vec![],
        what_if: vec![],
    }));
    assert!(
        words.contains("communication that cannot be told from nothing"),
        "{words}"
    );
    assert!(
        words.contains("no claim about communication: too little is left"),
        "{words}"
    );
    assert!(words.contains("What to do: nothing stands out."), "{words}");
    assert!(!words.contains("one all-reduce"), "{words}");
}
