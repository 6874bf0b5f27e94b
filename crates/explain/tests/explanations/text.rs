//! What the terminal shows, from an explanation made by hand.

use explain::{
    Advice, Attribution, Bar, Cause, Claim, Effect, Explanation, Gate, Grade, Implied, InputSource,
    Measurement, Narrowing, NextStep, Outcome, PublishedTime, Range, Refusal, Rule, SCHEMA,
    StepFrom, VarianceShare, Verdict, answer, text,
};

pub(super) fn range(low: f64, mid: f64, high: f64) -> Range {
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

pub(super) fn attribution() -> Attribution {
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
        misfit: None,
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
        free_links_by_arms: None,
        possible: Some(range(1.8, 1.88, 1.93)),
        halved_gemms: range(1.37, 1.41, 1.47),
        replicas: range(1.49, 1.5, 1.51),
        impossible: 0.12,
        no_room: 0.0,
        tolerance_ms: None,
        collectives: vec![],
        prompts_ms: None,
        priors: vec![],
        shares: vec![],
        prior_shares: vec![],
        caveats: vec!["one start of a server each".to_owned()],
        seed: 1,
        draws: 20_000,
        lowered: vec![],
        held_back: vec![],
        is_by_median: false,
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
        notes: Vec::new(),
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
        between: vec![],
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
                condition: None,
                most: None,
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
            raises: None,
        }],
        what_if: vec![],
    });
    insta::assert_snapshot!(text(&shown), @r#"
    SIMULATED on the soft box rtxpro6000-mig: no figure here is of real hardware

    2 GPUs give 1.34 times the tokens per second of one, not 2 times, mainly because of communication between them: of the 15.3 ms that a token takes beyond 1/2 of one GPU's time, communication takes 9.0 [8.5, 9.5] ms (estimated from the soft box's collective times).
    What to do: serve 2 replicas of TP1 (about 1.50 [1.49, 1.51]x tokens/s of TP2), because these GPUs are MIG instances.

    qwen2.5-72b-fp8, TP2 against TP1, 16 in flight; vLLM 0.13.0, graphs up to 512; box rtxpro6000-mig, GPU unknown; gates: 0 passed, 0 unknown, 1 failed
    TP2 gives 1.34x the tokens per second of TP1 (1.33x a decode step): a step takes 45.9 ms where 1/2 of one GPU's would be 30.6, and the 15.3 ms between are communication by this box's own curve 9.0 [8.5, 9.5], narrow GEMMs 2.6, work that never shards 1.6, host 0.3, unexplained 1.6 [-0.3, 3.1] (ms, median [5%, 95%]).
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
     grade C: curve of this box times count, D: prior knowledge only; medians of 20000 draws, each by itself, so that they need not add up

    step speed-up 1.33 [1.32, 1.34]x; 1.76 [1.66, 1.85]x if links were free and nothing were left unexplained
    speed-up possible at this batch 1.88 [1.80, 1.93]x: links free and GEMMs that lose nothing, so that only what never shards and the host are left
    communication, all-reduce and all-gather together, 9.0 [8.5, 9.5] ms (C): by hand
    12% of the draws that the bars are made of sum to more than was measured: what is unexplained lies below zero there
    if all that is left were communication, one all-reduce of 256 KiB (161 a step) would take 64.0 [51.0, 77.0] us: an upper figure
       published 18.5 us, library, peer access (somebody)

    what to do
     - serve 2 replicas of TP1: these GPUs are MIG instances; 1.50 [1.49, 1.51]x tokens/s of TP2 [somebody]

    what to measure next
     - the model at 1/2 width on one GPU: vllm serve (settles 78% of the variance of communication as reported: from 4.2 to about 2.0 ms between 5% and 95%; about 6 minutes)

    gates: what had to hold before anything was claimed
     - FAILED: no failures, TP1 (2 of 64 requests failed); needed: every request succeeds; run again until none fails

    reservations
     - one start of a server each

    where each input came from
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

    Nothing can be explained yet: requests failed, and the times of those that are left are too good (TP1: 2 of 64 requests failed).
    What to do first: run again until none fails.

    qwen2.5-72b-fp8, TP2 against TP1; vLLM 0.13.0, graphs up to 512; box rtxpro6000-mig, GPU unknown; gates: 0 passed, 0 unknown, 1 failed
    gates: what had to hold before anything was claimed
     - FAILED: no failures, TP1 (2 of 64 requests failed); needed: every request succeeds; run again until none fails

    where each input came from
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
        words.contains(", which cannot be told from nothing"),
        "{words}"
    );
    assert!(
        words.contains("no claim about communication: too little is left"),
        "{words}"
    );
    assert!(words.contains("What to do: nothing stands out."), "{words}");
    assert!(!words.contains("one all-reduce"), "{words}");
}

/// An explanation with an attribution of this claim and nothing to do.
pub(super) fn attributed(attribution: Attribution) -> Explanation {
    explanation(Outcome::Attributed {
        attribution: Box::new(attribution),
        advice: vec![],
        next: vec![],
        what_if: vec![],
    })
}

#[test]
fn a_main_cause_is_named_where_no_other_can_be_as_large_and_only_there() {
    let first = |attribution| answer(&attributed(attribution)).remove(0);
    // 8.5 to 9.5 of communication against 4.5 at most of anything else.
    let measured = first(attribution());
    assert!(
        measured.contains("not 2 times, mainly because of communication between them: "),
        "{measured}"
    );
    // Between communication's 5% and its median.
    let mut unclear = attribution();
    unclear.bars[1].ms.high = 8.6;
    let likely = first(unclear.clone());
    assert!(
        likely.contains("not 2 times, probably mainly because of communication between them: "),
        "{likely}"
    );
    // The same bars by prior knowledge alone are less sure, whichever of them leads.
    let mut published = unclear.clone();
    published.communication.as_mut().unwrap().grade = Some(Grade::D);
    let perhaps = first(published.clone());
    assert!(
        perhaps.contains("not 2 times, perhaps mainly because of communication between them: "),
        "{perhaps}"
    );
    published.bars[1].ms.high = 4.5;
    let probably = first(published);
    assert!(
        probably.contains("not 2 times, probably mainly because of communication between them: "),
        "{probably}"
    );
    // Above its median: narrow GEMMs stand beside it, with their own interval and evidence.
    unclear.bars[1].ms.high = 9.1;
    let mut shown = attributed(unclear);
    if let Outcome::Attributed { advice, next, .. } = &mut shown.outcome {
        advice.push(Advice {
            rule: Rule::MigWithoutPeers,
            what: "serve 2 replicas of TP1".to_owned(),
            why: "the model fits one GPU".to_owned(),
            effect: None,
            based_on: "the box file".to_owned(),
            prove: None,
        });
        let share = VarianceShare {
            measurement: Measurement::Curve,
            of_communication: None,
            of_remainder: 0.1,
        };
        next.push(NextStep {
            share,
            what: "the collectives".to_owned(),
            how: "allreduce-bench".to_owned(),
            narrows: None,
            minutes: None,
            raises: None,
        });
    }
    let all = answer(&shown);
    // What would tell the causes apart comes before what rests on one of them.
    assert_eq!(
        all[1],
        "What to do first: measure the collectives. Then serve 2 replicas of TP1, because the model fits one GPU."
    );
    let none = &all[0];
    assert!(
        none.contains("not 2 times, and no one cause stands out: of the 15.3 ms that a token takes beyond 1/2 of one GPU's time, communication takes 9.0 [8.5, 9.5] ms (")
            && none.contains(", and what matrix products lose when they are split takes 2.6 [0.9, 9.1] ms (an educated guess from published and assumed figures)."),
        "{none}"
    );
}

#[test]
fn short_steps_are_told_in_hundredths_and_nothing_has_no_sign() {
    let mut short = attribution();
    short.step_of_several = range(4.41, 4.59, 4.6);
    for bar in &mut short.bars {
        bar.ms = range(bar.ms.low / 10.0, bar.ms.mid / 10.0, bar.ms.high / 10.0);
    }
    let words = text(&attributed(short));
    let words = squeezed(&words);
    assert!(words.contains("narrow GEMMs +0.26 +0.09 +0.45"), "{words}");
    let mut none = attribution();
    none.bars[6].ms = range(-0.04, 0.01, 0.02);
    let words = squeezed(&text(&attributed(none)));
    assert!(words.contains("unexplained 0.0 0.0 0.0"), "{words}");
}

/// With one blank between words.
fn squeezed(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn gates_that_passed_are_counted_in_one_line_and_the_others_stand_alone() {
    let mut shown = attributed(attribution());
    let passed = |name: &str| Gate {
        name: name.to_owned(),
        verdict: Verdict::Passed,
        seen: "all".to_owned(),
        needed: "it".to_owned(),
        what_to_run: None,
    };
    shown
        .gates
        .extend([passed("same model"), passed("closed loop, TP1")]);
    let words = text(&shown);
    assert!(
        words.contains(" - 2 passed: same model; closed loop, TP1\n"),
        "{words}"
    );
    assert!(
        words.contains("gates: 2 passed, 0 unknown, 1 failed\n"),
        "{words}"
    );
    assert!(words.contains(" - FAILED: no failures, TP1 ("), "{words}");
}

#[test]
fn a_refusal_with_many_reasons_names_two_and_counts_the_rest() {
    let reasons = ["a: 1", "b: 2", "c: 3", "d: 4"].map(str::to_owned).to_vec();
    let shown = explanation(Outcome::Refused {
        refusal: Refusal { reasons },
    });
    assert_eq!(
        answer(&shown)[0],
        "Nothing can be explained yet: a: 1; b: 2; and 2 more that stand below."
    );
}
