//! The verdict on a load, from the records of all its runs so far. Pure.

use record::{Serve, ServeRequest};
use serde::Serialize;

use super::objective::{Objective, Seen};
use super::search::Verdict;
use super::sustained::{Sustained, sustained};

/// Part of the requests that must succeed for latencies to speak for the load.
const SUCCEEDED: f64 = 0.95;

/// The verdict on a load, and what it rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Judged {
    /// The verdict.
    pub(super) verdict: Verdict,
    /// What decided it.
    pub(super) reason: Reason,
    /// Each objective over all runs of this load that are the server's; over all where none is.
    pub(super) seen: Vec<Seen>,
    /// Whether the rate was sustained, run by run; empty for a concurrency, which sets its own rate.
    pub(super) sustained: Vec<Sustained>,
}

/// What decided a load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Reason {
    /// What it is.
    pub(super) code: &'static str,
    /// Of what, in words.
    pub(super) detail: String,
}

/// Judges a load by its runs, of which those that the client limited say nothing.
pub(super) fn judge(objectives: &[Objective], runs: &[&Serve]) -> Judged {
    let valid = runs.iter().filter(|serve| of_client(serve).is_none());
    let valid: Vec<&Serve> = valid.copied().collect();
    let runs = if valid.is_empty() { runs } else { &valid };
    let is_open_loop = |serve: &&&Serve| {
        let load = serve.load.as_ref();
        load.is_some_and(|load| load.arrivals.is_open_loop())
    };
    let by_run = runs.iter().filter(is_open_loop);
    let by_run: Vec<Sustained> = by_run.map(|serve| sustained(&serve.requests)).collect();
    let mut succeeded: Vec<&ServeRequest> = Vec::new();
    for serve in runs {
        let begun = succeeded.len();
        succeeded.extend(serve.requests.iter().filter(|one| one.error.is_none()));
        succeeded[begun..].sort_by(|one, other| one.sent_ms.total_cmp(&other.sent_ms));
    }
    let seen: Vec<Seen> = objectives.iter().map(|of| of.seen(&succeeded)).collect();
    let of = runs.iter().map(|serve| serve.requests.len()).sum();
    let (verdict, code, detail) = match runs.last().and_then(|serve| of_client(serve)) {
        Some(limit) => {
            let detail = format!("load generator: {limit}");
            (Verdict::NotKnown, "client-limit", detail)
        }
        None => decided(&seen, &by_run, succeeded.len(), of),
    };
    Judged {
        verdict,
        reason: Reason { code, detail },
        seen,
        sustained: by_run,
    }
}

fn decided(
    seen: &[Seen],
    by_run: &[Sustained],
    succeeded: usize,
    of: usize,
) -> (Verdict, &'static str, String) {
    if let Some(missed) = seen.iter().find(|seen| seen.kept == Some(false)) {
        let detail = format!("{} not kept", missed.objective);
        return (Verdict::Missed, "not-kept", detail);
    }
    #[expect(clippy::cast_precision_loss, reason = "counts of requests")]
    let has_failures = (succeeded as f64) < SUCCEEDED * of as f64 || succeeded == 0;
    if has_failures {
        let detail = format!("{} of {of} requests failed", of - succeeded);
        return (Verdict::NotSustained, "requests-failed", detail);
    }
    // Of several runs most must have held; a tie says that it is not known.
    let held = by_run.iter().filter(|run| run.held).count();
    if let Some(worst) = by_run.iter().find(|run| !run.held)
        && 2 * held < by_run.len()
    {
        let growth = worst.growth_per_s.unwrap_or(0.0);
        let part = f64::from(worst.completed) / f64::from(worst.offered.max(1));
        let (code, detail) = match worst.window_s {
            None => ("burst", "requests last too long for --window".to_owned()),
            Some(_) => {
                let part = part * 100.0;
                let detail = format!("{part:.0}% completed, {growth:+.2}/s in flight");
                ("growing", detail)
            }
        };
        return (Verdict::NotSustained, code, detail);
    }
    if let Some(open) = seen.iter().find(|seen| seen.kept.is_none()) {
        let (objective, requests) = (&open.objective, open.requests);
        let (code, detail) = match open.interval_ms {
            Some(_) => {
                let detail = format!("limit inside the interval of {objective}");
                ("limit-in-interval", detail)
            }
            None => {
                let detail = format!("{requests} requests are too few for {objective}");
                ("too-few-requests", detail)
            }
        };
        return (Verdict::Undecided, code, detail);
    }
    if 2 * held == by_run.len() && !by_run.is_empty() {
        let detail = "one run sustained, one not".to_owned();
        return (Verdict::Undecided, "runs-disagree", detail);
    }
    (Verdict::Met, "all-kept", "every objective kept".to_owned())
}

/// What failed requests say where this machine, and not the server, had no more files or ports.
const OF_THE_CLIENT: [&str; 2] = ["os error 24", "os error 99"];

/// The code of why a run says nothing about the server, because the load generator was the limit.
fn of_client(serve: &Serve) -> Option<&str> {
    let client = serve.client.as_ref();
    if let Some(code) = client.and_then(|client| client.invalid.first()) {
        return Some(code);
    }
    let mut errors = serve.requests.iter().filter_map(|one| one.error.as_ref());
    let is_own = errors.any(|error| OF_THE_CLIENT.iter().any(|own| error.seen.contains(own)));
    is_own.then_some("client-out-of-files")
}

#[cfg(test)]
mod tests {
    use record::{Arrivals, RequestError, RequestErrorKind, ServeClient, ServeLoad};

    use super::*;

    /// 600 requests at 10 a second, each with this TTFT and this end-to-end time.
    fn serve(ttft_ms: f64, e2el_ms: f64) -> Serve {
        let requests = (0..600).map(|id| {
            let sent = f64::from(id) * 100.0;
            ServeRequest {
                id,
                intended_ms: Some(sent),
                sent_ms: sent,
                ended_ms: sent + e2el_ms,
                token_chunks_ms: vec![sent + ttft_ms, sent + e2el_ms],
                output_tokens: Some(11),
                ..ServeRequest::default()
            }
        });
        Serve {
            load: Some(ServeLoad {
                arrivals: Arrivals::Poisson { rate: 10.0 },
                ..ServeLoad::default()
            }),
            requests: requests.collect(),
            ..Serve::default()
        }
    }

    fn judged(serve: &Serve) -> Judged {
        let objectives = ["p99_ttft<=500ms", "mean_tpot<=50ms"];
        let objectives = objectives.map(|text| text.parse().unwrap());
        judge(&objectives, &[serve])
    }

    #[test]
    fn what_keeps_all_is_met_and_what_breaks_one_is_missed() {
        // TPOT (600 - 100) / 10 = 50 ms.
        assert_eq!(judged(&serve(100.0, 600.0)).verdict, Verdict::Met);
        // (601 - 100) / 10 = 50.1 ms.
        let found = judged(&serve(100.0, 601.0));
        assert_eq!(found.verdict, Verdict::Missed);
        assert_eq!(found.reason.code, "not-kept");
    }

    #[test]
    fn a_burst_within_its_objectives_is_no_rate() {
        // 60 s of arrivals; a request lasts 40 s, 39.9 s of them before its first token, which is allowed here.
        let objectives = ["p99_ttft<=45s"].map(|text| text.parse().unwrap());
        let found = judge(&objectives, &[&serve(39_900.0, 40_000.0)]);
        assert_eq!(found.verdict, Verdict::NotSustained);
        assert_eq!(found.reason.code, "burst");
    }

    #[test]
    fn a_client_that_lags_and_requests_that_fail_say_nothing() {
        let mut lagging = serve(100.0, 600.0);
        lagging.client = Some(ServeClient {
            invalid: vec!["client-busy".to_owned()],
            ..ServeClient::default()
        });
        let found = judged(&lagging);
        assert_eq!(found.verdict, Verdict::NotKnown);
        assert_eq!(found.reason.code, "client-limit");
        // Another run of the same load that is the server's decides.
        let objectives = ["p99_ttft<=500ms"].map(|text| text.parse().unwrap());
        let found = judge(&objectives, &[&lagging, &serve(100.0, 600.0)]);
        assert_eq!(found.verdict, Verdict::Met);

        let mut fileless = serve(100.0, 600.0);
        for request in fileless.requests.iter_mut().step_by(10) {
            request.error = Some(RequestError {
                kind: RequestErrorKind::Connect,
                seen: "Too many open files (os error 24)".to_owned(),
            });
        }
        assert_eq!(judged(&fileless).verdict, Verdict::NotKnown);

        let mut failing = serve(100.0, 600.0);
        // 60 of 600 are 10%.
        for request in failing.requests.iter_mut().step_by(10) {
            request.error = Some(RequestError {
                kind: RequestErrorKind::Status,
                seen: "503".to_owned(),
            });
        }
        let found = judged(&failing);
        assert_eq!(found.verdict, Verdict::NotSustained);
        assert_eq!(found.reason.code, "requests-failed");
    }
}
