//! The figures of a run beside those of a baseline.

use super::judging::{Judging, seen_times};
use super::three_way::Figure;
use crate::report::{Check, Limit, ReasonCode, Seen, Side, Subject, Verdict};

const KIND: &str = "baseline";
const SOURCE: &str = "the baseline";

/// A failed check for each figure that is worse, else one for all.
pub(super) fn baseline(judging: &Judging<'_>) -> Vec<Check> {
    let Some(compared) = &judging.findings.baseline else {
        return Vec::new();
    };
    if !compared.differences.is_empty() || compared.count == 0 {
        let detail = match compared.differences.is_empty() {
            true => "no figure is in both runs".to_owned(),
            false => format!("other {}", compared.differences.join(", ")),
        };
        let subject = Subject::new(KIND, ["box".to_owned()], true);
        return vec![subject.open(ReasonCode::Unreadable, &detail, None, vec![])];
    }
    let one = |(row, worst): &(program::compare::Row<crate::compare::Number>, f64)| {
        let interval = row.interval;
        let figure = Figure {
            value: row.ratio,
            ends: interval.map(|ends| (ends.low, ends.high)),
            n: row.n_b.unwrap_or(1).try_into().unwrap_or(usize::MAX),
            samples: vec![],
        };
        let before = row.a;
        let what = format!(
            "{} over the baseline's {before:.2} {}",
            row.number.1, row.unit
        );
        let evidence = figure.evidence(what, "1", SOURCE);
        let limit = Limit {
            good: if *worst < 1.0 {
                Side::AtLeast
            } else {
                Side::AtMost
            },
            fail: Some(*worst),
            unit: "1".to_owned(),
            source: "our choice".to_owned(),
            ..Limit::default()
        };
        let came = (Verdict::Fail, ReasonCode::BeyondLimit, String::new());
        let about = [row.number.0.clone(), row.number.1.clone()];
        judging.judged(KIND, about, came, Some(limit), Seen::new(evidence, []))
    };
    if compared.worse.is_empty() {
        let evidence = seen_times(
            compared.count,
            "figures compared",
            "none worse",
            None,
            SOURCE,
        );
        return vec![judging.pass(KIND, "box", evidence)];
    }
    compared.worse.iter().map(one).collect()
}
