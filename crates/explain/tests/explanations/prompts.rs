//! Times per token without gaps between tokens: what other requests' prompts may take of them, and what that leaves to be claimed.

use crate::explanations::boxes::{mean, rtxpro6000_mig};
use crate::explanations::planted::{Truth, holds, streamed, with_curve};
use explain::{
    Attribution, Cause, Grade, Inputs, Verdict, answer, attribute, explain, gates, next, text,
};
use measure::import::ServeRun;

const DRAWS: u32 = 4000;

/// 64 requests in four waves of 16, 256 tokens each: 11.5 others start while one decodes its 255 tokens (15 * 3/4 + 1 * 1/4).
const STARTS: f64 = 11.5 / 255.0;

/// A time per token, and a first token that comes so much later than it, ms.
fn later(tp: u32, token_ms: f64, first_ms: f64) -> (u32, ServeRun) {
    let (_, mut run) = streamed(tp, token_ms, 0.0);
    let latency = 256.0 * token_ms + first_ms;
    run.ttft_ms = Some(mean(token_ms + first_ms));
    run.e2el_ms = Some(mean(latency));
    run.duration_s = 4.0 * latency / 1e3;
    run.requests_per_s = 64.0 / run.duration_s;
    (tp, run)
}

/// TP1 60.9 ms and TP2 45.3 ms a token; the first token comes so much later at both.
fn of(first_ms: f64) -> Inputs {
    let mut inputs = rtxpro6000_mig();
    inputs.serve = vec![later(1, 60.9, first_ms), later(2, 45.3, first_ms)];
    inputs
}

/// What of a time per token prompts may take at most, ms: the starts that it sees times what each adds, which it holds itself.
fn bound(first_ms: f64) -> f64 {
    STARTS * first_ms / (1.0 - STARTS)
}

fn said(got: &Attribution) -> &String {
    let prompts = |said: &&String| said.starts_with("other requests' prompts take 0 to ");
    got.caveats.iter().find(prompts).unwrap()
}

#[test]
fn prompts_that_no_gap_shows_widen_the_step_downwards_and_leave_its_middle() {
    let (without, with) = (of(0.0), of(30.0));
    let step = |inputs: &Inputs| attribute(inputs, 1, DRAWS).unwrap().step_of_several;
    let (narrow, wide) = (step(&without), step(&with));
    // 0.0451 * 30 / 0.9549 = 1.417 ms of 45.3.
    assert!((bound(30.0) - 1.417).abs() < 1e-3);
    assert!((wide.mid - narrow.mid).abs() < 0.2, "{narrow:?} {wide:?}");
    // The upper end stays, and the lower one holds all of it.
    assert!((wide.high - narrow.high).abs() < 0.1, "{narrow:?} {wide:?}");
    assert!(
        wide.low < 45.3 - 1.3 && wide.low > 45.3 - 1.417 - 0.5,
        "{wide:?}"
    );
    // 1.42 of 45.3 - 30.45 = 14.85 ms are 9.5%: said, and no claim is taken back.
    let inputs = with_curve(with, 66.0, 300.0);
    let got = attribute(&inputs, 1, DRAWS).unwrap();
    assert!((got.prompts_ms.unwrap() - 1.417).abs() < 1e-3);
    assert_eq!(got.bar(Cause::Communication).unwrap().grade, Some(Grade::C));
    assert!(
        said(&got).contains("0 to 1.42 ms of TP2's 45.30 ms a token")
            && said(&got).contains("up to 10% of the 14.85 ms"),
        "{}",
        said(&got)
    );
    // Nothing of it where the stream shows gaps: their median is the time per token.
    let mut shown = inputs;
    for (_, run) in &mut shown.serve {
        let mut gaps = run.tpot_ms.unwrap();
        gaps.median = Some(gaps.mean);
        run.itl_ms = Some(gaps);
    }
    let got = attribute(&shown, 1, DRAWS).unwrap();
    assert_eq!(got.prompts_ms, None);
    assert!(
        (got.step_of_several.low - narrow.low).abs() < 0.1,
        "{got:?}"
    );
}

#[test]
fn prompts_that_may_be_a_tenth_of_the_excess_leave_no_claim_better_than_perhaps() {
    // 4.72 of 14.85 ms are 32%.
    assert!((bound(100.0) - 4.723).abs() < 1e-3);
    let inputs = with_curve(of(100.0), 66.0, 300.0);
    let explanation = explain(&inputs, 1, DRAWS);
    let got = attribute(&inputs, 1, DRAWS).unwrap();
    for cause in [Cause::Communication, Cause::AllReduce, Cause::AllGather] {
        assert_eq!(got.bar(cause).unwrap().grade, Some(Grade::D), "{cause}");
    }
    // The curve's time is what it was: 161 * 66 us + 0.3 ms = 10.9 ms, times 0.72 to 1.3.
    let bar = got.bar(Cause::Communication).unwrap();
    assert!(bar.ms.low > 7.8 && bar.ms.high < 14.2, "{bar:?}");
    assert!(!got.drops_draws());
    let first = &answer(&explanation)[0];
    assert!(
        first.contains("communication takes perhaps ")
            && first.ends_with("(a rough estimate from collective times measured on this box: other requests' prompts may be in it)."),
        "{first}"
    );
    assert!(
        said(&got).contains(
            "up to 32% of the 14.85 ms above 1/2 of TP1's: communication is told as perhaps"
        ),
        "{}",
        said(&got)
    );
    // What to measure is what shows them.
    let steps = next(&inputs, &got);
    assert!(
        steps
            .iter()
            .any(|step| step.what.starts_with("gaps between tokens (ITL)")),
        "{steps:?}"
    );
    assert!(text(&explanation).contains("prompts may be in the step, so that its evidence is D"));
}

#[test]
fn a_mean_gap_beside_the_time_per_token_changes_no_answer_and_asks_for_the_median() {
    for first_ms in [30.0, 100.0] {
        let without = with_curve(of(first_ms), 66.0, 300.0);
        let mut with = without.clone();
        for (_, run) in &mut with.serve {
            run.itl_ms = run.tpot_ms.map(|each| mean(each.mean));
        }
        let (plain, asked) = (explain(&without, 1, DRAWS), explain(&with, 1, DRAWS));
        assert_eq!(answer(&plain), answer(&asked), "{first_ms}");
        let wants = "its ITL is a mean, which prompts pull up: give the median beside it";
        let got = attribute(&with, 1, DRAWS).unwrap();
        assert!(said(&got).contains(wants), "{}", said(&got));
        let got = attribute(&without, 1, DRAWS).unwrap();
        assert!(!said(&got).contains(wants), "{}", said(&got));
    }
}

#[test]
fn where_prompts_leave_nothing_of_communication_nothing_is_said() {
    // 0.0472 * 1000 ms are more than the whole time per token. Of this GPU reading the weights leaves 60.9 - 42 ms for them at most;
    // of a GPU that nobody knows communication may be anything or nothing.
    assert!(attribute(&of(1000.0), 1, DRAWS).is_ok());
    let mut unknown = of(1000.0);
    unknown.known.gpu = None;
    let refusal = attribute(&unknown, 1, DRAWS).unwrap_err().to_string();
    assert!(
        refusal.contains("communication could be ")
            && refusal.contains("gaps between tokens (ITL)"),
        "{refusal}"
    );
    // What to do is what shows them, and not to look for files mixed up.
    let first = &answer(&explain(&unknown, 1, DRAWS))[1];
    assert!(
        first.starts_with("What to do first: give a result with gaps between tokens (ITL)"),
        "{first}"
    );
    // Nobody timed a first token or a latency: that nothing bounds them takes the claim, too.
    let mut silent = with_curve(of(0.0), 66.0, 300.0);
    for (_, run) in &mut silent.serve {
        (run.ttft_ms, run.e2el_ms) = (None, None);
    }
    let got = attribute(&silent, 1, DRAWS).unwrap();
    assert_eq!(got.bar(Cause::Communication).unwrap().grade, Some(Grade::D));
    assert!(
        got.caveats
            .iter()
            .any(|said| said.contains("neither gaps between tokens nor a time to first token")),
        "{:?}",
        got.caveats
    );
}

/// A step with others' prompts in it: each takes `prompt_ms` of all that decode, and `together` of 16 start at once, the first wave
/// all. The time to first token holds the prompts before one's own: half of those together, and the own.
fn with_prompts(tp: u32, step_ms: f64, prompt_ms: f64, together: f64) -> (u32, ServeRun) {
    let added = |of: f64| (16.0 - of) + (of - 1.0) / 2.0;
    let first = |of: f64| (of + 1.0) / 2.0;
    // Three of four waves start as they do, and the first of four together, which then see no one else.
    let seen = 0.75 * added(together) + 0.25 * 7.5;
    let waited = 0.75 * first(together) + 0.25 * first(16.0);
    let token = step_ms + seen * prompt_ms / 255.0;
    later(tp, token, step_ms + waited * prompt_ms - token)
}

#[test]
fn communication_that_was_planted_lies_in_what_is_left_however_prompts_start() {
    for together in [1.0, 4.0, 16.0] {
        let mut found = 0;
        for seed in 0..60 {
            let mut truth = Truth::of(seed + 77_000);
            let (gain, prompt) = (truth.within(1.72, 1.95), truth.within(5.0, 40.0));
            let communication = truth.within(8.0, 16.0);
            let mut inputs = rtxpro6000_mig();
            // 2.9 ms are on every GPU; a prompt takes 0.6 times as long on two.
            inputs.serve = vec![
                with_prompts(1, 60.9, prompt, together),
                with_prompts(2, 58.0 / gain + 2.9 + communication, 0.6 * prompt, together),
            ];
            let got = attribute(&inputs, seed, 1500).unwrap();
            found += u32::from(holds(got.remainder, communication));
        }
        // 87% of 60 are 52.
        assert!(found >= 52, "{found} of 60, {together} together");
    }
}

/// The same with gaps between tokens of a mean and a median that are these parts of the time per token.
fn with_gaps(first_ms: f64, mean_part: f64, median_part: f64) -> Inputs {
    let mut inputs = with_curve(of(first_ms), 66.0, 300.0);
    for (_, run) in &mut inputs.serve {
        let each = run.tpot_ms.unwrap().mean;
        let mut gaps = mean(each * mean_part);
        gaps.median = Some(each * median_part);
        run.itl_ms = Some(gaps);
    }
    inputs
}

/// What the gate on pure decoding of TP2 saw, and how it came out.
fn pure_decode(inputs: &Inputs) -> (Verdict, String) {
    let all = gates(inputs);
    let gate = all.iter().find(|gate| gate.name == "pure decode, TP2");
    let gate = gate.unwrap();
    (gate.verdict, gate.seen.clone())
}

#[test]
fn a_median_far_below_the_time_per_token_is_the_step_and_leaves_a_perhaps() {
    // 0.92 of 45.3 are 41.68 ms: 8.7% below.
    let inputs = with_gaps(100.0, 1.0, 0.92);
    let (verdict, seen) = pure_decode(&inputs);
    assert_eq!(verdict, Verdict::Unknown, "{seen}");
    assert!(
        seen.starts_with("the mean time per token lies 9% above the median gap"),
        "{seen}"
    );
    let got = attribute(&inputs, 1, DRAWS).unwrap();
    // From the median to 5% of the time per token above it: 41.68 to 43.94 ms, the middle at 42.81.
    assert!((got.step_of_several.mid - 42.81).abs() < 0.3, "{got:?}");
    assert!((got.step_of_one.mid - 60.9 * 0.945).abs() < 0.4, "{got:?}");
    for cause in [Cause::Communication, Cause::AllReduce] {
        assert_eq!(got.bar(cause).unwrap().grade, Some(Grade::D), "{cause}");
    }
    let first = &answer(&explain(&inputs, 1, DRAWS))[0];
    assert!(
        first.contains("communication takes perhaps ")
            && first.contains("the steps with prompts are left out of it by a median"),
        "{first}"
    );
    // 3% below is as it was: all of the evidence.
    let got = attribute(&with_gaps(100.0, 1.0, 0.97), 1, DRAWS).unwrap();
    assert_eq!(got.bar(Cause::AllReduce).unwrap().grade, Some(Grade::C));
}

#[test]
fn gaps_that_contradict_each_other_prove_nothing_of_pure_decoding() {
    // A median 36% above the mean.
    let (verdict, seen) = pure_decode(&with_gaps(30.0, 1.0, 1.36));
    assert_eq!(verdict, Verdict::Unknown);
    assert!(
        seen.contains("lies 36% above the mean gap") && seen.contains("proves nothing of pure"),
        "{seen}"
    );
    // A mean and a median of a third of the time per token.
    let (verdict, seen) = pure_decode(&with_gaps(100.0, 0.33, 0.31));
    assert_eq!(verdict, Verdict::Unknown);
    assert!(
        seen.contains("another unit or are another thing") && !seen.contains("mixed in"),
        "{seen}"
    );
    // A median alone of a quarter of it: 4.0 times.
    let (verdict, seen) = pure_decode(&with_gaps(100.0, 1.0, 0.25));
    assert_eq!(verdict, Verdict::Failed);
    assert!(
        seen.contains("is 4.0 times the median gap: one of the two has another unit")
            && !seen.contains("mixed in"),
        "{seen}"
    );
}

#[test]
fn what_is_not_taken_of_the_gaps_is_said_and_not_called_missing() {
    let mut inputs = with_gaps(100.0, 1.0, 1.0);
    let why =
        "median_itl_ms is not taken: it is -1, no time above zero: write the one that was measured";
    for (_, run) in &mut inputs.serve {
        run.itl_ms = run.itl_ms.map(|gaps| mean(gaps.mean));
        run.conditions.not_taken = vec![why.to_owned()];
    }
    let (_, seen) = pure_decode(&inputs);
    assert!(seen.contains(why) && !seen.contains("without"), "{seen}");
}

#[test]
fn an_engine_without_rules_here_has_its_collectives_told_as_perhaps() {
    let mut inputs = with_gaps(30.0, 1.0, 1.0);
    let grade = |inputs: &Inputs| {
        let got = attribute(inputs, 1, DRAWS).unwrap();
        got.bar(Cause::Communication).unwrap().grade
    };
    assert_eq!(grade(&inputs), Some(Grade::C));
    for (_, run) in &mut inputs.serve {
        run.conditions.engine = Some("llama.cpp".to_owned());
    }
    assert_eq!(grade(&inputs), Some(Grade::D));
    let first = &answer(&explain(&inputs, 1, DRAWS))[0];
    assert!(
        first.contains("perhaps") && first.contains("what llama.cpp sends is not known here"),
        "{first}"
    );
}
