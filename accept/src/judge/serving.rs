//! A serving benchmark on this box: failed requests, and times against the profile's limits.

use measure::record::{Distribution, Payload, RequestErrorKind, ServeLoad, ServeSummary, Status};

use super::held::{Ceiling, Held};
use super::inventory::seen;
use super::judging::Judging;
use super::three_way::Figure;
use crate::plural::plural;
use crate::report::{Check, ReasonCode, Seen, Verdict};

const KIND: &str = "serving";

/// One check on the requests of each record, and one for each time.
pub(super) fn serving(judging: &Judging<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    for (number, found) in judging.findings.serving.iter().enumerate() {
        let Payload::Serve(serve) = &found.it.payload else {
            continue;
        };
        let about = |what: &str| match number {
            0 => vec![what.to_owned()],
            number => vec![what.to_owned(), format!("run {}", number + 1)],
        };
        let Some(summary) = &serve.summary else {
            let how = match &found.it.status {
                Status::Refused { reason } | Status::Failed { reason } => reason.clone(),
                other => format!("{other:?}").to_lowercase(),
            };
            let text = format!("no request completed: {how}");
            let evidence = seen(
                "completed requests",
                "0",
                Some("all".to_owned()),
                &found.source,
            );
            let came = (Verdict::Fail, ReasonCode::ServerExited, text);
            checks.push(judging.judged(
                KIND,
                about("requests"),
                came,
                None,
                Seen::new(evidence, []),
            ));
            continue;
        };
        let load = serve.load.as_ref();
        checks.push(requests(
            judging,
            about("requests"),
            (summary, load),
            &found.source,
        ));
        for (of, what, times) in [
            ("tpot", "time per output token", &summary.tpot_ms),
            ("ttft", "time to first token", &summary.ttft_ms),
        ] {
            if let Some(times) = times {
                checks.push(judging.hold(Held {
                    kind: KIND,
                    about: about(of),
                    devices: vec![],
                    figure: figure(times),
                    what: format!("{what}, median over requests"),
                    unit: "ms",
                    row: judging.row(KIND, Some(of)),
                    ceiling: Ceiling::NoLink,
                    bad: ReasonCode::AboveLimit,
                    source: found.source.clone(),
                    more: vec![],
                    remark: String::new(),
                }));
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

/// What was asked of the server.
fn words(load: &ServeLoad) -> String {
    let tokens = |count: Option<u32>| count.map_or("any number of".to_owned(), |n| n.to_string());
    let at_once = load
        .concurrency
        .map_or(String::new(), |n| format!(", {n} in flight"));
    format!(
        "{} of {} tokens for {} each{at_once}",
        plural(load.requests, "request"),
        tokens(load.input_tokens),
        tokens(load.output_tokens)
    )
}

fn requests(
    judging: &Judging<'_>,
    about: Vec<String>,
    (summary, load): (&ServeSummary, Option<&ServeLoad>),
    source: &str,
) -> Check {
    let (completed, failed) = (summary.completed, summary.failed);
    let value = format!("{completed} completed, {failed} failed");
    let evidence = seen(
        "requests",
        value.clone(),
        Some("none failed".to_owned()),
        source,
    );
    if failed == 0 {
        let text = match load {
            Some(load) => format!("{value}; {}", words(load)),
            None => value,
        };
        let came = (Verdict::Pass, ReasonCode::AsExpected, text);
        return judging.judged(KIND, about, came, None, Seen::new(evidence, []));
    }
    let kinds: Vec<String> = summary
        .failures
        .iter()
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    // A connection that is refused or cut is a server that went away.
    let is_gone = |kind: &RequestErrorKind| {
        matches!(
            kind,
            RequestErrorKind::Refused | RequestErrorKind::Connect | RequestErrorKind::CutShort
        )
    };
    let gone = summary.failures.iter().any(|(kind, _)| is_gone(kind));
    let code = if gone {
        ReasonCode::ServerExited
    } else {
        ReasonCode::RequestsFailed
    };
    let came = (
        Verdict::Fail,
        code,
        format!("{value}: {}", kinds.join(", ")),
    );
    judging.judged(KIND, about, came, None, Seen::new(evidence, []))
}
