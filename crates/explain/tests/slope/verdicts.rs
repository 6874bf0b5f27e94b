//! What is said of arms that follow, that follow less or more, and that do not tell.

use crate::slope::made::{Design, FIVE, Truth, USUAL, ablation, arm, links, step};
use explain::{Ablation, Change, Range, Slope, SlopeVerdict, Undecided, slope};

const SEEDS: u64 = 100;

fn test(ablation: &Ablation) -> Slope {
    slope(ablation)
}

fn mean_slope(found: &[Slope]) -> f64 {
    let slopes = found.iter().map(|of| of.fit.as_ref().unwrap().slope.mid);
    slopes.sum::<f64>() / found.len() as f64
}

fn over_seeds(of: impl Fn(u64) -> Ablation) -> Vec<Slope> {
    (0..SEEDS).map(|seed| slope(&of(seed))).collect()
}

fn why(of: &Slope) -> &'static str {
    match &of.passes {
        SlopeVerdict::Follows => "",
        SlopeVerdict::BelowPlan { .. } => "below",
        SlopeVerdict::AbovePlan => "above",
        SlopeVerdict::Undecided { why } => match why {
            Undecided::OffTheLine { .. } => "off-the-line",
            Undecided::Rough { .. } => "rough",
            Undecided::NothingPlanned => "nothing-planned",
            Undecided::FewArms { .. } => "few-arms",
        },
    }
}

fn count(found: &[Slope], is: impl Fn(&Slope) -> bool) -> usize {
    found.iter().filter(|of| is(of)).count()
}

#[test]
fn a_step_that_follows_passes_and_is_evidence() {
    let found = over_seeds(|seed| links(seed, USUAL, &FIVE, 161.0));
    // A test at 95% with 2% of margin rejects 1 in 20 at most; 3 standard errors at 100 seeds are 6.
    let passed = count(&found, |of| of.passes == SlopeVerdict::Follows);
    assert!(passed >= 88, "{passed}");
    let evidence = found[0].evidence().unwrap();
    // 161 collectives of 18 us are 2.9 ms; a launch's collective time has 5%, five of them 2.2%, and the slope 3%.
    assert!(
        (evidence.communication_ms.mid / 2.898 - 1.0).abs() < 0.15,
        "{evidence:?}"
    );
}

#[test]
fn overlap_of_15_percent_shows_as_137_and_is_named() {
    // 0.85 * 161 = 136.85. The standard error is 3.3% of 161, so 15% lie 4.5 of them away: a test at 95% misses it in 1 of 100.
    let found = over_seeds(|seed| links(seed, USUAL, &FIVE, 136.85));
    let mean = mean_slope(&found);
    assert!((mean - 137.0).abs() < 3.0, "{mean}");
    let named = count(&found, |of| why(of) == "below");
    assert!(named >= 90, "{named}");
    assert!(
        found
            .iter()
            .all(|of| of.evidence().is_none() || of.passes == SlopeVerdict::Follows)
    );
}

#[test]
fn a_host_confounder_of_40_ms_for_each_ms_shows_as_201_and_is_named() {
    // 161 + 40 = 201, 25% above: 7 standard errors.
    let found = over_seeds(|seed| links(seed, USUAL, &FIVE, 201.0));
    let mean = mean_slope(&found);
    assert!((mean - 201.0).abs() < 4.0, "{mean}");
    let named = count(&found, |of| why(of) == "above");
    assert!(named >= 95, "{named}");
}

#[test]
fn too_few_arms_or_launches_or_arms_too_alike_are_undecided() {
    let undecided = |of: &Ablation, code: &str| {
        let of = test(of);
        assert!(
            matches!(of.passes, SlopeVerdict::Undecided { .. }),
            "{of:?}"
        );
        assert_eq!(why(&of), code);
        assert_eq!(of.evidence(), None);
    };
    undecided(&ablation(Vec::new()), "few-arms");
    undecided(&links(1, USUAL, &[18.0], 161.0), "few-arms");
    let two = Design {
        launches: 2,
        ..USUAL
    };
    undecided(&links(1, two, &FIVE, 161.0), "few-arms");
    // 2 us apart at 5% of 20 us between launches.
    undecided(&links(1, USUAL, &[20.0, 22.0], 161.0), "rough");
    let mut none = links(1, USUAL, &FIVE, 161.0);
    none.planned = 0;
    undecided(&none, "nothing-planned");
}

#[test]
fn arms_without_noise_follow_exactly() {
    // A virtual engine repeats itself: no interval, and a slope that is right to the digit.
    let still = Design {
        step: 0.0,
        collective: 0.0,
        launches: 3,
    };
    let of = test(&links(1, still, &FIVE, 161.0));
    assert_eq!(of.passes, SlopeVerdict::Follows, "{of:?}");
    let fit = of.fit.unwrap();
    assert!((fit.slope.mid - 161.0).abs() < 1e-6, "{fit:?}");
    assert!((fit.intercept_ms.mid - 34.0).abs() < 1e-6, "{fit:?}");
    // 161 * 18 us.
    assert!((fit.communication_ms.mid - 2.898).abs() < 1e-6, "{fit:?}");
}

#[test]
fn an_arm_off_the_line_is_named() {
    let mut truth = Truth::of(9);
    let mut of = links(9, USUAL, &FIVE, 161.0);
    // 4 ms above the line, of which launches tell 0.2.
    let odd = arm(
        &mut truth,
        USUAL,
        ("odd", Change::Link),
        Some(45.0),
        step(45.0, 161.0) + 4.0,
    );
    of.arms.push(odd);
    let of = test(&of);
    assert_eq!(why(&of), "off-the-line");
    let SlopeVerdict::Undecided { why } = of.passes else {
        panic!();
    };
    let arm = "odd".to_owned();
    assert_eq!(why, Undecided::OffTheLine { arm });
}

#[test]
fn files_of_before_still_load() {
    let mut arms = links(4, USUAL, &FIVE, 161.0);
    let mut json = serde_json::to_value(&arms).unwrap();
    json["arms"][4]["change"] = "negative_control".into();
    json["arms"][4]["control_of"] = "baseline".into();
    arms.arms[4].change = Change::Other;
    assert_eq!(serde_json::from_value::<Ablation>(json).unwrap(), arms);
    let of = test(&arms);
    let back: Slope = serde_json::from_str(&serde_json::to_string(&of).unwrap()).unwrap();
    assert_eq!(back.planned, of.planned);
}

#[test]
fn figures_that_are_none_are_left_out_and_told() {
    let mut of = links(4, USUAL, &FIVE, 161.0);
    of.arms[2].launches[0].step_ms.mid = -1.0;
    of.arms[3].launches[0].collective_us = None;
    let of = test(&of);
    assert_eq!((of.arms[2].launches, of.arms[3].launches), (4, 4));
    assert_eq!((of.arms[2].left_out, of.arms[3].left_out), (1, 1));
}

#[test]
fn launches_that_a_busy_machine_played_late_are_left_out_and_counted() {
    let whole = links(3, USUAL, &FIVE, 161.0);
    let clean = test(&whole);
    assert_eq!(clean.passes, SlopeVerdict::Follows);
    // Two launches of the last arm take half as long again, a third of which is lateness; one was limited by its load generator.
    let mut busy = whole.clone();
    for launch in &mut busy.arms[4].launches[..2] {
        let more = launch.step_ms.mid / 2.0;
        launch.step_ms = Range {
            low: launch.step_ms.low + more,
            mid: launch.step_ms.mid + more,
            high: launch.step_ms.high + more,
        };
        launch.late_ms = Some(more);
    }
    busy.arms[1].launches[0].limited = Some("it was starved".to_owned());
    // 4% of a step is no reason.
    let small = &mut busy.arms[2].launches[0];
    small.late_ms = Some(0.04 * small.step_ms.mid);
    let found = test(&busy);
    assert_eq!(found.passes, SlopeVerdict::Follows, "{}", why(&found));
    let launches: Vec<u32> = found.arms.iter().map(|arm| arm.launches).collect();
    assert_eq!(launches, [5, 4, 5, 5, 3]);
    assert_eq!(found.arms.iter().map(|arm| arm.left_out).sum::<u32>(), 3);
    // Where too few are left nothing is decided, and it is said why.
    for arm in &mut busy.arms {
        for launch in &mut arm.launches[..3] {
            launch.late_ms = Some(launch.step_ms.mid);
        }
    }
    let of = test(&busy);
    assert!(
        matches!(of.passes, SlopeVerdict::Undecided { .. }),
        "{of:?}"
    );
}
