//! Launches of one size that differ, and gains that are not told where communication is not.

use crate::explanations::boxes::rtxpro6000_mig;
use crate::explanations::planted::{streamed, with_curve};
use explain::{
    Claim, Inputs, Substitution, Verdict, answer, attribute, explain, gates, text, what_if,
};

const DRAWS: u32 = 4000;

fn runs(several_ms: &[f64]) -> Inputs {
    let mut inputs = rtxpro6000_mig();
    inputs.serve = vec![streamed(1, 60.9, 0.0)];
    for ms in several_ms {
        inputs.serve.push((2, streamed(2, *ms, 0.0).1));
    }
    inputs
}

#[test]
fn the_step_of_launches_that_differ_is_their_mean_and_they_are_named() {
    // The mean of 45 and 55 is 50, and 55 is 22% above 45. The curve's 161 * 137 us + 0.3 ms fit the second launch better.
    for inputs in [
        runs(&[45.0, 55.0]),
        with_curve(runs(&[45.0, 55.0]), 137.0, 300.0),
    ] {
        let found = attribute(&inputs, 1, DRAWS).unwrap();
        let step = found.step_of_several;
        assert!((step.mid - 50.0).abs() < 0.3, "{step:?}");
        assert!(step.low < 46.0 && step.high > 54.0, "{step:?}");
        // 60.9 / 50 = 1.218.
        assert!(
            (found.speed_up.mid - 1.218).abs() < 0.01,
            "{:?}",
            found.speed_up
        );
        let told = &found.caveats[0];
        assert!(
            told.starts_with(
                "launches of TP2 differ by 22%: a step takes from 45.0 to 55.0 ms (n = 2 launches)"
            ),
            "{told}"
        );
    }
    // 2% is what launches of one state do.
    let found = attribute(&runs(&[45.0, 45.9]), 1, DRAWS).unwrap();
    assert!(!found.caveats.iter().any(|of| of.starts_with("launches of")));
}

#[test]
fn today_of_a_what_if_on_repeated_launches_is_their_mean_as_in_the_waterfall() {
    let inputs = with_curve(runs(&[45.0, 55.0]), 60.0, 400.0);
    let found = attribute(&inputs, 1, DRAWS).unwrap();
    let ask = |text: &str| {
        let asked = [Substitution {
            asked: text.to_owned(),
            by: text.parse().unwrap(),
        }];
        let answers = what_if(&inputs, &found, &asked);
        answers[0].predicted().unwrap().clone()
    };
    let same = ask("comm=x1");
    // The mean of 45 and 55 ms is 50, of which 16 sequences get a token each: 320 tokens/s, and with nothing changed they stay.
    let today = same.today_tokens_per_s.unwrap();
    assert!((today.mid - 320.0).abs() < 2.0, "{today:?}");
    assert!((same.step_ms.mid - 50.0).abs() < 0.3, "{same:?}");
    assert!((same.gain.mid - 1.0).abs() < 1e-9, "{same:?}");
    // 60.9 / 50 = 1.218.
    assert!((same.speed_up.mid - 1.218).abs() < 0.01, "{same:?}");
    // 161 * 60 us and 0.4 ms are 10.1 ms, times 0.72 to 1.3: 36.9 to 42.7 ms are left of 50.
    let free = ask("comm=x0");
    assert!(
        (36.9..=42.7).contains(&free.step_ms.mid),
        "{:?}",
        free.step_ms
    );
    let before = free.step_ms.mid - free.change_ms.mid;
    assert!((before - 50.0).abs() < 0.3, "{free:?}");
}

#[test]
fn nothing_is_told_of_free_links_where_communication_is_not_told_from_nothing() {
    // Half of 60.9 is 30.5: narrow GEMMs and what never shards take the 3 ms above it.
    let explanation = explain(&runs(&[33.5]), 1, DRAWS);
    let explain::Outcome::Attributed { attribution, .. } = &explanation.outcome else {
        panic!("{:?}", explanation.outcome)
    };
    assert!(matches!(attribution.claim, Claim::None { .. }));
    let text = text(&explanation);
    assert!(
        text.contains("x; what free links would give is not told, since communication is not told from nothing\n")
            && !text.contains("if links were free"),
        "{text}"
    );
}

#[test]
fn without_a_curve_the_main_cause_is_not_called_unexplained() {
    let mut inputs = runs(&[52.0]);
    inputs.curve.clear();
    // A GPU that nobody published a curve of.
    inputs.known.gpu = Some("NVIDIA T1000".to_owned());
    let why = &answer(&explain(&inputs, 1, DRAWS))[0];
    assert!(
        why.contains("mainly because of communication or something unexplained, which cannot be told apart without this box's curve: of the "),
        "{why}"
    );
}

#[test]
fn batches_that_a_last_wave_makes_unequal_are_run_again_longer_at_the_batch_of_one() {
    // 16 asked of both; 72 requests on two GPUs are four waves of 16 and one of 8, 14.4 in flight.
    let mut inputs = runs(&[45.0]);
    let run = &mut inputs.serve[1].1;
    run.completed = 72;
    run.requests_per_s *= 14.4 / 16.0;
    run.duration_s = 72.0 / run.requests_per_s;
    run.input_tokens = Some(72 * 89);
    run.output_tokens = Some(72 * 256);
    let all = gates(&inputs);
    let gate = all.iter().find(|gate| gate.name == "batch equal").unwrap();
    assert_eq!(gate.verdict, Verdict::Failed, "{gate:?}");
    let run = gate.what_to_run.as_deref().unwrap();
    assert!(
        run.contains("16 in flight as on one GPU, and more requests, in whole waves: ")
            && !run.contains("half-model"),
        "{run}"
    );
    // Twice 72 are nine waves of 16.
    assert!(
        run.contains("--tp 2 --concurrency 16 --requests 144 "),
        "{run}"
    );
    let first = &answer(&explain(&inputs, 1, DRAWS))[1];
    assert!(first.contains("--concurrency 16"), "{first}");
}

#[test]
fn an_open_loop_on_several_is_to_be_run_at_the_batch_of_one() {
    let mut inputs = runs(&[45.0]);
    inputs.serve[0].1.concurrency_asked = Some(8.0);
    let run = &mut inputs.serve[1].1;
    run.concurrency_asked = None;
    run.request_rate_asked = Some(1.0);
    let all = gates(&inputs);
    let open = all
        .iter()
        .find(|gate| gate.name.starts_with("closed loop") && gate.verdict == Verdict::Failed)
        .unwrap();
    let run = open.what_to_run.as_deref().unwrap();
    assert!(run.ends_with("--concurrency 8"), "{run}");
}
