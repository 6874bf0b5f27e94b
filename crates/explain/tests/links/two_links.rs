//! Differences between two links: planted ones, a published one, and pairs that cannot be compared.

use crate::links::cases::{figures, inputs, near, nvidia, point, run, side};
use explain::{LinkComparison, LinkSide, LinkVerdict, Override, compare_links};
use record::CallMode;

const DRAWS: u32 = 4_000;

/// All-reduces of 16 sequences of a 72B model: 16 * 8192 * 2 bytes.
const MESSAGE: u64 = 16 * 8192 * 2;

/// Qwen2.5-72B at TP2, 16 in flight, with an all-reduce of `us` and a step of `step_ms`; only the library does it, since there is
/// no peer access.
fn decode(name: &str, us: f64, steps_ms: &[f64]) -> LinkSide {
    let runs = steps_ms
        .iter()
        .enumerate()
        .map(|(n, step)| run(&format!("{name}{n}.json"), 2, 16, 64, 200.0, *step))
        .collect();
    let curve = vec![
        point(2, MESSAGE, us, CallMode::Interleaved),
        point(2, 16 * MESSAGE, 8.0 * us, CallMode::Interleaved),
    ];
    side(
        name,
        inputs("qwen2.5-72b", 2, nvidia(Some(false)), runs, curve),
        None,
    )
}

fn compared(a: &LinkSide, b: &LinkSide) -> LinkComparison {
    compare_links(a, b, 1, DRAWS)
}

#[test]
fn more_and_less_than_the_link_are_told_apart() {
    // The curves say 6.4 ms and a little; 15 ms is more than any factor between curve and engine makes of it.
    let more = compared(&decode("A", 20.0, &[40.0]), &decode("B", 60.0, &[55.0]));
    let verdict = figures(&more.outcome).decode.clone().unwrap().verdict;
    assert!(
        matches!(verdict, LinkVerdict::MoreThanLink { beyond } if beyond.low > 0.0),
        "{verdict:?}"
    );
    // 2 ms are less than 0.95 times 6.4.
    let less = compared(&decode("A", 20.0, &[40.0]), &decode("B", 60.0, &[42.0]));
    let verdict = figures(&less.outcome).decode.clone().unwrap().verdict;
    assert!(
        matches!(verdict, LinkVerdict::LessThanLink { .. }),
        "{verdict:?}"
    );
}

#[test]
fn the_order_of_the_sides_turns_signs_and_keeps_verdicts() {
    let (fast, slow) = (decode("A", 20.0, &[40.0]), decode("B", 60.0, &[55.0]));
    let decode = figures(&compared(&slow, &fast).outcome).decode.clone();
    let decode = decode.unwrap();
    near(decode.measured.mid, -15.0, 0.2);
    assert!(
        matches!(decode.verdict, LinkVerdict::MoreThanLink { beyond } if beyond.low > 0.0),
        "{:?}",
        decode.verdict
    );
}

#[test]
fn a_slower_step_over_the_faster_link_is_not_put_on_the_link() {
    // All-reduces take 40 us less on B, and the step takes 5 ms more.
    let comparison = compared(&decode("A", 60.0, &[40.0]), &decode("B", 20.0, &[45.0]));
    let figures = figures(&comparison.outcome);
    let verdict = &figures.decode.as_ref().unwrap().verdict;
    assert_eq!(*verdict, LinkVerdict::AgainstLink);
}

#[test]
fn repeats_that_scatter_widen_the_difference() {
    let steady = [40.0, 40.02, 39.98];
    let a = decode("A", 20.0, &steady);
    let quiet = compared(&a, &decode("B", 60.0, &[46.5, 46.52, 46.48]));
    let loud = compared(&a, &decode("B", 60.0, &[44.5, 46.5, 48.5]));
    let width = |comparison: &LinkComparison| {
        let range = figures(&comparison.outcome)
            .decode
            .as_ref()
            .unwrap()
            .measured;
        range.high - range.low
    };
    // Deviations of 2 ms of three runs: a standard error above 0.8 ms, so a 90% interval of 2 ms and more.
    assert!(width(&quiet) < 0.3, "{}", width(&quiet));
    assert!(width(&loud) > 2.0, "{}", width(&loud));
}

#[test]
fn one_gpu_is_a_negative_control() {
    let on = |name: &str, step: f64| {
        let run = run(&format!("{name}.json"), 1, 16, 64, 200.0, step);
        side(
            name,
            inputs("llama-3.1-8b", 1, nvidia(Some(true)), vec![run], vec![]),
            None,
        )
    };
    let equal = compared(&on("A", 20.0), &on("B", 20.01));
    assert_eq!(
        figures(&equal.outcome).decode.as_ref().unwrap().verdict,
        LinkVerdict::NoDifference
    );
    // 5% on one GPU are beyond half a per cent from start to start: no link between GPUs did it.
    let moved = compared(&on("A", 20.0), &on("B", 21.0));
    let verdict = &figures(&moved.outcome).decode.as_ref().unwrap().verdict;
    assert!(
        matches!(verdict, LinkVerdict::MoreThanLink { .. }),
        "{verdict:?}"
    );
}

#[test]
fn a_prompt_that_waits_for_others_has_no_first_token_of_its_own() {
    let comparison = compared(&decode("A", 20.0, &[40.0]), &decode("B", 60.0, &[46.6]));
    let figures = figures(&comparison.outcome);
    assert!(figures.first_token.is_none());
}

#[test]
fn a_comparison_reads_back_and_has_its_own_kind() {
    let comparison = compared(&decode("A", 20.0, &[40.0]), &decode("B", 60.0, &[46.6]));
    let json = serde_json::to_string(&comparison).unwrap();
    assert!(json.contains(r#""kind":"links""#), "{json}");
    let back: LinkComparison = serde_json::from_str(&json).unwrap();
    assert_eq!(back, comparison);
    // The same inputs and seed give the same figures.
    assert_eq!(
        compared(&decode("A", 20.0, &[40.0]), &decode("B", 60.0, &[46.6])),
        comparison
    );
}

#[test]
fn prompts_that_no_gap_shows_widen_the_difference() {
    // Each of 16 slots starts again 11.5 times (15 * 3/4 + 1/4) in 127 steps: 0.0906 a token. 160 ms later than a step of 40 they take
    // 0.0906 * 160 / (1 - 0.0906) = 15.93 ms at most, and 153.4 ms later than one of 46.6 15.28: 0.65 ms of the 6.6 between them.
    let without_gaps = |name: &str, us: f64, step_ms: f64| {
        let mut side = decode(name, us, &[step_ms]);
        for (_, run) in &mut side.inputs.serve {
            run.itl_ms = None;
        }
        side
    };
    // Starts that differ by next to nothing, so that prompts are what widens it.
    let of = |a: &LinkSide, b: &LinkSide| {
        let mut sides = [a.clone(), b.clone()];
        for side in &mut sides {
            let given = Override {
                name: "start_on_other_link".to_owned(),
                low: -0.005,
                high: 0.005,
            };
            side.inputs.priors.set(given).unwrap();
        }
        let comparison = compared(&sides[0], &sides[1]);
        let decode = figures(&comparison.outcome).decode.clone().unwrap();
        (decode.measured, decode.verdict)
    };
    let (shown, _) = of(&decode("A", 20.0, &[40.0]), &decode("B", 60.0, &[46.6]));
    let (hidden, verdict) = of(
        &without_gaps("A", 20.0, 40.0),
        &without_gaps("B", 60.0, 46.6),
    );
    // Half of the draws have none of them.
    near(hidden.mid, shown.mid, 0.25);
    near(hidden.low, shown.low, 0.15);
    assert!(
        hidden.high > shown.high + 0.3 && hidden.high < shown.high + 0.75,
        "{shown:?} {hidden:?}"
    );
    // 0.65 ms are a tenth of the difference: the link explains it all the same.
    assert_eq!(verdict, LinkVerdict::ExplainedByLink);
}
