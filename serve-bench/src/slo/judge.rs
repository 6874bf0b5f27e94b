//! The verdict on a load, from the records of all its runs so far. Pure.

use measure::record::{Serve, ServeRequest};
use serde::{Deserialize, Serialize};

use super::objective::{Objective, Seen};
use super::search::Verdict;
use super::sustained::{Sustained, sustained};
use crate::attempt::{brief, of_client};

/// Part of the requests that must succeed for latencies to speak for the load.
const SUCCEEDED: f64 = 0.95;

/// The verdict on a load, and what it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Judged {
    /// The verdict.
    pub(super) verdict: Verdict,
    /// What decided it, in words.
    pub(super) why: String,
    /// What limited the load generator and what to do about it, where no run of this load is the server's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client: Option<String>,
    /// Each objective over all runs of this load that are the server's; over all where none is.
    pub(super) seen: Vec<Seen>,
    /// Whether the rate was sustained, run by run; empty for a concurrency, which sets its own rate.
    pub(super) sustained: Vec<Sustained>,
}

/// Judges a load by its runs, of which those that the client limited say nothing.
pub(super) fn judge(objectives: &[Objective], runs: &[&Serve]) -> Judged {
    let valid: Vec<&Serve> = runs
        .iter()
        .copied()
        .filter(|serve| of_client(serve).is_none())
        .collect();
    let client = runs.iter().rev().find_map(|serve| of_client(serve));
    let (client, runs) = if valid.is_empty() {
        (client, runs)
    } else {
        (None, &valid[..])
    };
    let is_open_loop = |serve: &&&Serve| {
        let load = serve.load.as_ref();
        load.is_some_and(|load| load.arrivals.is_open_loop())
    };
    let by_run: Vec<Sustained> = runs
        .iter()
        .filter(is_open_loop)
        .map(|serve| sustained(&serve.requests))
        .collect();
    let mut succeeded: Vec<&ServeRequest> = Vec::new();
    for serve in runs {
        let begun = succeeded.len();
        succeeded.extend(serve.requests.iter().filter(|one| one.error.is_none()));
        succeeded[begun..].sort_by(|one, other| one.sent_ms.total_cmp(&other.sent_ms));
    }
    let seen: Vec<Seen> = objectives
        .iter()
        .map(|objective| objective.seen(&succeeded))
        .collect();
    let (verdict, why) = client.as_ref().map_or_else(
        || verdict(&seen, &by_run, runs, succeeded.len()),
        |reason| {
            let why = format!("the load generator was the limit: {}", brief(reason));
            (Verdict::NotKnown, why)
        },
    );
    Judged {
        verdict,
        why,
        client,
        seen,
        sustained: by_run,
    }
}

fn verdict(
    seen: &[Seen],
    by_run: &[Sustained],
    runs: &[&Serve],
    succeeded: usize,
) -> (Verdict, String) {
    let all: usize = runs.iter().map(|serve| serve.requests.len()).sum();
    let missed = seen.iter().find(|seen| seen.kept == Some(false));
    #[expect(clippy::cast_precision_loss, reason = "counts of requests")]
    let has_failures = (succeeded as f64) < SUCCEEDED * all as f64 || succeeded == 0;
    if has_failures && missed.is_none() {
        let failed = all - succeeded;
        return (
            Verdict::NotSustained,
            format!("{failed} of {all} requests failed"),
        );
    }
    if let Some(missed) = missed {
        return (Verdict::Missed, format!("{} is not kept", missed.objective));
    }
    // Of several runs most must have held; a tie says that it is not known.
    let held = by_run.iter().filter(|run| run.held).count();
    if 2 * held < by_run.len() {
        let worst = by_run.iter().find(|run| !run.held);
        let why = worst.map_or_else(String::new, |run| run.why.clone());
        return (Verdict::NotSustained, why);
    }
    if let Some(open) = seen.iter().find(|seen| seen.kept.is_none()) {
        let why = if open.interval_ms.is_some() {
            format!("the interval of {} holds its limit", open.objective)
        } else {
            format!(
                "{} requests are too few for {}",
                open.requests, open.objective
            )
        };
        return (Verdict::Undecided, why);
    }
    if 2 * held == by_run.len() && !by_run.is_empty() {
        return (
            Verdict::Undecided,
            "one run was sustained and one was not".to_owned(),
        );
    }
    (Verdict::Met, "every objective is kept".to_owned())
}

#[cfg(test)]
mod tests {
    use measure::record::{Arrivals, RequestError, RequestErrorKind, ServeClient, ServeLoad};

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
        assert_eq!(found.why, "mean_tpot <= 50 ms is not kept");
    }

    #[test]
    fn a_burst_within_its_objectives_is_no_rate() {
        // 60 s of arrivals; a request lasts 40 s, 39.9 s of them before its first token, which is allowed here.
        let objectives = ["p99_ttft<=45s"].map(|text| text.parse().unwrap());
        let found = judge(&objectives, &[&serve(39_900.0, 40_000.0)]);
        assert_eq!(found.verdict, Verdict::NotSustained);
        assert!(found.why.contains("--window"), "{}", found.why);
    }

    #[test]
    fn a_client_that_lags_and_requests_that_fail_say_nothing() {
        let mut lagging = serve(100.0, 600.0);
        lagging.client = Some(ServeClient {
            invalid: vec!["busy 95% (limit 90%), so lower it".to_owned()],
            ..ServeClient::default()
        });
        let found = judged(&lagging);
        assert_eq!(found.verdict, Verdict::NotKnown);
        assert_eq!(
            found.why,
            "the load generator was the limit: busy 95% (limit 90%)"
        );
        assert_eq!(
            found.client.as_deref(),
            Some("busy 95% (limit 90%), so lower it")
        );
        // Another run of the same load that is the server's decides.
        let objectives = ["p99_ttft<=500ms"].map(|text| text.parse().unwrap());
        let found = judge(&objectives, &[&lagging, &serve(100.0, 600.0)]);
        assert_eq!((found.verdict, found.client), (Verdict::Met, None));

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
        assert_eq!(found.why, "60 of 600 requests failed");
    }
}
