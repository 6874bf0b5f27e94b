//! One prompt at a time on x16 and on x8: the same pair of runs shows the link in the time to first token and not in the step.

use crate::links::cases::{figures, inputs, near, nvidia, point, run, side};
use explain::{LinkSide, LinkVerdict, compare_links, links_answer};
use measure::record::CallMode;

/// Llama-3.1-8B at TP2 without graphs, prompts of 1024 tokens one after the other. All-reduces of a step are of 4096 * 2 = 8 KiB, those
/// of a prompt of 8 MiB.
fn one_prompt(
    name: &str,
    (step_us, prompt_us): (f64, f64),
    (ttft_ms, tpot_ms): (f64, f64),
) -> LinkSide {
    let curve = vec![
        point(2, 8 << 10, step_us, CallMode::BackToBack),
        point(2, 8 << 20, prompt_us, CallMode::BackToBack),
    ];
    let served = run(&format!("{name}.json"), 2, 1, 1024, ttft_ms, tpot_ms);
    let mut inputs = inputs("llama-3.1-8b", 2, nvidia(Some(false)), vec![served], curve);
    inputs.engines = vec![inputs.engines[0].clone().with_eager()];
    // Every time is over its n = 20 launches.
    inputs.evidence.over_launches = inputs.curve.iter().map(|of| of.origin.clone()).collect();
    side(name, inputs, None)
}

#[test]
fn x8_against_x16_shows_in_the_first_token_and_not_in_the_step_of_one_prompt() {
    // 8 KiB take 20 us, of which bytes are 0.3 on x16 and 0.6 on x8: 65 * 0.3 us = 0.02 ms of a step of 20 ms, where one start
    // differs from another by 0.1. 8 MiB take 340 and 660 us: 65 * 320 us = 20.8 ms of a first token of 60 ms.
    let comparison = compare_links(
        &one_prompt("x16", (20.0, 340.0), (60.0, 20.0)),
        &one_prompt("x8", (20.3, 660.0), (60.0 + 20.8, 20.02)),
        1,
        4_000,
    );
    let figures = figures(&comparison.outcome);
    let (step, first) = (
        figures.decode.as_ref().unwrap(),
        figures.first_token.as_ref().unwrap(),
    );
    near(first.measured.mid, 20.8, 0.3);
    let predicted = first.predicted.as_ref().unwrap();
    assert_eq!(predicted.planned, 65);
    near(predicted.effective.unwrap().mid, 65.0, 3.0);
    assert_eq!(first.verdict, LinkVerdict::ExplainedByLink, "{first:?}");
    near(step.measured.mid, 0.02, 0.03);
    assert_eq!(step.is_longer_on_a(), None);
    // The logits' 125 KiB take 20 us more: 0.04 ms in all, times 1.3 at most, where these runs see 0.1 and more.
    assert!(
        matches!(step.verdict, LinkVerdict::CannotShow { most_ms, seen_from_ms } if most_ms < 0.08 && seen_from_ms > 0.1),
        "{step:?}"
    );
    let answer = &links_answer(&comparison)[0];
    assert!(
        answer.contains("ms longer on x8") && answer.contains("which the link explains"),
        "{answer}"
    );
    assert!(answer.contains("cannot differ visibly"), "{answer}");
}
