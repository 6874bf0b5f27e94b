//! The scheduler on loads by hand and at random.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::step::tests::{curve, facts, flat_profile, model};
use crate::{EngineError, Profile};

/// A generator for the loads of these tests (xorshift64*), not the one that the engine's noise uses.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let drawn = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        u32::try_from(drawn % u64::from(bound)).unwrap()
    }
}

fn limits(kv_blocks: u64) -> Limits {
    Limits {
        max_model_len: 4096,
        block_tokens: 16,
        kv_blocks,
    }
}

/// An engine whose steps hold so many tokens and sequences, with so many blocks.
pub(super) fn engine(tp: u32, batched: u32, seqs: u32, blocks: u64, profile: Profile) -> Engine {
    let time = StepTime::new(model(), facts(tp, batched, seqs), profile, curve()).unwrap();
    Engine::new(time, limits(blocks)).unwrap()
}

pub(super) fn request(id: u64, prompt_tokens: u32, output_tokens: u32) -> Request {
    Request {
        id,
        prompt_tokens,
        output_tokens,
    }
}

/// Steps until nothing is left and returns the steps.
pub(super) fn drain(engine: &mut Engine) -> Vec<Step> {
    let mut now = Duration::ZERO;
    let mut steps = Vec::new();
    while let Some(step) = engine.step(now).unwrap() {
        now = step.ends();
        steps.push(step);
        assert!(steps.len() < 100_000, "the engine does not come to an end");
    }
    steps
}

#[test]
fn one_request_takes_a_prompt_step_and_then_a_step_a_token() {
    let mut engine = engine(1, 8192, 4, 1000, flat_profile());
    engine.submit(request(7, 100, 3), Duration::ZERO).unwrap();
    let steps = drain(&mut engine);
    let seen: Vec<(u32, u64, bool)> = steps
        .iter()
        .map(|step| {
            (
                step.load.tokens,
                step.load.context_tokens,
                step.emitted[0].finished,
            )
        })
        .collect();
    // The prompt gives the first token; the second goes in with 100 + 1 tokens of context, the third with 100 + 2.
    assert_eq!(seen, [(100, 100, false), (1, 101, false), (1, 102, true)]);
    assert_eq!(steps[2].number, 2);
}

#[test]
fn a_prompt_is_cut_into_chunks_and_decoding_goes_on_beside_it() {
    let mut engine = engine(1, 64, 4, 1000, flat_profile());
    engine.submit(request(1, 10, 5), Duration::ZERO).unwrap();
    engine.submit(request(2, 150, 2), Duration::ZERO).unwrap();
    let steps = drain(&mut engine);
    let tokens: Vec<u32> = steps.iter().map(|step| step.load.tokens).collect();
    // 10 + 54 of 150; 1 + 63 (117 done); 1 + 33 (150 done: a token); 1 + 1 (the second request ends); 1.
    assert_eq!(tokens, [64, 64, 34, 2, 1]);
    let first: Vec<usize> = (0..5)
        .filter(|i| steps[*i].emitted.iter().any(|e| e.id == 2))
        .collect();
    assert_eq!(first, [2, 3]);
}

#[test]
fn a_step_takes_the_time_of_its_parts() {
    let mut engine = engine(2, 8192, 4, 1000, flat_profile());
    for id in 0..4 {
        engine.submit(request(id, 96, 3), Duration::ZERO).unwrap();
    }
    let steps = drain(&mut engine);
    let decode = &steps[1];
    // Four sequences of 97 tokens. Matrix products: 369.62 us / 1.6. Attention: 4 x 97 x 10 240 B / 2 at 500 GB/s
    // = 3.973 us and 120 us. Element-wise 80 us, host 300 us. All-reduce of 4 x 2 KiB: 21 x (20 + 8) = 588 us. Gather 50 us.
    let expected = 369.623 / 1.6 + 3.973_12 + 120.0 + 80.0 + 300.0 + 588.0 + 50.0;
    assert!((decode.duration_us - expected).abs() < 0.1, "{decode:?}");
    // Virtual time adds the durations up; a Duration counts whole nanoseconds.
    let sum: f64 = steps.iter().map(|step| step.duration_us).sum();
    let end = steps[steps.len() - 1].ends().as_secs_f64() * 1e6;
    assert!((end - sum).abs() < 0.01, "{end} {sum}");
}

#[test]
fn noise_stretches_steps_and_repeats_with_its_seed() {
    let noisy = Profile {
        noise_cv: 0.05,
        ..flat_profile()
    };
    let run = || {
        let mut engine = engine(1, 8192, 4, 1000, noisy.clone());
        engine.submit(request(1, 8, 400), Duration::ZERO).unwrap();
        drain(&mut engine)
    };
    let steps = run();
    for step in &steps {
        let expected = step.parts.total_us() * step.noise_factor;
        assert!((step.duration_us - expected).abs() < 1e-9);
    }
    let mean = steps.iter().map(|step| step.noise_factor).sum::<f64>() / 400.0;
    // Standard error 0.05 / sqrt(400) = 0.0025; four of them.
    assert!((mean - 1.0).abs() < 0.01, "{mean}");
    assert_eq!(steps, run());
}

/// What a random load did to an engine whose limits are given.
fn play(seed: u64) {
    let mut dice = Dice(seed);
    let seqs = 1 + dice.below(8);
    let batched = seqs + dice.below(200);
    let blocks = 40 + u64::from(dice.below(100));
    let mut engine = engine(2, batched, seqs, blocks, flat_profile());
    let mut asked = BTreeMap::new();
    let mut order = Vec::new();
    let mut now = Duration::ZERO;
    let mut left = 60;
    let mut given: BTreeMap<u64, u32> = BTreeMap::new();
    let mut first_tokens = Vec::new();
    let mut finished = BTreeSet::new();
    let mut prefilled_tokens = 0;
    loop {
        for _ in 0..dice.below(4).min(left) {
            let id = u64::from(left);
            left -= 1;
            let request = request(id, 1 + dice.below(300), 1 + dice.below(40));
            // At most 300 + 40 tokens: 22 blocks, so every request fits some day.
            engine.submit(request, now).unwrap();
            asked.insert(id, request);
            order.push(id);
        }
        let Some(step) = engine.step(now).unwrap() else {
            if left == 0 {
                break;
            }
            continue;
        };
        now = step.ends();
        assert!(
            step.load.sequences <= seqs && step.load.tokens <= batched,
            "seed {seed}"
        );
        let reserved: u64 = asked
            .values()
            .filter(|r| given.contains_key(&r.id) && !finished.contains(&r.id))
            .map(|r| u64::from(r.prompt_tokens + r.output_tokens).div_ceil(16))
            .sum();
        assert!(reserved <= blocks, "seed {seed}");
        prefilled_tokens += u64::from(step.load.tokens);
        for emitted in &step.emitted {
            let count = given.entry(emitted.id).or_insert(0);
            if *count == 0 {
                first_tokens.push(emitted.id);
            } else {
                // This token's predecessor went through the step as one token.
                prefilled_tokens -= 1;
            }
            *count += 1;
            assert_eq!(emitted.finished, *count == asked[&emitted.id].output_tokens);
            if emitted.finished {
                assert!(finished.insert(emitted.id), "seed {seed}: finished twice");
            }
        }
        // Every step moves at least one of at most 60 x 340 tokens.
        assert!(step.number < 20_400, "seed {seed}: starved");
    }
    // Tokens are conserved: what was asked for was given, and every prompt token went through exactly once.
    for (id, request) in &asked {
        assert_eq!(given[id], request.output_tokens, "seed {seed}");
    }
    let prompts: u64 = asked.values().map(|r| u64::from(r.prompt_tokens)).sum();
    assert_eq!(prefilled_tokens, prompts, "seed {seed}");
    // First come, first served: nobody's first token comes before that of an older request.
    assert_eq!(first_tokens, order, "seed {seed}");
    assert_eq!((engine.running(), engine.waiting()), (0, 0));
    assert!(engine.kv_used() == 0.0);
}

#[test]
fn random_loads_keep_the_limits_lose_no_token_and_starve_nobody() {
    for seed in 1..=200 {
        play(seed);
    }
}

#[test]
fn blocks_limit_the_batch_and_the_rest_waits() {
    // 16 + 16 tokens are two blocks; five blocks hold two requests.
    let mut engine = engine(1, 8192, 8, 5, flat_profile());
    for id in 0..3 {
        engine.submit(request(id, 16, 16), Duration::ZERO).unwrap();
    }
    let step = engine.step(Duration::ZERO).unwrap().unwrap();
    assert_eq!((step.load.sequences, engine.waiting()), (2, 1));
    assert!((engine.kv_used() - 0.8).abs() < 1e-12); // 4 of 5
    let steps = drain(&mut engine);
    // The third begins when the first two have their 16 tokens: 15 further steps, then 16 of its own.
    assert_eq!(steps.len(), 31);
}

#[test]
fn a_request_runs_only_after_its_arrival() {
    let mut engine = engine(1, 8192, 8, 100, flat_profile());
    engine
        .submit(request(1, 4, 1), Duration::from_millis(5))
        .unwrap();
    assert_eq!(engine.step(Duration::from_millis(4)).unwrap(), None);
    assert!(engine.step(Duration::from_millis(5)).unwrap().is_some());
}

#[test]
fn cancelling_frees_the_place_and_the_blocks() {
    let mut engine = engine(1, 8192, 1, 100, flat_profile());
    for id in [1, 2, 3] {
        engine.submit(request(id, 16, 100), Duration::ZERO).unwrap();
    }
    engine.step(Duration::ZERO).unwrap();
    assert!(engine.cancel(1) && engine.cancel(2) && !engine.cancel(9));
    assert!(engine.kv_used() == 0.0);
    let step = engine.step(Duration::from_millis(1)).unwrap().unwrap();
    assert_eq!(step.emitted[0].id, 3);
}

#[test]
fn what_can_never_be_served_is_refused_at_once() {
    let mut engine = engine(1, 8192, 8, 10, flat_profile());
    let now = Duration::ZERO;
    assert_eq!(
        engine.submit(request(1, 0, 1), now),
        Err(Refused::EmptyPrompt)
    );
    assert_eq!(engine.submit(request(1, 1, 0), now), Err(Refused::NoOutput));
    assert_eq!(
        engine.submit(request(1, 4000, 97), now),
        Err(Refused::TooLong {
            prompt: 4000,
            output: 97,
            limit: 4096
        })
    );
    // 161 tokens are eleven blocks of 16.
    assert_eq!(
        engine.submit(request(1, 100, 61), now),
        Err(Refused::NeverFits {
            needed: 11,
            blocks: 10
        })
    );
    engine.submit(request(1, 100, 60), now).unwrap();
    assert_eq!(
        engine.submit(request(1, 1, 1), now),
        Err(Refused::Duplicate(1))
    );
}

#[test]
fn limits_that_contradict_each_other_are_refused() {
    let time = StepTime::new(model(), facts(1, 8, 9), flat_profile(), curve()).unwrap();
    let error = Engine::new(time, limits(10)).unwrap_err();
    assert!(matches!(error, EngineError::Limits(text) if text.contains("8 batched tokens")));
}
