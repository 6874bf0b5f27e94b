//! Arms of one GPU, delays of known length, and arms that change more than the link.

use crate::slope::made::{FIVE, Truth, USUAL, ablation, arm, links, step};
use explain::{
    Ablation, BelowCause, Change, NegativeControl, SlopeCaveat, SlopeVerdict, Undecided, slope,
};

/// One GPU takes 61 ms, in the second arm's environment so many more.
fn with_one_gpu(seed: u64, moved_ms: f64) -> Ablation {
    let mut of = links(seed, USUAL, &FIVE, 161.0);
    let mut truth = Truth::of(seed + 1000);
    let design = crate::slope::made::Design {
        step: 0.002,
        ..USUAL
    };
    for (name, ms) in [
        ("arm-0 on one GPU", 61.0),
        ("arm-4 on one GPU", 61.0 + moved_ms),
    ] {
        let control = (name, Change::NegativeControl);
        of.arms.push(arm(&mut truth, design, control, None, ms));
    }
    of
}

#[test]
fn one_gpu_that_moves_voids_the_test_and_one_that_does_not_is_told() {
    // The fitted steps span 161 * 57 us = 9.2 ms. 2 ms are 22% of it and 10 standard errors (0.2% of 61 ms, 5 launches, two arms:
    // 0.077 ms... times 2.6).
    let moved = slope(&with_one_gpu(1, 2.0));
    let SlopeVerdict::Undecided { why } = &moved.passes else {
        panic!("{moved:?}");
    };
    assert!(
        matches!(why, Undecided::OneGpuMoved { arm, .. } if arm.contains("arm-4")),
        "{why:?}"
    );
    assert!(matches!(
        moved.negative_control,
        NegativeControl::Moved { .. }
    ));
    assert_eq!(moved.evidence(), None);

    let still = (0..40)
        .map(|seed| slope(&with_one_gpu(seed, 0.0)))
        .filter(|of| matches!(of.negative_control, NegativeControl::Still { arms: 2, .. }))
        .count();
    assert_eq!(still, 40);
}

/// Links whose step pays `link` collectives, and delays of 20 and 50 us on top of 18 us whose step pays `delay`.
fn with_delays(seed: u64, link: f64, delay: f64) -> Ablation {
    let mut of = links(seed, USUAL, &FIVE, link);
    let mut truth = Truth::of(seed + 2000);
    for us in [20.0, 50.0] {
        let name = format!("delay-{us}");
        let ms = step(18.0, link) + delay * us / 1e3;
        let delayed = (name.as_str(), Change::Delay);
        of.arms
            .push(arm(&mut truth, USUAL, delayed, Some(18.0 + us), ms));
    }
    of
}

#[test]
fn a_delay_tells_overlap_from_another_path() {
    let below = |of: &Ablation| {
        let of = slope(of);
        let SlopeVerdict::BelowPlan { cause, .. } = of.passes.clone() else {
            panic!("{of:?}");
        };
        (cause, of)
    };
    // Half of the link and half of the delay: 80 of 161.
    let (why, of) = below(&with_delays(1, 80.5, 80.5));
    assert_eq!(why, BelowCause::Overlap);
    assert!(!of.delay_control.unwrap().follows);
    // Half of the link, and the whole delay: the engine's collectives take half as long as the bench's.
    let (why, of) = below(&with_delays(1, 80.5, 161.0));
    assert_eq!(why, BelowCause::OtherPath);
    assert!(of.delay_control.unwrap().follows);
    assert!(of.caveats.contains(&SlopeCaveat::TwoSlopes));
    // Both in full: one line, and the control is reported.
    let of = slope(&with_delays(1, 161.0, 161.0));
    assert_eq!(of.passes, SlopeVerdict::Follows, "{of:?}");
    assert_eq!(of.fit.as_ref().unwrap().arms.len(), 7);
    assert!(of.evidence().is_some() && of.delay_control.unwrap().follows);
}

#[test]
fn numa_arms_are_laid_beside_with_one_gpu_taken_off() {
    let mut truth = Truth::of(7);
    let design = crate::slope::made::Design {
        step: 0.001,
        collective: 0.01,
        launches: 5,
    };
    let mut of = links(7, design, &FIVE, 161.0);
    // Staged on the far node: collectives take 28 instead of 18 us, which is 161 * 10 us = 1.61 ms, and the host takes 3 ms more
    // on one GPU as on two.
    let far = step(28.0, 161.0) + 3.0;
    let control = Change::NegativeControl;
    of.arms.push(arm(
        &mut truth,
        design,
        ("far", Change::Confounded),
        Some(28.0),
        far,
    ));
    of.arms
        .push(arm(&mut truth, design, ("one", control), None, 61.0));
    of.arms
        .push(arm(&mut truth, design, ("one-far", control), None, 64.0));
    of.arms[6].control_of = Some("arm-0".to_owned());
    let of = slope(&of);
    // It bends no line, and that one GPU moves in it voids nothing.
    assert_eq!(of.passes, SlopeVerdict::Follows, "{of:?}");
    assert_eq!(of.negative_control, NegativeControl::NotRun);
    let beside = &of.beside[0];
    let near = |range: explain::Range, is: f64, by: f64| {
        assert!((range.mid - is).abs() < by, "{range:?} {is}");
        assert!(range.low <= range.mid && range.mid <= range.high);
    };
    // Standard errors: 0.1% of 40 ms and of 62 ms at 5 launches are 0.02 and 0.03 ms; 1% of 28 us * 161 is 0.045 ms, 0.02.
    near(beside.step_ms, 4.61, 0.15);
    near(beside.collectives_ms.unwrap(), 1.61, 0.15);
    near(beside.one_gpu_ms.unwrap(), 3.0, 0.2);
    near(beside.difference_ms.unwrap(), 1.61, 0.25);
}

#[test]
fn without_one_gpu_a_confounded_arm_has_no_difference() {
    let mut truth = Truth::of(8);
    let base = arm(&mut truth, USUAL, ("a", Change::Baseline), Some(18.0), 36.9);
    let far = arm(
        &mut truth,
        USUAL,
        ("b", Change::Confounded),
        Some(28.0),
        41.5,
    );
    let of = slope(&ablation(vec![base, far]));
    assert_eq!(of.beside.len(), 1);
    assert_eq!(of.beside[0].difference_ms, None);
    assert!(matches!(of.passes, SlopeVerdict::Undecided { .. }));
}
