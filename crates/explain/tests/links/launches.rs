//! What one launch tells of two links: launches differ, curves are timed in modes, and a curve may lack what is sent.

use crate::links::cases::{figures, inputs, near, nvidia, point, run, side};
use explain::{LinkSide, LinkVerdict, compare_links};
use record::CallMode;
use tp_plan::{Surroundings, Vendor};

const DRAWS: u32 = 4_000;

/// All-reduces of 16 sequences of a 72B model: 16 * 8192 * 2 bytes.
const MESSAGE: u64 = 16 * 8192 * 2;

/// 161 all-reduces of `us` in a step of `step_ms`, one launch, timed in this mode.
fn launch(name: &str, us: f64, step_ms: f64, mode: CallMode) -> LinkSide {
    let mut curve = vec![
        point(2, MESSAGE, us, mode),
        point(2, 16 * MESSAGE, 8.0 * us, mode),
    ];
    for of in &mut curve {
        of.origin = format!("curve of {name}, {us} us");
    }
    let served = run(&format!("{name}{step_ms}.json"), 2, 16, 64, 200.0, step_ms);
    side(
        name,
        inputs("qwen2.5-72b", 2, nvidia(Some(false)), vec![served], curve),
        None,
    )
}

fn on_cpus(mut of: LinkSide) -> LinkSide {
    of.inputs.around = Surroundings::of_gpus(Vendor::Host, &[], None, false, None);
    for point in &mut of.inputs.curve {
        point.library = Some("host".to_owned());
        point.engine = Some("vllm".to_owned());
    }
    of
}

fn verdict(a: &LinkSide, b: &LinkSide) -> LinkVerdict {
    let comparison = compare_links(a, b, 1, DRAWS);
    figures(&comparison.outcome).decode.clone().unwrap().verdict
}

#[test]
fn launches_of_one_experiment_do_not_contradict_each_other() {
    // An all-reduce takes 100 us in truth, 161 of them 16.1 ms, and every step shows that. Launches of the curve gave 0.84 to 1.43
    // times as much, as eight did over gloo: 0.6 * 143 us = 86 and 1.7 * 84 = 143.
    for us in [84.0, 100.0, 143.0] {
        let a = on_cpus(launch("A", 1.0, 14.5, CallMode::Interleaved));
        let b = on_cpus(launch("B", us, 14.5 + 16.1, CallMode::Interleaved));
        let verdict = verdict(&a, &b);
        assert!(
            !matches!(
                verdict,
                LinkVerdict::MoreThanLink { .. } | LinkVerdict::LessThanLink { .. }
            ),
            "{us} us: {verdict:?}"
        );
    }
}

#[test]
fn one_start_a_side_is_as_wide_as_starts_differ() {
    let a = launch("A", 20.0, 40.0, CallMode::Interleaved);
    let b = launch("B", 60.0, 46.6, CallMode::Interleaved);
    let comparison = compare_links(&a, &b, 1, DRAWS);
    let found = figures(&comparison.outcome);
    let measured = found.decode.as_ref().unwrap().measured;
    // Each within 1.5%: uniform in 0.6 and 0.7 ms to either side. Of such a sum 5% lie above 1.3 - sqrt(2 * 0.05 * 1.2 * 1.4) = 0.89 ms;
    // intervals of 0.1% add little.
    near((measured.high - measured.low) / 2.0, 0.89, 0.04);
    let is_listed = |name: &str| found.priors.iter().any(|prior| prior.name == name);
    assert!(is_listed("start_on_other_link") && is_listed("curve_start_to_start"));
}

#[test]
fn three_launches_of_a_curve_tell_its_spread_themselves() {
    let b = || launch("B", 60.0, 46.6, CallMode::Interleaved);
    let listed = |b: &LinkSide| {
        let mut a = launch("A", 20.0, 40.0, CallMode::Interleaved);
        a.inputs.priors = b.inputs.priors.clone();
        // The base tells its own as well.
        a.inputs.evidence.over_launches = vec![a.inputs.curve[0].origin.clone()];
        let comparison = compare_links(&a, b, 1, DRAWS);
        let found = figures(&comparison.outcome).clone();
        found
            .priors
            .iter()
            .any(|prior| prior.name == "curve_start_to_start")
    };
    assert!(listed(&b()));
    // Three files of one launch each.
    let mut several = b();
    for (n, us) in [(1, 58.0), (2, 63.0)] {
        let mut more = several.inputs.curve[..2].to_vec();
        for of in &mut more {
            of.us *= us / 60.0;
            (of.low, of.high) = (Some(of.us * 0.99), Some(of.us * 1.01));
            of.origin = format!("launch {n}");
        }
        several.inputs.curve.extend(more);
    }
    assert!(!listed(&several));
    // One file whose numbers are over its n = 20 launches.
    let mut over = b();
    over.inputs.evidence.over_launches = vec![over.inputs.curve[0].origin.clone()];
    assert!(!listed(&over));
}

#[test]
fn gaps_on_one_side_alone_leave_both_to_the_time_to_first_token() {
    let without_gaps = |mut side: LinkSide| {
        for (_, run) in &mut side.inputs.serve {
            run.itl_ms = None;
        }
        side
    };
    let a = || launch("A", 20.0, 40.0, CallMode::Interleaved);
    let b = || launch("B", 60.0, 46.6, CallMode::Interleaved);
    let of = |a: &LinkSide, b: &LinkSide| {
        let comparison = compare_links(a, b, 1, DRAWS);
        let found = figures(&comparison.outcome);
        (
            found.decode.as_ref().unwrap().measured,
            found.caveats.clone(),
        )
    };
    // What prompts may take is bounded alike on both, whichever side's gaps show that there are none.
    let (both, _) = of(&without_gaps(a()), &without_gaps(b()));
    let (one, _) = of(&a(), &without_gaps(b()));
    assert_eq!(one, both);
    let (_, _) = of(&a(), &b());
    // A stream on one side alone: both by latency.
    let mut unstreamed = b();
    for (_, run) in &mut unstreamed.inputs.serve {
        run.streamed = false;
        (run.ttft_ms, run.tpot_ms, run.itl_ms) = (None, None, None);
    }
    let (_, _) = of(&a(), &unstreamed);
}
