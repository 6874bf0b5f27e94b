//! Explanations of machines whose truth is known, because the engine in virtual time was given it: how often intervals hold it.
//!
//! It tests the statistics, not the priors: whether ranges are those of real machines, no simulation can tell.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod chance;
mod judge;
mod machine;
mod observe;

use std::env;

use explain::Priors;

use judge::{Assumption, COMMUNICATION, Case, Judged, UNEXPLAINED, judge};

/// 500 with `TPLENS_FULL=1`.
fn size() -> u64 {
    env::var_os("TPLENS_FULL").map_or(40, |_| 500)
}

fn cases(broken: Option<Assumption>, with_communication: bool, count: u64) -> Vec<Case> {
    let priors = Priors::builtin().unwrap();
    let first = env::var("TPLENS_SEED").map_or(100, |seed| seed.parse().unwrap());
    let all = (first..first + count).map(|seed| judge(seed, &priors, broken, with_communication));
    all.filter(|case| !matches!(case, Case::Unfit)).collect()
}

/// How many intervals of a bar hold their truth, of how many.
fn held(cases: &[Case], bar: &str) -> (usize, usize) {
    let all = cases.iter().filter_map(|case| match case {
        Case::Judged { bars, .. } => Some(bars),
        Case::Unfit | Case::Refused => None,
    });
    let of: Vec<&Judged> = all.flatten().filter(|judged| judged.bar == bar).collect();
    let holds = |of: &&&Judged| of.said_ms.low <= of.truth_ms && of.truth_ms <= of.said_ms.high;
    (of.iter().filter(holds).count(), of.len())
}

#[test]
fn intervals_hold_most_truths_and_nothing_is_claimed_of_engines_without_communication() {
    let kept = cases(None, true, size());
    // Some models cannot be cut to every size.
    assert!(kept.len() as u64 * 4 >= size() * 3, "{}", kept.len());
    for bar in ["narrow GEMMs", "never sharded", COMMUNICATION, UNEXPLAINED] {
        let (of, n) = held(&kept, bar);
        println!("{bar}: {of} of {n} intervals hold the truth");
        // Three standard deviations of 90% below 85%.
        let deviation = (0.09 / n as f64).sqrt();
        let least = n as f64 * (0.85 - 3.0 * deviation);
        assert!(n > 0 && of as f64 >= least, "{bar}: {of} of {n}");
    }
    let silent = cases(None, false, size());
    let claimed = silent
        .iter()
        .filter(|case| matches!(case, Case::Judged { claimed: true, .. }));
    let (claimed, n) = (claimed.count(), silent.len());
    println!("communication claimed where there is none: {claimed} of {n}");
    // 5%, and three standard deviations more.
    let most = 0.05 * n as f64 + 3.0 * (0.0475 * n as f64).sqrt();
    assert!(claimed as f64 <= most);
}

#[test]
fn where_an_assumption_is_broken_communication_is_held_or_not_claimed() {
    for broken in [
        Assumption::PriorsShifted,
        Assumption::CurveRange,
        Assumption::Overlap,
    ] {
        let (of, n) = held(&cases(Some(broken), true, 20), COMMUNICATION);
        // 20% of 20 cases are 4 with a standard deviation of 1.8: three of them more.
        assert!(n - of <= 9, "{broken:?}: {of} of {n}");
        // Most curves that end at a quarter of the messages or less make no bar; half as long they do.
        assert!(broken != Assumption::CurveRange || n <= 12, "{n}");
    }
}
