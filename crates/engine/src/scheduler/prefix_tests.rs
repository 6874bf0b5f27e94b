//! The prefix cache by hand and at random. A block holds 16 tokens throughout, and keys are small numbers written here.

use std::collections::BTreeMap;

use super::tests::{Dice, drain, engine, request};
use super::*;
use crate::step::tests::flat_profile;

/// An engine with prefix caching and so many blocks, whose steps hold all that comes.
fn caching(blocks: u64) -> Engine {
    engine(1, 8192, 16, blocks, flat_profile()).with_prefix_caching()
}

/// Queues a request whose prompt has these whole blocks.
fn submit(engine: &mut Engine, id: u64, prompt: u32, output: u32, keys: &[u64]) {
    engine
        .submit_with_prefix(request(id, prompt, output), keys.to_vec(), Duration::ZERO)
        .unwrap();
}

/// Runs one request to its end and gives what it took from the cache, and the prompt tokens that were computed.
fn run(engine: &mut Engine, id: u64, prompt: u32, output: u32, keys: &[u64]) -> (u32, u32) {
    submit(engine, id, prompt, output, keys);
    let steps = drain(engine);
    let computed = steps.iter().map(|step| step.prompt_tokens).sum();
    let admitted: Vec<&Admitted> = steps.iter().flat_map(|step| &step.admitted).collect();
    assert_eq!((admitted.len(), admitted[0].id), (1, id));
    (admitted[0].cached_tokens, computed)
}

#[test]
fn a_prompt_seen_before_is_taken_from_the_cache_but_for_its_rest() {
    let mut engine = caching(1000);
    // 50 tokens are three whole blocks and two tokens.
    assert_eq!(run(&mut engine, 1, 50, 3, &[1, 2, 3]), (0, 50));
    assert_eq!(run(&mut engine, 2, 50, 3, &[1, 2, 3]), (48, 2));
    // Looked up: 50 + 50; found: 48.
    assert_eq!(
        engine.prefix_counts(),
        PrefixCounts {
            queried_tokens: 100,
            hit_tokens: 48
        }
    );
}

#[test]
fn attention_reads_the_cached_tokens_too() {
    let mut engine = caching(1000);
    run(&mut engine, 1, 50, 1, &[1, 2, 3]);
    submit(&mut engine, 2, 50, 2, &[1, 2, 3]);
    let loads: Vec<(u32, u64)> = drain(&mut engine)
        .iter()
        .map(|step| (step.load.tokens, step.load.context_tokens))
        .collect();
    // Two tokens are computed and read the keys and values of 50; the next reads those of 51.
    assert_eq!(loads, [(2, 50), (1, 51)]);
}

#[test]
fn the_last_token_of_a_prompt_is_always_computed() {
    let mut engine = caching(1000);
    run(&mut engine, 1, 48, 1, &[1, 2, 3]);
    // All three blocks are there, but the last one holds the last token: (48 - 1) / 16 = 2 blocks are taken.
    assert_eq!(run(&mut engine, 2, 48, 1, &[1, 2, 3]), (32, 16));
}

#[test]
fn prompts_share_up_to_their_first_different_block() {
    let mut engine = caching(1000);
    run(&mut engine, 1, 64, 1, &[1, 2, 3, 4]);
    assert_eq!(run(&mut engine, 2, 70, 1, &[1, 2, 30, 40]), (32, 38));
    assert_eq!(run(&mut engine, 3, 70, 1, &[10, 20, 30, 40]), (0, 70));
    // What the second one added is there for the next.
    assert_eq!(run(&mut engine, 4, 70, 1, &[1, 2, 30, 40]), (64, 6));
}

#[test]
fn without_caching_nothing_is_shared() {
    let mut engine = engine(1, 8192, 16, 1000, flat_profile());
    assert_eq!(run(&mut engine, 1, 50, 1, &[1, 2, 3]), (0, 50));
    assert_eq!(run(&mut engine, 2, 50, 1, &[1, 2, 3]), (0, 50));
    assert_eq!(engine.prefix_counts(), PrefixCounts::default());
}

#[test]
fn shared_blocks_are_reserved_once() {
    let mut engine = caching(10);
    for id in 1..=4 {
        submit(&mut engine, id, 64, 16, &[1, 2, 3, 4]);
    }
    let step = engine.step(Duration::ZERO).unwrap().unwrap();
    // 80 tokens are five blocks. The second and the third find three, (64 - 1) / 16, and need two more: 5 + 2 + 2 = 9 of 10. The
    // fourth would need two.
    assert_eq!((step.load.sequences, engine.waiting()), (3, 1));
    assert!((engine.kv_used() - 0.9).abs() < 1e-12);
    let cached: Vec<u32> = step.admitted.iter().map(|one| one.cached_tokens).collect();
    assert_eq!(cached, [0, 48, 48]);
    // 64 and twice 64 - 48.
    assert_eq!(step.prompt_tokens, 96);
    // The first ends; the two others still use what it had entered, and give all of it back at their ends.
    assert!(engine.cancel(1));
    // Its own fifth block and the fourth one of the prompt, which nobody took from it: 9 - 2.
    assert!((engine.kv_used() - 0.7).abs() < 1e-12);
    drain(&mut engine);
    assert!(engine.kv_used() == 0.0);
}

#[test]
fn room_is_made_from_the_end_of_what_was_unused_longest() {
    let mut engine = caching(10);
    // Four blocks stay behind.
    run(&mut engine, 1, 64, 16, &[1, 2, 3, 4]);
    // 112 + 16 tokens are eight blocks: two of the four may stay, the first two.
    assert_eq!(
        run(&mut engine, 2, 112, 16, &[11, 12, 13, 14, 15, 16, 17]),
        (0, 112)
    );
    assert_eq!(run(&mut engine, 3, 64, 16, &[1, 2, 3, 4]), (32, 32));
}

#[test]
fn a_cut_prompt_enters_the_blocks_that_it_has_computed() {
    // 20 tokens a step: after the first step of 20 one block is full.
    let mut engine = engine(1, 20, 4, 1000, flat_profile()).with_prefix_caching();
    submit(&mut engine, 1, 50, 4, &[1, 2, 3]);
    engine.step(Duration::ZERO).unwrap();
    engine.cancel(1);
    assert_eq!(run(&mut engine, 2, 50, 1, &[1, 2, 3]), (16, 34));
}

/// A random load of prompts that share beginnings, some of them cancelled.
fn play(seed: u64) {
    let mut dice = Dice(seed);
    let seqs = 1 + dice.below(8);
    let blocks = 40 + u64::from(dice.below(40));
    let batched = seqs + dice.below(200);
    let mut engine = engine(1, batched, seqs, blocks, flat_profile()).with_prefix_caching();
    let (mut now, mut left) = (Duration::ZERO, 80);
    let mut prompts = BTreeMap::new();
    let (mut cached, mut computed, mut cancelled) = (0, 0, false);
    loop {
        for _ in 0..dice.below(4).min(left) {
            let id = u64::from(left);
            left -= 1;
            let prompt = 1 + dice.below(300);
            // One of three texts; at most 300 + 40 tokens are 22 of at least 40 blocks.
            let text = u64::from(dice.below(3)) * 100;
            let keys: Vec<u64> = (0..u64::from(prompt / 16)).map(|key| text + key).collect();
            let output = 1 + dice.below(40);
            engine
                .submit_with_prefix(request(id, prompt, output), keys, now)
                .unwrap();
            prompts.insert(id, prompt);
        }
        if seed.is_multiple_of(2) && dice.below(20) == 0 {
            cancelled |= engine.cancel(u64::from(dice.below(80)));
        }
        let Some(step) = engine.step(now).unwrap() else {
            if left == 0 {
                break;
            }
            continue;
        };
        now = step.ends();
        assert!(engine.kv_used() <= 1.0, "seed {seed}");
        computed += u64::from(step.prompt_tokens);
        cached += step
            .admitted
            .iter()
            .map(|one| u64::from(one.cached_tokens))
            .sum::<u64>();
    }
    // Everything is given back, and every prompt token was computed or found.
    assert!(engine.kv_used() == 0.0, "seed {seed}");
    let all: u64 = prompts.values().copied().map(u64::from).sum();
    if !cancelled {
        assert_eq!(computed + cached, all, "seed {seed}");
        assert_eq!(engine.prefix_counts().queried_tokens, all, "seed {seed}");
    }
    assert_eq!(engine.prefix_counts().hit_tokens, cached, "seed {seed}");
}

#[test]
fn random_loads_with_shared_beginnings_lose_no_block_and_no_token() {
    for seed in 1..=200 {
        play(seed);
    }
}
