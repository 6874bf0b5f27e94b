//! The solver against a simulation in virtual time that shares no code with it, and the published pair.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small whole numbers of a simulation"
)]

use disagg::{Arm, Capacity, Limit, Slo, Verdict, judge, solve};
use stats::SplitMix;

/// Requests a second of so many engines where requests are always waiting: each goes through a prefill engine, the links of both
/// engines, and a slot of a decode engine, each of which is busy with it alone.
fn simulated(capacity: &Capacity, prefill: u32, decode: u32) -> f64 {
    const REQUESTS: usize = 4000;
    // Seconds until which each server is busy; a decode engine works on one request at a time at its rate.
    let mut prefills = vec![0.0_f64; prefill as usize];
    let mut out_links = prefills.clone();
    let mut decodes = vec![0.0_f64; decode as usize];
    let mut in_links = decodes.clone();
    let link = capacity.link_per_s.map_or(0.0, |rate| 1.0 / rate);
    let decode_s = 1.0 / capacity.decode_per_s;
    let earliest = |busy: &[f64]| {
        let first = busy.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
        first.map_or(0, |(index, _)| index)
    };
    let mut last = 0.0_f64;
    let mut ends = Vec::with_capacity(REQUESTS);
    for _ in 0..REQUESTS {
        let p = earliest(&prefills);
        let d = earliest(
            &in_links
                .iter()
                .zip(&decodes)
                .map(|(a, b)| a.max(*b))
                .collect::<Vec<_>>(),
        );
        prefills[p] += 1.0 / capacity.prefill_per_s;
        let sent = prefills[p].max(out_links[p]).max(in_links[d]) + link;
        out_links[p] = sent;
        in_links[d] = sent;
        decodes[d] = decodes[d].max(sent) + decode_s;
        last = last.max(decodes[d]);
        ends.push(decodes[d]);
    }
    // Without the time in which the pipeline fills.
    ends.sort_by(f64::total_cmp);
    let begin = ends[REQUESTS / 4];
    (REQUESTS - REQUESTS / 4 - 1) as f64 / (last - begin)
}

#[test]
fn the_chosen_ratio_is_within_5_percent_of_brute_force_in_virtual_time() {
    let mut random = SplitMix::new(20);
    let mut between = |low: f64, high: f64| {
        let share = (random.next() >> 11) as f64 / (1_u64 << 53) as f64;
        low * (high / low).powf(share)
    };
    for setting in 0..20 {
        let gpus = [8, 16, 24, 32][setting % 4];
        let capacity = Capacity {
            prefill_per_s: between(0.5, 40.0),
            decode_per_s: between(0.5, 40.0),
            decode_limit: Limit::Decode,
            link_per_s: (setting % 2 == 0).then(|| between(2.0, 50.0)),
            prefill_gpus: between(1.0, 4.9) as u32,
            decode_gpus: between(1.0, 4.9) as u32,
        };
        let plan = solve(&capacity, gpus).unwrap();
        let mut best = 0.0_f64;
        for x in 1..=gpus {
            for y in 1..=gpus {
                if x * capacity.prefill_gpus + y * capacity.decode_gpus <= gpus {
                    best = best.max(simulated(&capacity, x, y));
                }
            }
        }
        let chosen = simulated(&capacity, plan.prefill, plan.decode);
        assert!(
            chosen >= 0.95 * best,
            "{setting}: {chosen} of {best}: {plan:?} {capacity:?}"
        );
        assert!(
            (plan.per_s / chosen - 1.0).abs() < 0.05,
            "{setting}: {plan:?} {chosen}"
        );
    }
}

#[test]
fn aggregated_engines_win_where_they_serve_more_on_all_gpus() {
    let capacity = Capacity {
        prefill_per_s: 9.0,
        decode_per_s: 9.2,
        decode_limit: Limit::Decode,
        link_per_s: None,
        prefill_gpus: 4,
        decode_gpus: 4,
    };
    let plan = solve(&capacity, 8).unwrap();
    let verdict = |aggregated_per_s: f64| Verdict::of(plan.per_s / 8.0, aggregated_per_s / 8.0);
    assert!((plan.per_s - 9.0).abs() < 1e-9 && plan.limit.code() == "prefill");
    // Two of 5.5 are 11: 9 / 11 = 0.82. Two of 4 are 8: 9 / 8 = 1.125.
    assert!(
        matches!(verdict(11.0), Verdict::DoNotSplit { gain: Some(g) } if (g - 9.0 / 11.0).abs() < 1e-9)
    );
    assert!(matches!(verdict(8.0), Verdict::Split { gain: Some(g) } if (g - 1.125).abs() < 1e-9));
    // Where one of them serves nothing within the limits there is no ratio.
    assert_eq!(verdict(0.0), Verdict::Split { gain: None });
    assert!(solve(&capacity, 7).is_none());
}

/// Qwen2.5-7B-Instruct-GPTQ-Int4 on two servers of A10, SGLang with Mooncake (sglang-benchmark-results-v1.md): requests a second are
/// output tokens a second over 512.
#[test]
fn the_published_pair_trades_ttft_for_the_tail_of_itl() {
    let arm = |tokens_per_s: f64, gpus, ttft_ms: f64, itl_p99_ms: f64| Arm {
        per_s: tokens_per_s / 512.0,
        gpus,
        ttft_s: ttft_ms * 1e-3,
        itl_p99_s: itl_p99_ms * 1e-3,
    };
    let none = f64::INFINITY;
    let slo = |ttft_ms: f64, itl_p99_ms: f64| Slo {
        ttft_s: ttft_ms * 1e-3,
        tpot_s: none,
        itl_p99_s: itl_p99_ms * 1e-3,
    };
    let ttft = |ttft_ms| slo(ttft_ms, none);
    let itl = |itl_p99_ms| slo(none, itl_p99_ms);
    // 2048 in, TP2, 4 requests a second.
    let (split, regular) = (
        arm(1215.17, 4, 1111.94, 19.72),
        arm(1223.03, 4, 310.01, 294.89),
    );
    assert!(matches!(
        judge(&split, &regular, &ttft(500.0)),
        Verdict::DoNotSplit { gain: None }
    ));
    assert!(matches!(
        judge(&split, &regular, &itl(50.0)),
        Verdict::Split { gain: None }
    ));
    // Nothing is gained in throughput: 1215.17 / 1223.03.
    let free = judge(&split, &regular, &slo(none, none));
    assert!(matches!(free, Verdict::DoNotSplit { gain: Some(g) } if (g - 0.9936).abs() < 1e-3));
    let strict = slo(500.0, 50.0);
    assert_eq!(judge(&split, &regular, &strict), Verdict::Neither);
    // 8192 in, TP4, 1 request a second: the tail of ITL is shorter, TTFT a little.
    let (split, regular) = (arm(407.59, 8, 732.54, 10.76), arm(427.65, 8, 767.18, 12.73));
    assert!(matches!(
        judge(&split, &regular, &itl(12.0)),
        Verdict::Split { gain: None }
    ));
    assert!(matches!(
        judge(&split, &regular, &ttft(750.0)),
        Verdict::Split { gain: None }
    ));
    assert!(matches!(
        judge(&split, &regular, &ttft(800.0)),
        Verdict::DoNotSplit { gain: Some(_) }
    ));
}
