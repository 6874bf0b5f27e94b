//! Where a curve ends, does not fit, or is contradicted; where ranges do not fit the step on one GPU.

use crate::explanations::boxes::{GRAPH_ALL_GATHER, point, rtxpro6000_mig};
use crate::explanations::planted::{half, streamed, with_curve};
use crate::explanations::said::says;
use explain::{Cause, Claim, Grade, Inputs, Outcome, Range, Timed, answer, attribute, explain};
use measure::record::CollectiveKind;

const DRAWS: u32 = 4000;

/// TP1 60.9 ms and TP2 of so many ms, streamed.
fn steps(several_ms: f64) -> Inputs {
    let mut inputs = rtxpro6000_mig();
    inputs.serve = vec![streamed(1, 60.9, 0.0), streamed(2, several_ms, 0.0)];
    inputs
}

/// All-reduces of two sizes, where the step's are of 256 KiB.
fn with_sizes(mut inputs: Inputs, sizes: [(u64, f64); 2]) -> Inputs {
    inputs.curve = vec![point(CollectiveKind::AllGather, GRAPH_ALL_GATHER, 300.0)];
    for (bytes, us) in sizes {
        inputs
            .curve
            .push(point(CollectiveKind::AllReduce, bytes, us));
    }
    inputs
}

fn width(range: Range) -> f64 {
    range.high - range.low
}

#[test]
fn a_curve_that_gives_more_than_was_measured_is_the_headline_and_nothing_is_claimed() {
    // 161 * 137 us + 0.3 ms = 22.4 ms; with a fifth of it hidden and 0.9 of the curve 16.1. TP2's 45.3 ms leave 12 ms or so.
    let inputs = with_curve(steps(45.3), 137.0, 300.0);
    let explanation = explain(&inputs, 1, DRAWS);
    let Outcome::Attributed { attribution, .. } = &explanation.outcome else {
        panic!("{:?}", explanation.outcome);
    };
    let misfit = attribution.misfit.as_ref().unwrap();
    assert_eq!(misfit.of, Timed::ThisBox);
    assert!(
        misfit.by_curve.low > 16.0 && misfit.left.high < 15.0,
        "{misfit:?}"
    );
    assert!(matches!(attribution.claim, Claim::None { .. }));
    assert_eq!(attribution.bar(Cause::Communication), None);
    let [why, remedy] = &answer(&explanation)[..] else {
        panic!("two sentences");
    };
    assert!(
        why.starts_with(
            "The curve of this box does not fit what was measured. By it the collectives take "
        ),
        "{why}"
    );
    assert!(
        why.contains("(overlap), or the engine takes another path than was timed"),
        "{why}"
    );
    // A thought a sentence.
    for part in [
        " ms. Either more than a fifth is hidden",
        ", not 2 times. What takes the ",
        " ms beyond 1/2 of one GPU's time is not told until that is settled.",
    ] {
        assert!(why.contains(part), "no `{part}` in {why}");
    }
    assert!(!why.contains("cannot be told from nothing"), "{why}");
    assert!(remedy.starts_with("What to do: measure "), "{remedy}");
    // A curve that fits has no such word.
    let fits = attribute(&with_curve(steps(45.3), 66.0, 300.0), 1, DRAWS).unwrap();
    assert_eq!((fits.misfit, fits.claim), (None, Claim::Estimated));
}

#[test]
fn up_to_twice_its_end_a_curve_is_read_on_by_a_range_of_exponents() {
    let inputs = with_sizes(steps(45.3), [(64 << 10, 24.0), (128 << 10, 42.0)]);
    let got = attribute(&inputs, 1, DRAWS).unwrap();
    let bar = got.bar(Cause::AllReduce).unwrap();
    assert_eq!(bar.grade, Some(Grade::D));
    // ln(42 / 24) / ln 2 = 0.807: 42 us * 2^(0.404 to 1) = 55.6 to 84 us, times 161: 8.9 to 13.5 ms, of which 0.72 to 1.3 times
    // is 6.4 to 17.6; 12 ms or so are left.
    assert!(
        bar.ms.low > 6.4 && bar.ms.low < 9.5 && bar.ms.high > 11.0,
        "{bar:?}"
    );
    assert!(
        says(&got, "lies above the curve's largest size, 128 KiB"),
        "{:?}",
        got.caveats
    );
    // Exact sizes of the same times are known better.
    let exact = attribute(&with_curve(steps(45.3), 66.0, 300.0), 1, DRAWS).unwrap();
    assert_eq!(exact.bar(Cause::AllReduce).unwrap().grade, Some(Grade::C));
}

#[test]
fn beyond_twice_its_end_a_curve_makes_no_bar_and_the_size_to_measure_is_named() {
    for sizes in [
        [(32 << 10, 15.0), (64 << 10, 24.0)],
        [(1 << 20, 150.0), (2 << 20, 280.0)],
    ] {
        let got = attribute(&with_sizes(steps(45.3), sizes), 1, DRAWS).unwrap();
        let Claim::AtMost { reason } = &got.claim else {
            panic!("{:?}", got.claim);
        };
        assert!(
            reason.contains("256 KiB") && reason.contains("allreduce-bench --sizes 262144"),
            "{reason}"
        );
        assert_eq!(got.bar(Cause::AllReduce), None);
    }
}

#[test]
fn a_curve_without_the_sizes_of_a_prefill_leaves_no_less_doubt_than_a_published_one() {
    // Latencies: what a prefill takes is assumed. 16 * 89 tokens of 16 KiB are 22 MiB, 89 times the curve's only size.
    let published = rtxpro6000_mig();
    let own = with_curve(rtxpro6000_mig(), 60.0, 400.0);
    let remainder = |inputs: &Inputs| attribute(inputs, 1, 20_000).unwrap().remainder;
    let (by_own, by_published) = (remainder(&own), remainder(&published));
    assert!(
        width(by_own) > 0.97 * width(by_published),
        "{by_own:?} {by_published:?}"
    );
    let got = attribute(&own, 1, DRAWS).unwrap();
    assert!(
        says(
            &got,
            "too short for the messages of a prefill, 22.25 MiB at most, which are read from a published curve"
        ),
        "{:?}",
        got.caveats
    );
    // Of a GPU that nobody published anything of they are read far beyond the end, and never cost nothing.
    let mut unknown = own;
    unknown.known.gpu = None;
    let got = attribute(&unknown, 1, DRAWS).unwrap();
    assert!(
        says(&got, "which are read far beyond its end"),
        "{:?}",
        got.caveats
    );
}

/// The half-width model takes 33.3 ms and leaves so many for communication and executor.
fn with_half(left_ms: f64) -> Inputs {
    let mut inputs = steps(33.3 + left_ms);
    inputs.evidence.half = vec![half(33.3)];
    inputs
}

#[test]
fn a_half_width_model_is_held_against_a_curve_of_other_sizes_too() {
    // 256 KiB lies between two sizes of 40 us: grade D. 161 * 40 us + 0.3 ms = 6.7 ms, 8.8 at most; 12 ms are left.
    let of = |us| with_sizes(with_half(12.0), [(128 << 10, us), (512 << 10, us)]);
    let got = attribute(&of(40.0), 1, DRAWS).unwrap();
    let half = got.half.clone().unwrap();
    assert_eq!(half.agrees, Some(false));
    let reduces = got.bar(Cause::AllReduce).unwrap();
    assert!(
        reduces.grade == Some(Grade::D) && reduces.ms.high < 8.6,
        "{reduces:?}"
    );
    let left = got.bar(Cause::Unexplained).unwrap().ms;
    assert!(left.low > 2.2, "{left:?}");
    assert!(
        says(&got, "which calls alone do not take"),
        "{:?}",
        got.caveats
    );
    // 161 * 66 us are 10.6 ms: nothing speaks against what was measured, which a D curve does not part.
    let got = attribute(&of(66.0), 1, DRAWS).unwrap();
    assert_eq!(got.half.clone().unwrap().agrees, Some(true));
    assert_eq!(got.bar(Cause::AllReduce).unwrap().grade, Some(Grade::A));
    let nothing = got.bar(Cause::Unexplained).unwrap();
    assert!(
        nothing.source.contains("does not contradict it"),
        "{nothing:?}"
    );
}

#[test]
fn what_is_mostly_taken_as_known_is_no_grade_a() {
    // The executor takes 0 to 0.3 ms: 2.5% of 12 ms, and 22% of 1.35.
    let grade = |left_ms| {
        let mut inputs = with_half(left_ms);
        inputs.known.gpu = None;
        let got = attribute(&inputs, 1, DRAWS).unwrap();
        got.bar(Cause::Communication).unwrap().grade
    };
    assert_eq!((grade(12.0), grade(1.5)), (Some(Grade::A), Some(Grade::D)));
}

#[test]
fn reading_a_long_cache_does_not_hide_what_attention_takes_at_any_length() {
    // 4000 tokens in: reading 16 * 4128 * 164 kB = 10.8 GB of cache is shared by the ranks, 80 kernels of 12.5 us and more and
    // 80 times 5 us and more of norms are not: half of 1.4 ms at least.
    let mut inputs = steps(45.3);
    for (_, run) in &mut inputs.serve {
        run.input_tokens = Some(64 * 4000);
    }
    let got = attribute(&inputs, 1, DRAWS).unwrap();
    let fixed = got.bar(Cause::Unsharded).unwrap();
    assert!(fixed.ms.low > 0.7, "{fixed:?}");
}

#[test]
fn ranges_that_do_not_fit_the_step_on_one_gpu_are_named() {
    // 75 GB of weights at 1.6 to 1.8 TB/s take 42 ms at least; of 60.9 ms attention and norms leave 57 at most.
    let says = |inputs: &Inputs, part: &str| says(&attribute(inputs, 1, DRAWS).unwrap(), part);
    let too_high = "ranges are too high for this box";
    let mut inputs = steps(45.3);
    assert!(!says(&inputs, too_high));
    inputs.priors.set("host_ms=0..30".parse().unwrap()).unwrap();
    assert!(says(&inputs, too_high));
    // FP8 kernels read at 0.57 of the peak or faster: 1.5 * 47 / 0.57 is 124 ms.
    let mut slow = steps(95.0);
    slow.serve = vec![streamed(1, 140.0, 0.0), streamed(2, 95.0, 0.0)];
    assert!(says(&slow, "GEMMs are slow here, or a range is too low"));
}
