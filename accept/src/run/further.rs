//! What is said of a check that more samples might settle: that none came before the run ended, that there was no time for them, or that
//! they came and did not decide it.
//!
//! Which samples are taken once more is in `again`.

use super::again::group;
use super::steps::more_of;
use crate::report::{Check, ReasonCode, Subject, Verdict};

/// How far a run came with taking more samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Further {
    /// It did not come to the end of it; where the run ends now, this is why.
    Before,
    /// The time did not suffice for a round.
    NoTime,
    /// Every round that the profile allows was taken, or nothing was open.
    Done,
}

/// What goes on with a run that ended before.
const RESUME: &str = "not measured again before the run ended: the same command with --resume DIR in place of --out goes on with it";

/// What is left to do where time was short.
const LONGER: &str = "stop everything else on this machine and run again with a longer --budget, so that more samples are taken";

/// What is left to do where more samples were taken.
const ALONE: &str =
    "stop everything else on this machine and run again; more samples alone did not decide it";

/// A check that is open, with how far the run came in settling it. `done` are the names of the steps that were done.
pub(super) fn told<'a>(
    check: Check,
    further: Further,
    mut done: impl Iterator<Item = &'a str>,
) -> Check {
    let is_open = match check.verdict {
        Verdict::Warn => true,
        // What is not told for another reason, such as a device that others use, more samples do not settle.
        Verdict::Inconclusive => matches!(
            check.reason.code,
            ReasonCode::Noisy | ReasonCode::TooFewSamples
        ),
        Verdict::Pass | Verdict::Fail | Verdict::Skip => false,
    };
    let Some(group) = group(&check).filter(|_| is_open) else {
        return check;
    };
    let begun = more_of(group);
    let has_more = done.any(|name| name.starts_with(&begun));
    let is_untold = check.verdict == Verdict::Inconclusive;
    match (further, has_more) {
        (Further::Before, _) => {
            let often = if has_more {
                "not measured again as often as the profile lets before the run ended"
            } else {
                "not measured again before the run ended"
            };
            let text = format!("{}; {often}", check.reason.text);
            let check = if is_untold {
                let subject = Subject::new(&check.kind, check.about, check.required);
                let code = ReasonCode::Interrupted;
                subject.inconclusive(code, text, check.limit, check.evidence)
            } else {
                let mut check = check;
                check.reason.text = text;
                check
            };
            check.advised(RESUME)
        }
        (Further::NoTime, false) => {
            let mut check = check;
            check.reason.text += "; there was no time to measure it again";
            check.advised(LONGER)
        }
        // A warning stands, whichever side of its line the figure lies on.
        (_, true) if is_untold => check.advised(ALONE),
        _ => check,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made;

    /// A check whose interval is not known, so that more samples might settle it.
    fn open(verdict: Verdict) -> Check {
        let check = made::measured(
            "symmetry",
            "GPU0->GPU1",
            Verdict::Warn,
            "GB/s",
            vec![6.0; 3],
        );
        if verdict == Verdict::Warn {
            return check;
        }
        let subject = Subject::new(&check.kind, check.about, true);
        let text = "across the line".to_owned();
        subject.inconclusive(ReasonCode::Noisy, text, check.limit, check.evidence)
    }

    #[test]
    fn a_check_that_was_not_measured_again_says_so_and_names_resume() {
        let check = told(
            open(Verdict::Inconclusive),
            Further::Before,
            ["peer-links"].into_iter(),
        );
        assert_eq!(
            (check.verdict, check.reason.code),
            (Verdict::Inconclusive, ReasonCode::Interrupted)
        );
        assert_eq!(
            check.reason.text,
            "across the line; not measured again before the run ended"
        );
        let advice = check.advice.unwrap();
        assert!(advice.contains("--resume DIR"), "{advice}");
        // A warning stays one, since it is none of the run's end.
        let check = told(
            open(Verdict::Warn),
            Further::Before,
            ["peer-links"].into_iter(),
        );
        assert_eq!(
            (check.verdict, check.reason.code),
            (Verdict::Warn, ReasonCode::BelowFloor)
        );
        assert_eq!(
            check.reason.text,
            "as it was measured; not measured again before the run ended"
        );
        assert!(check.advice.unwrap().contains("--resume DIR"));
        // One round of several was taken.
        let begun = ["peer-links", "peer-links-again-1"].into_iter();
        let check = told(open(Verdict::Inconclusive), Further::Before, begun);
        assert!(
            check
                .reason
                .text
                .ends_with("not measured again as often as the profile lets before the run ended"),
            "{}",
            check.reason.text
        );
    }

    #[test]
    fn only_where_more_samples_were_taken_they_did_not_decide_it() {
        let again = ["peer-links", "peer-links-again-1"];
        let alone = |done: &[&'static str], further| {
            let check = told(open(Verdict::Inconclusive), further, done.iter().copied());
            assert_eq!(check.reason.code, ReasonCode::Noisy);
            check.advice
        };
        let told_alone = alone(&again, Further::Done).unwrap();
        assert!(
            told_alone.ends_with("more samples alone did not decide it"),
            "{told_alone}"
        );
        assert_eq!(
            alone(&["peer-links", "host-links-again-1"], Further::Done),
            None
        );
        let short = alone(&["peer-links"], Further::NoTime).unwrap();
        assert!(short.contains("longer --budget"), "{short}");
        // A good check has nothing to be settled.
        let good = made::bandwidth("symmetry", "GPU0->GPU1", 20.0);
        assert_eq!(told(good.clone(), Further::Before, [].into_iter()), good);
    }
}
