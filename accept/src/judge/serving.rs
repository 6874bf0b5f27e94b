//! A serving benchmark on this box: failed requests, and times against the profile's limits.

use record::Payload;

use super::held::Held;
use super::judging::Judging;
use super::three_way::Figure;
use crate::report::{Came, Check, Evidence, ReasonCode};

const KIND: &str = "serving";

/// One check on the requests of the record, and one for each time.
pub(super) fn serving(judging: &Judging<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    for found in &judging.findings.serving {
        let Payload::Serve(serve) = &found.it.payload else {
            continue;
        };
        // A record without one is no evidence, and not among the findings.
        let Some(summary) = &serve.summary else {
            continue;
        };
        let (failed, all) = (summary.failed, summary.completed + summary.failed);
        let seen = Evidence::seen(
            "requests",
            format!("{failed} of {all} failed"),
            &found.source,
        );
        let seen = seen.expecting(format!("0 of {all} failed"));
        let kinds = summary.failures.iter();
        let kinds: Vec<String> = kinds.map(|(kind, n)| format!("{n} {kind}")).collect();
        let came = match failed {
            0 => Came::pass(seen),
            _ => Came::fail(ReasonCode::ErrorsCounted, seen).saying(kinds.join(", ")),
        };
        checks.push(judging.check(KIND, &["requests"], came));
        for (of, what, times) in [
            ("tpot", "time per output token", &summary.tpot_ms),
            ("ttft", "time to first token", &summary.ttft_ms),
        ] {
            let Some(times) = times else { continue };
            let ends = times.median_interval.map(|ends| (ends.low, ends.high));
            let figure = Figure::out_of(times.median, ends, times.n);
            let held = Held {
                what: &format!("{what}, median over requests"),
                unit: "ms",
                source: &found.source,
                devices: &[],
            };
            let came = judging.hold(judging.row(KIND, Some(of)), &figure, &held);
            checks.push(judging.check(KIND, &[of], came));
        }
    }
    checks
}
