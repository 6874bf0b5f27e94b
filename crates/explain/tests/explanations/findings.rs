//! What stands against an answer and what only lowers its grade, by codes: the field case with one thing changed.

use explain::{Attribution, Cause, Finding, Grade, Inputs, attribute, findings};
use import::serve::Throttle;

use crate::explanations::boxes::rtxpro6000_mig;

fn has(inputs: &Inputs, code: &str) -> bool {
    findings(inputs).iter().any(|of| of.code() == code)
}

/// The codes for which nothing is attributed; empty where something is.
fn refused(inputs: &Inputs) -> Vec<&'static str> {
    let reasons = attribute(inputs, 1, 500).map_or_else(|refusal| refusal.reasons, |_| Vec::new());
    reasons.iter().map(Finding::code).collect()
}

fn attributed(inputs: &Inputs) -> Attribution {
    attribute(inputs, 1, 500).unwrap()
}

fn of_tp2(inputs: &mut Inputs) -> &mut import::ServeRun {
    let mut runs = inputs.serve.iter_mut();
    &mut runs.find(|(tp, _)| *tp == 2).unwrap().1
}

#[test]
fn the_field_case_is_attributed_by_published_times_and_the_bound_stands_beside_them() {
    let got = attributed(&rtxpro6000_mig());
    assert!((got.throughput_gain - 1.3366).abs() < 1e-3);
    let by_published = got.published_ms().unwrap();
    // 161 all-reduces of 39.32 us and an all-gather are 6.5 ms, times 0.8 to 2.5 and less what would not fit: about 7.3 of 12.2.
    assert!((by_published.mid - 7.3).abs() < 0.3, "{by_published:?}");
    assert!(
        (got.remainder.high - 12.2).abs() < 0.3,
        "{:?}",
        got.remainder
    );
    assert!(!got.is_measured());
    assert_eq!(got.bar(Cause::Communication).unwrap().grade, Some(Grade::D));
}

#[test]
fn four_things_refuse() {
    let mut other_model = rtxpro6000_mig();
    of_tp2(&mut other_model).model = Some("meta-llama/Llama-3.1-8B".to_owned());
    assert!(refused(&other_model).contains(&"model-differs"));

    let mut batch = rtxpro6000_mig();
    // 16 in flight become 12: 33% apart.
    of_tp2(&mut batch).requests_per_s *= 0.75;
    assert_eq!(refused(&batch), ["batch-differs"]);

    let mut failed = rtxpro6000_mig();
    // 2 of 66 are 3%.
    of_tp2(&mut failed).failed = Some(2);
    assert_eq!(refused(&failed), ["requests-failed"]);

    let mut mixed = rtxpro6000_mig();
    of_tp2(&mut mixed).simulated = Some("l40x4".to_owned());
    assert_eq!(refused(&mixed), ["simulated-mixed"]);

    let mut alone = rtxpro6000_mig();
    alone.serve.retain(|(tp, _)| *tp == 2);
    assert_eq!(refused(&alone), ["size-missing"]);
}

#[test]
fn all_else_lowers_the_grade() {
    let mut batch = rtxpro6000_mig();
    // 7% apart: compared, and no better than D.
    of_tp2(&mut batch).requests_per_s *= 0.93;
    assert!(has(&batch, "batch-differs"));
    assert_eq!(refused(&batch), Vec::<&str>::new());

    let mut engine = rtxpro6000_mig();
    for (tp, run) in &mut engine.serve {
        run.conditions.engine = Some(if *tp == 1 { "vllm" } else { "sglang" }.to_owned());
    }
    assert!(has(&engine, "conditions-differ"));
    assert_eq!(refused(&engine), Vec::<&str>::new());
    let grades = attributed(&engine)
        .bars
        .into_iter()
        .filter_map(|bar| bar.grade);
    assert!(grades.clone().count() > 0 && grades.clone().all(|grade| grade == Grade::D));

    let mut open = rtxpro6000_mig();
    let run = of_tp2(&mut open);
    (run.concurrency_asked, run.request_rate_asked) = (None, Some(f64::INFINITY));
    assert!(has(&open, "open-loop"));

    let mut hot = rtxpro6000_mig();
    let origin = of_tp2(&mut hot).origin.clone();
    hot.evidence.throttle = vec![Throttle {
        origin,
        readings: 100,
        slowed: 20,
        reasons: vec!["hardware thermal slowdown".to_owned()],
        clock_mhz: None,
    }];
    assert!(has(&hot, "throttled"));

    let mut length = rtxpro6000_mig();
    let run = of_tp2(&mut length);
    run.input_tokens = run.input_tokens.map(|all| all * 2);
    assert!(has(&length, "lengths-differ"));
}

#[test]
fn a_file_that_says_little_gets_notes_and_no_cap() {
    let found = findings(&rtxpro6000_mig());
    let codes: Vec<&str> = found.iter().map(Finding::code).collect();
    assert!(codes.contains(&"clocks-not-watched") && codes.contains(&"transport-unknown"));
    assert!(
        found.iter().all(|of| of.caps().is_none() && !of.refuses()),
        "{found:?}"
    );
}
