//! What an explanation says with an ablation beside its runs: where arms, curve and runs contradict each other, and what the arms tell alone.

use crate::explanations::text::{attributed, attribution, range};
use explain::{
    Ablation, Arm, Attribution, Cause, Change, Claim, CollectiveCost, Explanation, Gate, Grade,
    HalfModel, Launch, Measurement, NextStep, Outcome, Raises, VarianceShare, Verdict, answer,
    in_figures, slope, text,
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
pub(super) fn ablation(us: f64, ms: f64, change: Change) -> Ablation {
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

#[test]
fn which_of_runs_and_curve_keeps_the_arms_from_raising_a_grade_is_said() {
    let warns = |names: &[&str]| {
        let mut shown = attributed(curved());
        shown.gates.extend(names.iter().map(|name| Gate {
            name: (*name).to_owned(),
            verdict: Verdict::Warned,
            seen: "something".to_owned(),
            needed: String::new(),
            what_to_run: None,
        }));
        let shown = shown.with_slope(slope(&ablation(55.0, 44.9, Change::Link), 1, 1000));
        let said = answer(&shown).remove(0);
        let end = said.split("which raises no grade here, since ").last();
        let caveat = told(&shown).caveats.last().cloned().unwrap();
        (end.unwrap().to_owned(), caveat)
    };
    let (runs, curve) = (
        "same engine version",
        "collectives take longer for more bytes",
    );
    assert_eq!(
        warns(&[runs]),
        (
            "the runs differ in more than the number of GPUs.".to_owned(),
            "not the same engine version (something): the ablation raises no grade".to_owned()
        )
    );
    assert_eq!(
        warns(&[curve]),
        (
            "the curve is in doubt.".to_owned(),
            "the curve is in doubt (something): the ablation raises no grade".to_owned()
        )
    );
    assert_eq!(
        warns(&[curve, runs]),
        (
            "the runs differ in more than the number of GPUs, and their curve is in doubt.".to_owned(),
            "not the same engine version (something); the curve is in doubt (something): the ablation raises no grade".to_owned()
        )
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
        raises: None,
    }
}

#[test]
fn what_a_measurement_brings_is_what_it_will_do() {
    let ablate = |raises: Option<Raises>| {
        let mut ablate = step("serve-bench ablate --model m");
        ablate.raises = raises;
        ablate.brings()
    };
    let raised = ablate(Some(Raises::ToB));
    assert!(
        raised.contains("grade B")
            && raised.contains("lower figure")
            && !raised.contains("in the place"),
        "{raised}"
    );
    let why = "without a curve".to_owned();
    let not = ablate(Some(Raises::Not { why }));
    assert!(
        not.contains("and gives communication a lower figure; it raises no grade without a curve; this interval")
            && !not.contains("grade B"),
        "{not}"
    );
    // Explanations from before it was told promise nothing.
    let before = ablate(None);
    assert!(
        before.contains("lower figure") && !before.contains("grade"),
        "{before}"
    );
    let links = step("p2p-bw --gpus 0,1").brings();
    assert!(links.contains("which path"), "{links}");
    let trace = step("a trace of some decode steps").brings();
    assert!(
        trace.contains("stands in the place of this interval"),
        "{trace}"
    );
}

/// Arms of these runs, in whose step so many collectives show.
fn shown_in(collectives: f64) -> Ablation {
    let arm = |name, change, us| arm(name, change, us, 36.0 + collectives * us / 1e3);
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
            arm("baseline", Change::Baseline, 55.0),
            arm("p2p-off", Change::Link, 110.0),
            arm("channels-1", Change::Link, 80.0),
        ],
    }
}

#[test]
fn an_ablation_that_follows_is_in_the_first_sentence_and_not_asked_for_again() {
    let mut shown = attributed(attribution());
    if let Outcome::Attributed { next, .. } = &mut shown.outcome {
        let share = VarianceShare {
            measurement: Measurement::Curve,
            of_communication: None,
            of_remainder: 0.1,
        };
        next.push(NextStep {
            share,
            what: "whether the step follows the link".to_owned(),
            how: "serve-bench ablate --model m".to_owned(),
            narrows: None,
            minutes: None,
            raises: None,
        });
    }
    let mut tested = slope(&shown_in(161.0), 1, 1000);
    tested.origin = Some("arms.json".to_owned());
    let shown = shown.with_slope(tested);
    let said = answer(&shown);
    assert_eq!(said.len(), 2);
    assert!(
        said[0].ends_with("; the ablation bears it out, since the step followed the link."),
        "{}",
        said[0]
    );
    let figures = in_figures(&shown).unwrap();
    assert!(
        figures.contains("(ms, median [5%, 95%]); the ablation bears communication out, 8.9 [")
            && figures.ends_with("for 161 all-reduces a step (3 arms, 15 launches)."),
        "{figures}"
    );
    let words = text(&shown);
    assert!(!words.contains("serve-bench ablate"), "{words}");
    assert!(
        words.contains(" - arms.json: 3 arms of an ablation, 15 launches"),
        "{words}"
    );
    // The mark of a soft box stands once above all, and not again above the arms.
    assert_eq!(words.matches("SIMULATED").count(), 1, "{words}");
    assert!(
        words.contains("does the step follow the link\nThe step follows the link: "),
        "{words}"
    );
}

#[test]
fn an_ablation_that_contradicts_stands_before_any_advice() {
    // 15% of 161 and more is hidden: 120, with which the baseline takes 36 ms and 120 * 55 us.
    let mut hidden = attribution();
    hidden.step_of_several = range(42.4, 42.6, 42.8);
    let shown = attributed(hidden).with_slope(slope(&shown_in(120.0), 1, 1000));
    let said = answer(&shown);
    assert!(
        said[0].ends_with("; the ablation does NOT bear it out."),
        "{}",
        said[0]
    );
    let figures = in_figures(&shown).unwrap();
    assert!(
        figures.contains("the ablation does NOT bear it out: where only the link was varied, the step followed by less than planned"),
        "{figures}"
    );
    assert!(
        said[1].starts_with("What to do: look first into overlap, or another path"),
        "{}",
        said[1]
    );
}

#[test]
fn the_embedded_engine_is_the_one_that_it_acts_as_and_another_engine_is_named() {
    let kept = |engine: &str| {
        let mut of_engine = shown_in(161.0);
        of_engine.engine = Some(engine.to_owned());
        text(&attributed(attribution()).with_slope(slope(&of_engine, 1, 1000)))
    };
    let soft = kept("embedded engine, as vLLM (rules of 0.13.0), graphs up to 512");
    assert!(!soft.contains("is not of these runs"), "{soft}");
    let other = kept("embedded engine, as SGLang 0.5.6, graphs up to 160");
    let words = "the ablation is not of these runs and raises no grade: engine embedded engine, as SGLang 0.5.6, graphs up to 160 for \
        vLLM 0.13.0, graphs up to 512";
    assert!(other.contains(words), "{other}");
}

#[test]
fn an_ablation_of_another_load_tests_nothing() {
    let mut other = shown_in(161.0);
    other.batch = 1;
    let shown = attributed(attribution()).with_slope(slope(&other, 1, 1000));
    let said = answer(&shown);
    assert!(
        said[0].ends_with("; the ablation is of other runs and tests nothing here."),
        "{}",
        said[0]
    );
    let Outcome::Attributed { attribution, .. } = &shown.outcome else {
        panic!("refused");
    };
    assert!(
        attribution
            .caveats
            .iter()
            .any(|caveat| caveat.ends_with("raises no grade: 1 in flight for 16")),
        "{:?}",
        attribution.caveats
    );
}

/// The attribution without times of collectives: communication and what is unexplained are one.
fn without_curve() -> Attribution {
    let mut bounded = attribution();
    bounded.claim = Claim::AtMost {
        reason: "no curve".to_owned(),
    };
    bounded
        .bars
        .retain(|bar| !matches!(bar.cause, Cause::AllReduce | Cause::AllGather));
    bounded.communication = None;
    bounded
}

#[test]
fn without_a_curve_the_arms_time_communication() {
    let bounded = without_curve();
    let shown = attributed(bounded).with_slope(slope(&shown_in(161.0), 1, 1000));
    // 161 * 55 us = 8.9 ms of the step of the box as it is, more than any other cause takes.
    let said = answer(&shown);
    assert!(
        said[0].contains("communication takes at least 8.9 [")
            && said[0].contains("mainly because of communication between them")
            && said[0]
                .ends_with("] ms (by the ablation); in the ablation the step followed the link."),
        "{}",
        said[0]
    );
    let figures = in_figures(&shown).unwrap();
    assert!(
        figures.contains("communication at least 8.9 [")
            && figures.contains("by the ablation, of the ")
            && figures.contains(", 12.7] that it and what is unexplained take together")
            && figures.contains(
                "; in the ablation, where only the link was varied, the step followed, with a slope of 161 ["
            )
            && !figures.contains("bears"),
        "{figures}"
    );
}

#[test]
fn a_part_that_the_arms_time_is_not_told_as_a_part_of_less() {
    let mut bounded = without_curve();
    bounded.remainder = range(6.0, 8.0, 12.7);
    let shown = attributed(bounded).with_slope(slope(&shown_in(161.0), 1, 1000));
    // 8.9 ms by the arms are more than the 8.0 that are left.
    let figures = in_figures(&shown).unwrap();
    assert!(
        figures.contains("] by the ablation, which is all of the 8.0 [6.0, 12.7] that it and what is unexplained take together"),
        "{figures}"
    );
}

#[test]
fn arms_that_time_less_than_the_curve_gives_do_not_bear_it_out() {
    // 161 * 30 us are 4.83 ms, and the bar begins at 8.5; no call of the curve is that of the arms.
    let shown = with(attribution(), &ablation(30.0, 45.0, Change::Link));
    let first = &answer(&shown)[0];
    assert!(
        first.contains(
            "; in the ablation the step followed the link, and its arms time at least 4.8 ["
        ) && first.ends_with("] ms where the curve gives 9.0 [8.5, 9.5]."),
        "{first}"
    );
    let figures = in_figures(&shown).unwrap();
    assert!(
        figures
            .contains("; in the ablation, where only the link was varied, the step followed, with")
            && figures.contains("launches); its arms time at least 4.8 [")
            && !figures.contains("bears"),
        "{figures}"
    );
}

#[test]
fn arms_bear_the_calls_out_where_a_half_width_model_leaves_more_that_follows_no_link() {
    // 45.9 less 32.6 are 13.3, of which the curve gives 9.0. The arms' 44.9 less 8.9 by the link are 36.0, which leaves 3.4 above 32.6.
    let mut of = curved();
    of.half = Some(HalfModel {
        step: range(32.5, 32.6, 32.7),
        loss: range(1.6, 2.0, 2.4),
        difference: range(11.5, 13.3, 13.5),
        by_curve: Some(range(8.5, 9.0, 9.5)),
        gap: Some(range(2.3, 4.3, 4.7)),
        agrees: Some(false),
        contradicts: Vec::new(),
    });
    let shown = with(of, &ablation(55.0, 44.9, Change::Link));
    let first = &answer(&shown)[0];
    assert!(
        first.contains("; a run of the model at 1/2 width leaves more for communication than was timed; ")
            && first.ends_with("; the ablation bears out the calls by themselves, since the step followed the link, and what that run leaves beyond them follows no link."),
        "{first}"
    );
    let figures = in_figures(&shown).unwrap();
    assert!(
        figures.contains("; the ablation bears the calls out, 8.9 [")
            && figures.contains(
                "] at least, and what the half-width model leaves beyond them follows no link: where only"
            ),
        "{figures}"
    );
    assert_eq!(
        told(&shown).bar(Cause::AllReduce).unwrap().grade,
        Some(Grade::B)
    );
}

#[test]
fn what_two_runs_do_not_tell_from_nothing_the_arms_do() {
    // 161 * 55 us = 8.9 ms of the step of the box as it is, and the runs leave room for it.
    let shown = attributed(open(12.0)).with_slope(slope(&shown_in(161.0), 1, 1000));
    let said = answer(&shown);
    assert!(
        said[0].contains("communication takes at least 8.9 [")
            && said[0]
                .contains("(by the ablation; the two runs alone do not tell it from nothing)"),
        "{}",
        said[0]
    );
    let figures = in_figures(&shown).unwrap();
    assert!(
        figures.contains("by the ablation, where the two runs alone leave 1.6 [-1.3, 12.0]"),
        "{figures}"
    );
    assert!(
        text(&shown).contains("communication is told by the ablation alone: of the two runs, what"),
        "{}",
        text(&shown)
    );
    // Arms of delays alone raise no grade, and tell nothing here either.
    let mut delays = shown_in(161.0);
    for arm in &mut delays.arms {
        if arm.change == Change::Link {
            arm.change = Change::Delay;
        }
    }
    let shown = attributed(open(12.0)).with_slope(slope(&delays, 1, 1000));
    assert!(
        answer(&shown)[0].contains("which cannot be told from nothing"),
        "{}",
        answer(&shown)[0]
    );
}
