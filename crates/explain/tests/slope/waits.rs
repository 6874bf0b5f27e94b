//! A wait at each collective that no arm changes: no slope shows it.

use crate::slope::made::{Design, Truth, ablation, arm, near};
use explain::{Change, Slope, slope};

/// All-reduces of a step of Llama-3.1-8B: 1 + 2 * 32.
const PLANNED: f64 = 65.0;

/// What an all-reduce takes on the box as it is, us.
const BASE_US: f64 = 26.0;

/// The step without collectives, ms.
const ALONE_MS: f64 = 12.75;

const STEADY: Design = Design {
    step: 0.001,
    collective: 0.01,
    launches: 5,
};

fn step(us: f64, wait_us: f64) -> f64 {
    ALONE_MS + PLANNED * (us + wait_us) / 1e3
}

/// Arms of links and delays; in every one of them each all-reduce waits so much longer than a bench's.
fn tested(wait_us: f64) -> Slope {
    let mut truth = Truth::of(3);
    let arms = [
        ("baseline", Change::Baseline, BASE_US),
        ("p2p-off", Change::Link, 45.0),
        ("delay-50", Change::Delay, 76.0),
    ]
    .map(|(name, change, us)| {
        let ms = step(us, wait_us);
        arm(&mut truth, STEADY, (name, change), Some(us), ms)
    });
    let mut of = ablation(arms.to_vec());
    of.model = "llama-3.1-8b".to_owned();
    of.planned = 65;
    slope(&of)
}

#[test]
fn a_slope_alone_calls_its_product_a_lower_figure() {
    // 8 us more at each of 65 all-reduces, 0.52 ms of every arm: the line is as steep and lies as much higher.
    let (with, without) = (tested(8.0), tested(0.0));
    let fit = |of: &Slope| of.fit.clone().unwrap();
    // 65 * 26 us = 1.69 ms either way.
    near(fit(&with).communication_ms.mid, 1.69, 0.06);
    near(fit(&without).communication_ms.mid, 1.69, 0.06);
    near(
        fit(&with).intercept_ms.mid - fit(&without).intercept_ms.mid,
        0.52,
        0.03,
    );
}
