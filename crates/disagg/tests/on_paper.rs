//! Engines on paper against queues in virtual time that share no code with them, and against arithmetic.

use disagg::{Limit, Paper, Slo, StepAt, Verdict, wait};
use stats::SplitMix;

const FREE: Slo = Slo {
    ttft_s: f64::INFINITY,
    tpot_s: f64::INFINITY,
    itl_p99_s: f64::INFINITY,
};

fn uniform(random: &mut SplitMix) -> f64 {
    ((random.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}

/// Waits of prompts that come at random, a second of service each, by Lindley's recursion: mean and 99th percentile.
fn queued(busy: f64) -> (f64, f64) {
    const N: usize = 1_000_000;
    let mut random = SplitMix::new(7);
    let mut left = 0.0_f64;
    let mut waits: Vec<f64> = (0..N)
        .map(|_| {
            let gap = -uniform(&mut random).ln() / busy;
            left = (left + 1.0 - gap).max(0.0);
            left
        })
        .collect();
    waits.sort_by(f64::total_cmp);
    (waits.iter().sum::<f64>() / N as f64, waits[N * 99 / 100])
}

#[test]
fn waits_are_those_of_a_queue_in_virtual_time() {
    for busy in [0.2, 0.5, 0.7, 0.8, 0.9] {
        let (mean, tail) = queued(busy);
        let (on_paper, tail_on_paper) = wait(busy, 1.0);
        assert!(
            (on_paper / mean - 1.0).abs() < 0.05,
            "{busy}: {on_paper} {mean}"
        );
        // An exponential tail: too long by up to a third where few wait, right where many do.
        let off = tail_on_paper / tail - 1.0;
        assert!(
            (-0.06..0.34).contains(&off),
            "{busy}: {tail_on_paper} {tail}"
        );
    }
}

/// A prompt of 100 ms, a link of 10 ms, steps of 10 ms for one sequence to 20 ms for 64, 100 tokens.
fn paper() -> Paper {
    let step = |batch, alone_s| StepAt {
        batch,
        alone_s,
        mixed_s: alone_s * 1.5,
    };
    Paper {
        output_tokens: 100.0,
        prefill_s: 0.1,
        beside_s: 0.1,
        chunks: 1.0,
        transfer_s: 0.01,
        steps: vec![step(1.0, 0.01), step(64.0, 0.02)],
        full: Limit::DecodeSlots,
        prefill_gpus: 1,
        decode_gpus: 1,
    }
}

#[test]
fn who_limits_and_what_it_serves_are_arithmetic() {
    // 0.9 / 0.1 s = 9 prompts a second; 0.92 * 64 / (100 * 20 ms + 10 ms) = 29.3 replies.
    let (plan, figures) = paper().split(&FREE, 1, 1);
    assert!(plan.limit == Limit::Prefill && (plan.per_s - 9.0).abs() < 1e-6);
    // 9 a second in 100 steps of 15 to 16 ms and 10 ms: 14 at once; mean wait 0.9 * 0.1 / 0.2.
    assert!((13.5..14.5).contains(&figures.batch), "{figures:?}");
    assert!((figures.wait_s - 0.45).abs() < 1e-6, "{figures:?}");
    let in_parts = figures.wait_s + 0.1 + 0.01 + figures.first_step_s;
    assert!((figures.ttft_s() - in_parts).abs() < 1e-12);
    let (plan, _) = paper().split(&FREE, 4, 1);
    assert!(plan.limit == Limit::DecodeSlots, "{plan:?}");
    assert!((plan.per_s - 0.92 * 64.0 / 2.01).abs() < 1e-6, "{plan:?}");
    // 8 GPUs: 6 * 9 = 54 and 2 * 29.3 = 58.6; 7 and 1 give 29.3, 5 and 3 give 45.
    let (best, _) = paper().best(&FREE, 8).unwrap();
    assert_eq!((best.prefill, best.decode), (6, 2));
    // A TPOT that no batch keeps.
    let strict = Slo {
        tpot_s: 0.005,
        ..FREE
    };
    assert!(paper().split(&strict, 1, 1).0.per_s < 1e-9);
}

#[test]
fn a_limit_of_ttft_takes_load_off_prefill() {
    let strict = Slo {
        ttft_s: 0.3,
        ..FREE
    };
    let (plan, figures) = paper().split(&strict, 1, 4);
    // Its first step is taken as long as one of the most sequences, 10 ms more than it is.
    assert!((figures.ttft_p99_s() - 0.29).abs() < 1e-3, "{figures:?}");
    assert!(plan.limit == Limit::Prefill && plan.per_s < 9.0, "{plan:?}");
}

#[test]
fn aggregated_engines_win_on_rate_and_lose_on_the_tail_of_itl() {
    // 0.92 * 64 / (0.1 + 100 * 30 ms) = 19.0 a second would keep prompts busy for 19.0 * (0.1 + 20 ms) > 1: at most as many as
    // the limit of TTFT lets wait.
    let limits = Slo {
        ttft_s: 2.0,
        ..FREE
    };
    let figures = paper().aggregated(&limits, 2);
    let rate = figures.requests_per_s;
    assert!(
        figures.ttft_p99_s() <= 2.0 + 1e-6 && rate > 10.0,
        "{figures:?}"
    );
    let (plan, _) = paper().split(&limits, 1, 1);
    assert_eq!(Verdict::of(plan.per_s, rate).code(), "do-not-split");
    // A prompt of 100 ms stops all replies: with 50 ms between tokens hardly any may come.
    let smooth = Slo {
        itl_p99_s: 0.05,
        ..limits
    };
    let rate = paper().aggregated(&smooth, 2).requests_per_s;
    let (plan, _) = paper().split(&smooth, 1, 1);
    assert!(plan.per_s > 1.5 * rate, "{plan:?} {rate}");
    assert_eq!(Verdict::of(plan.per_s, rate).code(), "split");
}

#[test]
fn as_much_is_kept_back_of_full_engines_of_either_kind() {
    // Prompts that cost nothing and steps that they do not slow: both kinds are limited by 64 sequences alone.
    let mut free = paper();
    (free.prefill_s, free.beside_s, free.transfer_s) = (1e-9, 1e-9, 0.0);
    (free.chunks, free.steps) = (1e-9, [(1.0, 0.01), (64.0, 0.02)].map(alike).into());
    let (plan, _) = free.split(&FREE, 1, 1);
    let rate = free.aggregated(&FREE, 1).requests_per_s;
    assert!(
        plan.limit == Limit::DecodeSlots && (plan.per_s / rate - 1.0).abs() < 1e-6,
        "{plan:?} {rate}"
    );
}

fn alike((batch, alone_s): (f64, f64)) -> StepAt {
    StepAt {
        batch,
        alone_s,
        mixed_s: alone_s,
    }
}
