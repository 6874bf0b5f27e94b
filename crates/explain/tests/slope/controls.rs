//! Delays of known length.

use crate::slope::made::{FIVE, Truth, USUAL, arm, links, step};
use explain::{Ablation, Change, SlopeVerdict, slope};

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
