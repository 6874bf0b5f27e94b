//! Ablations that nobody measured: times that no clock gives, launches without a step, and one launch counted twice.

use crate::slope::made::{FIVE, PLANNED, USUAL, links};
use explain::{Ablation, Launch, Range};

fn ablation() -> Ablation {
    let mut made = links(1, USUAL, &FIVE, f64::from(PLANNED));
    for (index, arm) in made.arms.iter_mut().enumerate() {
        for launch in &mut arm.launches {
            launch.folder = Some(format!("arm{index}-{}", launch.order));
        }
    }
    made
}

/// What is said where a launch of the second arm is changed.
fn said(change: impl Fn(&mut Launch)) -> String {
    let mut made = ablation();
    change(&mut made.arms[1].launches[3]);
    made.check().unwrap_err().to_string()
}

#[test]
fn times_that_cannot_be_are_named_with_their_arm_and_launch() {
    assert_eq!(ablation().check(), Ok(()));
    let around = |low, mid, high| Range { low, mid, high };
    for (words, what) in [
        (
            said(|of| of.step_ms = around(41.0, 40.0, 39.0)),
            "step_ms goes from 41 over 40 to 39, which is not ascending",
        ),
        (
            said(|of| of.step_ms = around(-41.0, -40.0, -39.0)),
            "step_ms is -40, and a time is above zero",
        ),
        (
            said(|of| of.collective_us = Some(around(20.0, 31.0, 30.0))),
            "collective_us goes from 20 over 31 to 30",
        ),
        (said(|of| of.steps = 0), "its step is the mean of 0 steps"),
    ] {
        let begin = "launch 3 of the arm arm-1 (arm1-3): ";
        assert!(words.starts_with(begin) && words.contains(what), "{words}");
    }
    // An interval that reaches below zero is what a gap that hides the call gives, and no mistake.
    let mut hidden = ablation();
    hidden.arms[1].launches[3].collective_us = Some(around(-1.0, 3.0, 7.0));
    assert_eq!(hidden.check(), Ok(()));
}

#[test]
fn a_launch_that_was_copied_is_one_launch() {
    let mut made = ablation();
    let mut copy = made.arms[1].launches[0].clone();
    // Another place, another folder, the same samples.
    (copy.order, copy.folder) = (40, Some("again".to_owned()));
    made.arms[1].launches.push(copy);
    assert_eq!(
        made.check().unwrap_err().to_string(),
        "launch 0 of the arm arm-1 (arm1-0) and launch 40 of the arm arm-1 (again) hold the same samples: it is one launch and not two; give each launch once"
    );
    // A soft box repeats itself.
    made.simulated = Some("l40x4".to_owned());
    assert_eq!(made.check(), Ok(()));
}
