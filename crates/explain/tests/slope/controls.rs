//! Arms of one GPU, delays of known length, and arms that change more than the link.

use crate::slope::made::{FIVE, Truth, USUAL, arm, links, step};
use explain::{Ablation, Change, SlopeVerdict, Undecided, slope};

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
    assert!(moved.one_gpu.as_ref().is_some_and(|one| one.moved));
    assert_eq!(moved.evidence(), None);

    let still = (0..40)
        .map(|seed| slope(&with_one_gpu(seed, 0.0)))
        .filter(|of| of.one_gpu.as_ref().is_some_and(|one| !one.moved))
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
        let SlopeVerdict::BelowPlan { .. } = of.passes else {
            panic!("{of:?}");
        };
        (
            of.delay_control.unwrap().follows,
            of.fit.unwrap().arms.len(),
        )
    };
    // Half of the link and half of the delay: 80 of 161, one line.
    assert_eq!(below(&with_delays(1, 80.5, 80.5)), (false, 7));
    // Half of the link, and the whole delay: the engine's collectives take half as long as the bench's, and the line is of links.
    assert_eq!(below(&with_delays(1, 80.5, 161.0)), (true, 5));
    // Both in full: one line, and the control is reported.
    let of = slope(&with_delays(1, 161.0, 161.0));
    assert_eq!(of.passes, SlopeVerdict::Follows, "{of:?}");
    assert_eq!(of.fit.as_ref().unwrap().arms.len(), 7);
    assert!(of.evidence().is_some() && of.delay_control.unwrap().follows);
}

#[test]
fn arms_that_change_more_than_the_link_bend_no_line_and_void_nothing() {
    let mut truth = Truth::of(7);
    let mut of = links(7, USUAL, &FIVE, 161.0);
    // On the far node the host takes 3 ms more, on one GPU as on two.
    let control = Change::NegativeControl;
    let far = ("far", Change::Confounded);
    let ms = step(28.0, 161.0) + 3.0;
    of.arms.push(arm(&mut truth, USUAL, far, Some(28.0), ms));
    for (name, ms, controlled) in [("one", 61.0, "arm-0"), ("one-far", 64.0, "far")] {
        let mut one = arm(&mut truth, USUAL, (name, control), None, ms);
        one.control_of = Some(controlled.to_owned());
        of.arms.push(one);
    }
    let of = slope(&of);
    assert_eq!(of.passes, SlopeVerdict::Follows, "{of:?}");
    assert_eq!((of.one_gpu, of.fit.unwrap().arms.len()), (None, 5));
}
