//! A serving benchmark on this box: failed requests, and times against the profile's limits.

use record::{Distribution, Payload, ServeSummary};

use super::held::Held;
use super::judging::{Judging, seen};
use super::three_way::Figure;
use crate::report::{Check, ReasonCode, Seen, Verdict};

const KIND: &str = "serving";

/// One check on the requests of each record, and one for each time.
pub(super) fn serving(judging: &Judging<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    for (number, found) in judging.findings.serving.iter().enumerate() {
        let Payload::Serve(serve) = &found.it.payload else {
            continue;
        };
        // A record without one is no evidence, and not among the findings.
        let Some(summary) = &serve.summary else {
            continue;
        };
        let about = |what: &str| match number {
            0 => vec![what.to_owned()],
            number => vec![what.to_owned(), format!("run {}", number + 1)],
        };
        checks.push(requests(judging, about("requests"), summary, &found.source));
        for (of, what, times) in [
            ("tpot", "time per output token", &summary.tpot_ms),
            ("ttft", "time to first token", &summary.ttft_ms),
        ] {
            if let Some(times) = times {
                let what = (format!("{what}, median over requests"), "ms");
                let held = Held::new(KIND, about(of), figure(times), what, &found.source);
                checks.push(judging.hold(held.by(judging.row(KIND, Some(of)), vec![])));
            }
        }
    }
    checks
}

fn figure(times: &Distribution) -> Figure {
    Figure {
        value: times.median,
        ends: times
            .median_interval
            .map(|interval| (interval.low, interval.high)),
        n: times.n,
        samples: Vec::new(),
    }
}

fn requests(
    judging: &Judging<'_>,
    about: Vec<String>,
    summary: &ServeSummary,
    source: &str,
) -> Check {
    let (completed, failed) = (summary.completed, summary.failed);
    let value = format!("{failed} of {} failed", completed + failed);
    let expected = Some(format!("0 of {} failed", completed + failed));
    let evidence = seen("requests", value, expected, source);
    let kinds = summary.failures.iter();
    let kinds: Vec<String> = kinds
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    let (verdict, code) = match failed {
        0 => (Verdict::Pass, ReasonCode::AsExpected),
        _ => (Verdict::Fail, ReasonCode::ErrorsCounted),
    };
    let came = (verdict, code, kinds.join(", "));
    judging.judged(KIND, about, came, None, Seen::new(evidence, []))
}
