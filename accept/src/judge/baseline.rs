//! The figures of a run beside those of a baseline.

use super::judging::Judging;
use super::three_way::Figure;
use crate::baseline::Worse;
use crate::report::{Came, Check, Evidence, Limit, ReasonCode, Side, Verdict};

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
        let open = Came::open(ReasonCode::Unreadable).saying(detail);
        return vec![open.check(KIND, &["box"], true)];
    }
    if compared.worse.is_empty() {
        let evidence = Evidence::seen("figures compared", "none worse", SOURCE);
        let pass = Came::pass(evidence.times(compared.count));
        return vec![judging.check(KIND, &["box"], pass)];
    }
    let one = |(row, worst): &Worse| {
        let ends = row.interval.map(|ends| (ends.low, ends.high));
        let n = row.n_b.unwrap_or(1).try_into().unwrap_or(usize::MAX);
        let (check, what) = &row.number;
        let what = format!("{what} over the baseline's {:.2} {}", row.a, row.unit);
        let ratio = Figure::out_of(row.ratio, ends, n);
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
        let came = Came::new(Verdict::Fail, ReasonCode::BeyondLimit).by(Some(limit));
        let came = came.with([ratio.evidence(&*what, "1", SOURCE)]);
        judging.check(KIND, &[check, &row.number.1], came)
    };
    compared.worse.iter().map(one).collect()
}
