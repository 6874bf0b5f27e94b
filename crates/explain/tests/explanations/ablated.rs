//! What an explanation says with an ablation beside its runs: where arms, curve and runs contradict each other, and what the arms tell alone.

use crate::text::{attributed, attribution, range};
use explain::{
    Ablation, Arm, Attribution, Cause, Change, Claim, CollectiveCost, Explanation, Grade, Launch,
    Measurement, NextStep, Outcome, VarianceShare, answer, in_figures, slope, text,
};
use measure::record::{CollectiveKind, CollectivePath};

/// Five launches around a collective time and a step.
fn arm(name: &str, change: Change, us: f64, ms: f64) -> Arm {
    let around = |mid: f64| range(mid * 0.999, mid, mid * 1.001);
    let launch = |(order, part): (u32, f64)| Launch {
        order,
        collective_us: Some(around(us * (1.0 + 0.005 * part))),
        step_ms: around(ms * (1.0 - 0.001 * part)),
        steps: 1000,
        folder: None,
        late_ms: None,
        limited: None,
    };
    Arm {
        name: name.to_owned(),
        change,
        how: name.to_owned(),
        control_of: None,
        launches: (0..).zip([-1.0, -0.5, 0.0, 0.5, 1.0]).map(launch).collect(),
    }
}

/// A baseline of this collective time and step, and two arms of 161 collectives that take 40 and 80 us longer.
fn ablation(us: f64, ms: f64, change: Change) -> Ablation {
    let longer = |name, by: f64| arm(name, change, us + by, ms + 161.0 * by / 1e3);
    Ablation {
        schema: 1,
        simulated: None,
        step_from: None,
        model: "qwen2.5-72b-fp8".to_owned(),
        tp: 2,
        batch: 16,
        engine: None,
        planned: 161,
        arms: vec![
            arm("baseline", Change::Baseline, us, ms),
            longer("first", 40.0),
            longer("second", 80.0),
        ],
    }
}

/// By this box's curve 161 all-reduces of 54 us, 8.7 ms.
fn curved() -> Attribution {
    let mut of = attribution();
    of.collectives = vec![CollectiveCost {
        kind: CollectiveKind::AllReduce,
        role: "attention".to_owned(),
        count: 161,
        bytes_per_rank: 256 << 10,
        path: CollectivePath::Library,
        us: 54.0,
        grade: Grade::C,
        source: "this box".to_owned(),
        lacks: vec![],
    }];
    of.caveats
        .push("nothing here rules out overlap: a slope test tells".to_owned());
    of
}

/// The same runs, which tell communication from nothing by no curve and leave so much at most.
fn open(high: f64) -> Attribution {
    let mut open = attribution();
    open.claim = Claim::None {
        reason: "what communication could take at most is little".to_owned(),
    };
    open.bars
        .retain(|bar| !matches!(bar.cause, Cause::AllReduce | Cause::AllGather));
    open.communication = None;
    open.remainder = range(-1.3, 1.6, high);
    open
}

fn with(attribution: Attribution, arms: &Ablation) -> Explanation {
    attributed(attribution).with_slope(slope(arms, 1, 1000))
}

fn told(shown: &Explanation) -> &Attribution {
    let Outcome::Attributed { attribution, .. } = &shown.outcome else {
        panic!("refused");
    };
    attribution
}

#[test]
fn arms_raise_the_grade_of_a_curve_that_they_bear_out_and_settle_overlap() {
    // 55 us for 54, and 44.9 ms for 45.9.
    let shown = with(curved(), &ablation(55.0, 44.9, Change::Link));
    let of = told(&shown);
    assert_eq!(of.bar(Cause::AllReduce).unwrap().grade, Some(Grade::B));
    assert!(
        answer(&shown)[0].contains("; the ablation bears it out"),
        "{}",
        answer(&shown)[0]
    );
    assert!(
        !of.caveats.iter().any(|of| of.contains("overlap")),
        "{:?}",
        of.caveats
    );
}

#[test]
fn a_baseline_of_another_time_than_the_curves_contradicts_it() {
    for (us, said) in [(120.0, "54 us and 120 us"), (8.0, "54.0 us and 8.0 us")] {
        let shown = with(curved(), &ablation(us, 45.0, Change::Link));
        let of = told(&shown);
        assert_eq!(of.bar(Cause::AllReduce).unwrap().grade, Some(Grade::C));
        let first = &answer(&shown)[0];
        let warning = format!(
            "WARNING: curve and ablation contradict each other: {said} for the same call; measure the curve again in the server's environment"
        );
        assert!(
            first.contains(&warning) && !first.contains("bears it out"),
            "{first}"
        );
        assert!(
            of.caveats.iter().any(|of| of.starts_with(&warning)),
            "{:?}",
            of.caveats
        );
        // 161 * 120 us are 19.3 ms, and 12.7 are left at most.
        let of_runs = "runs and ablation contradict each other: the arms time at least 19.3 [";
        assert_eq!(first.contains(of_runs), us > 100.0, "{first}");
        let figures = in_figures(&shown).unwrap();
        assert!(
            figures.contains("; the ablation contradicts that: where only the link was varied"),
            "{figures}"
        );
    }
    // 65 us are within a quarter of 54: 161 * 65 us are 10.5 ms, above the bar's 9.5 and within the 12.7 that are left.
    let shown = with(curved(), &ablation(65.0, 45.0, Change::Link));
    let first = &answer(&shown)[0];
    assert!(
        first.contains("curve and ablation contradict each other: communication takes 9.0 [8.5, 9.5] ms of a step by the one and at least 10.5 ["),
        "{first}"
    );
}

#[test]
fn arms_of_another_load_test_nothing_and_delays_no_link() {
    let said = |arms: &Ablation| {
        let mut shown = attributed(curved());
        let Outcome::Attributed { next, .. } = &mut shown.outcome else {
            panic!("refused");
        };
        next.push(step("serve-bench ablate --model m"));
        let shown = shown.with_slope(slope(arms, 1, 1000));
        let asked_again = shown.outcome.to_measure().len();
        (answer(&shown).remove(0), asked_again)
    };
    // 48 ms are 4.6% more than 45.9.
    let (load, asked_again) = said(&ablation(55.0, 48.0, Change::Link));
    assert!(
        load.ends_with("; the ablation is of another load and tests nothing here."),
        "{load}"
    );
    assert_eq!(asked_again, 1);
    let (delays, asked_again) = said(&ablation(55.0, 45.0, Change::Delay));
    assert!(
        delays.ends_with("; in the ablation the step followed a known delay; no link was varied."),
        "{delays}"
    );
    assert_eq!(asked_again, 1);
}

#[test]
fn runs_that_leave_no_room_for_what_the_arms_time_contradict_them() {
    // 161 * 55 us are 8.9 ms.
    let shown = with(open(4.0), &ablation(55.0, 45.0, Change::Link));
    let first = &answer(&shown)[0];
    assert!(
        first.contains("WARNING: runs and ablation contradict each other: the arms time at least 8.9 [")
            && first.contains("] ms and the runs leave 1.6 [-1.3, 4.0]; a half-width model tells which of the two holds")
            && !first.contains("bears it out"),
        "{first}"
    );
    assert!(text(&shown).contains("what free links would give is not told"));
}

#[test]
fn communication_that_the_arms_alone_tell_leads_and_tells_what_free_links_give() {
    let shown = with(open(12.0), &ablation(55.0, 45.0, Change::Link));
    let first = &answer(&shown)[0];
    // 8.9 ms against 4.5 of any other cause.
    assert!(
        first.contains("not 2 times, mainly because of communication between them: of the ")
            && first.contains("communication takes at least 8.9 ["),
        "{first}"
    );
    // 45 less 8.855 are 36.145 without links: 61.2 / 36.145 = 1.693.
    let words = text(&shown);
    assert!(
        words.contains("; 1.69 [")
            && words.contains("x if links were free, by the ablation (one GPU's step over the arms' step without links)\n")
            && !words.contains("is not told"),
        "{words}"
    );
    assert!(!words.contains("no room for all"), "{words}");
    // 8.9 and 7.0 are more than the 15.3 ms that are lost.
    let mut tight = open(12.0);
    tight.bars[1].ms = range(5.0, 7.0, 9.5);
    let shown = with(tight, &ablation(55.0, 45.0, Change::Link));
    let first = &answer(&shown)[0];
    assert!(
        first.contains("and no one cause stands out: of the ")
            && !first.contains("matrix products"),
        "{first}"
    );
    let figures = in_figures(&shown).unwrap();
    assert!(
        figures.contains("; the arms' figure and the two runs' leave no room for all of them"),
        "{figures}"
    );
}

fn step(how: &str) -> NextStep {
    NextStep {
        share: VarianceShare {
            measurement: Measurement::Curve,
            of_communication: None,
            of_remainder: 0.1,
        },
        what: "something".to_owned(),
        how: how.to_owned(),
        narrows: None,
        minutes: None,
    }
}

#[test]
fn what_a_measurement_brings_is_what_it_will_do() {
    let ablate = step("serve-bench ablate --model m").brings();
    assert!(
        ablate.contains("grade B")
            && ablate.contains("lower figure")
            && !ablate.contains("in the place"),
        "{ablate}"
    );
    let links = step("p2p-bw --gpus 0,1").brings();
    assert!(links.contains("which path"), "{links}");
    let trace = step("a trace of some decode steps").brings();
    assert!(
        trace.contains("stands in the place of this interval"),
        "{trace}"
    );
}
