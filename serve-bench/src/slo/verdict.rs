//! The verdict on a load from all its runs so far, and what kept the server from more. Pure.

use record::caveat::Caveat;
use record::{Serve, ServeFinding, ServeRequest, ServerChange};
use serde::Serialize;

use super::objective::{Objective, Seen};
use super::search::Verdict;
use super::sustained::{Sustained, sustained};

/// Part of the requests that must succeed for latencies to speak for the load.
const SUCCEEDED: f64 = 0.95;

/// A key-value cache that is fuller than this part is what new requests wait for.
const CACHE_FULL: f64 = 0.9;

/// What failed requests say where this machine, and not the server, had no more files or ports.
const OF_THE_CLIENT: [&str; 2] = ["os error 24", "os error 99"];

/// A run, and the verdict on its load with the earlier runs of the same load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Judged {
    /// Number of the run, from 1.
    pub(super) run: usize,
    /// Its load.
    pub(super) at: f64,
    /// Its folder's name.
    folder: String,
    /// Requests of the run that succeeded.
    pub(super) completed: u32,
    /// Requests of the run that failed.
    pub(super) failed: u32,
    /// Completed requests per second of the run's whole duration.
    pub(super) requests_per_s: f64,
    /// Output tokens per second.
    output_tokens_per_s: Option<f64>,
    /// Part of the run's requests that keep the limit of every objective on a percentile, 0 to 1, where there is one; failed ones
    /// keep none.
    pub(super) attained: Option<f64>,
    /// Part of the run's prompt tokens that came from a prefix cache, 0 to 1, where it is a finding.
    pub(super) prefix_cache: Option<f64>,
    /// What kept the server from more, where the load is not met.
    pub(super) limit: Option<Limit>,
    /// The most requests that ran at once, and that waited, by the server's counters.
    pub(super) running: Option<f64>,
    pub(super) waiting: Option<f64>,
    /// The verdict on the load.
    pub(super) verdict: Verdict,
    /// What decided it.
    pub(super) code: &'static str,
    /// Of what, in words.
    pub(super) detail: String,
    /// Each objective over all runs of this load that are the server's; over all where none is.
    pub(super) seen: Vec<Seen>,
    /// Whether the rate was sustained, run by run; empty for a concurrency, which sets its own rate.
    pub(super) sustained: Vec<Sustained>,
    /// What it measured.
    #[serde(skip)]
    serve: Serve,
}

/// What a load beyond the answer came up against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Limit {
    /// Requests waited while the server ran its most.
    #[strum(serialize = "max_num_seqs")]
    Slots,
    /// Requests waited while the key-value cache was full.
    #[strum(serialize = "KV cache")]
    KvCache,
    /// Prompts waited for those before them.
    #[strum(serialize = "prefill queue")]
    PrefillQueue,
    /// Tokens came too slowly: the step with so many requests is too long.
    #[strum(serialize = "time of a decode step")]
    DecodeStep,
    /// The server completes no more.
    #[strum(serialize = "throughput")]
    Throughput,
    /// The load generator.
    #[strum(serialize = "the load generator")]
    Client,
}

impl Judged {
    /// Judges the load of a run with those before it; runs that the client limited say nothing where others do.
    pub(super) fn new(
        objectives: &[Objective],
        (at, folder): (f64, String),
        before: &[Self],
        serve: Serve,
    ) -> Self {
        let same = before.iter().filter(|made| made.at == at);
        let same = same.map(|made| &made.serve).chain([&serve]);
        let (valid, limited): (Vec<&Serve>, Vec<&Serve>) =
            same.partition(|serve| of_client(serve).is_none());
        let client = of_client(&serve).filter(|_| valid.is_empty());
        let runs = if valid.is_empty() { limited } else { valid };
        let by_run: Vec<Sustained> = runs.iter().filter_map(|run| of_rate(run)).collect();
        let mut succeeded: Vec<&ServeRequest> = Vec::new();
        for serve in &runs {
            let begun = succeeded.len();
            succeeded.extend(serve.requests.iter().filter(|one| one.error.is_none()));
            succeeded[begun..].sort_by(|one, other| one.sent_ms.total_cmp(&other.sent_ms));
        }
        let seen: Vec<Seen> = objectives.iter().map(|of| of.seen(&succeeded)).collect();
        let of = runs.iter().map(|serve| serve.requests.len()).sum();
        let client = client.map(|limit| format!("load generator: {limit}"));
        let (verdict, code, detail) = match client {
            Some(detail) => (Verdict::NotKnown, "client-limit", detail),
            None => decided(&seen, &by_run, succeeded.len(), of),
        };
        let keeps = |one: &&ServeRequest| {
            one.error.is_none() && objectives.iter().all(|of| of.is_kept_by(one))
        };
        let own = &serve.requests;
        let attained = own.iter().filter(keeps).count() as f64 / own.len().max(1) as f64;
        let prefix_cache = findings(&serve).find_map(|finding| match finding {
            ServeFinding::PrefixCacheHits {
                cached,
                of,
                expected: false,
                ..
            } => Some(*cached as f64 / *of as f64),
            _ => None,
        });
        let summary = serve.summary.clone().unwrap_or_default();
        Self {
            run: before.len() + 1,
            at,
            folder,
            completed: summary.completed,
            failed: summary.failed,
            // The end of a run, when nothing arrives any more, is long beside few arrivals.
            requests_per_s: of_rate(&serve)
                .and_then(|of| of.completed_per_s)
                .unwrap_or(summary.requests_per_s),
            output_tokens_per_s: summary.output_tokens_per_s,
            attained: Some(attained).filter(|_| objectives.iter().any(Objective::is_of_requests)),
            prefix_cache,
            running: change(&serve).and_then(|change| change.running_most),
            waiting: change(&serve).and_then(|change| change.waiting_most),
            limit: limit(&serve, verdict, &seen),
            verdict,
            code,
            detail,
            seen,
            sustained: by_run,
            serve,
        }
    }
}

/// Whether the rate of an open-loop run was sustained.
fn of_rate(serve: &Serve) -> Option<Sustained> {
    let load = serve.load.as_ref()?;
    let is_open = load.arrivals.is_open_loop();
    is_open.then(|| sustained(&serve.requests))
}

/// What was found in a run.
fn findings(serve: &Serve) -> impl Iterator<Item = &ServeFinding> {
    serve.caveats.iter().filter_map(|caveat| match caveat {
        Caveat::Serve { finding } => Some(finding),
        _ => None,
    })
}

/// The verdict with what decided it, of so many requests of which so many succeeded.
fn decided(
    seen: &[Seen],
    by_run: &[Sustained],
    succeeded: usize,
    of: usize,
) -> (Verdict, &'static str, String) {
    let kept = |kept| seen.iter().find(move |seen| seen.kept == kept);
    let failed = of - succeeded;
    let is_failed = succeeded == 0 || (succeeded as f64) < SUCCEEDED * of as f64;
    // Of several runs most must have held; a tie says that it is not known.
    let held = 2 * by_run.iter().filter(|run| run.held).count();
    let is_tie = held == by_run.len() && held > 0;
    let burst = by_run.iter().find(|run| held < by_run.len() && !run.held);
    match (kept(Some(false)), burst, kept(None)) {
        (Some(missed), ..) => {
            let detail = format!("{} not kept", missed.objective);
            (Verdict::Missed, "not-kept", detail)
        }
        _ if is_failed => {
            let detail = format!("{failed} of {of} requests failed");
            (Verdict::NotSustained, "requests-failed", detail)
        }
        (_, Some(burst), _) => {
            let part = f64::from(burst.completed) / f64::from(burst.offered.max(1)) * 100.0;
            let growth = burst.growth_per_s;
            let detail = growth.map(|of| format!("{part:.0}% completed, {of:+.2}/s in flight"));
            let code = if growth.is_some() { "growing" } else { "burst" };
            let long = || "requests last too long for --window".to_owned();
            (Verdict::NotSustained, code, detail.unwrap_or_else(long))
        }
        (.., Some(open)) if open.interval_ms.is_some() => {
            let detail = format!("limit inside the interval of {}", open.objective);
            (Verdict::Undecided, "limit-in-interval", detail)
        }
        (.., Some(open)) => {
            let (requests, objective) = (open.requests, &open.objective);
            let detail = format!("{requests} requests are too few for {objective}");
            (Verdict::Undecided, "too-few-requests", detail)
        }
        _ if is_tie => {
            let detail = "one run sustained, one not".to_owned();
            (Verdict::Undecided, "runs-disagree", detail)
        }
        _ => (Verdict::Met, "all-kept", "every objective kept".to_owned()),
    }
}

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

/// How the server's counters changed over a run.
fn change(serve: &Serve) -> Option<&ServerChange> {
    let counters = serve.server.as_ref()?.counters.as_ref()?;
    counters.change.as_ref()
}

/// What a load that is not met came up against, by its last run: by the server's counters where it has them, else by what was missed;
/// `None` where it is met or not decided.
fn limit(serve: &Serve, verdict: Verdict, seen: &[Seen]) -> Option<Limit> {
    let is_full = change(serve).is_some_and(|change| {
        change.kv_used_most > Some(CACHE_FULL) && change.waiting_most > Some(0.0)
    });
    let is_of_slots = |of: &ServeFinding| matches!(of, ServeFinding::MoreRequestsThanSlots { .. });
    let missed = seen.iter().find(|seen| seen.kept == Some(false));
    Some(match (verdict, missed.map(|seen| seen.latency)) {
        (Verdict::Met | Verdict::Undecided, _) => return None,
        (Verdict::NotKnown, _) => Limit::Client,
        _ if is_full => Limit::KvCache,
        _ if findings(serve).any(is_of_slots) => Limit::Slots,
        (_, Some("tpot" | "itl")) => Limit::DecodeStep,
        (_, Some("ttft")) => Limit::PrefillQueue,
        _ => Limit::Throughput,
    })
}

#[cfg(test)]
mod tests {
    use record::{
        Arrivals, RequestError, RequestErrorKind, ServeClient, ServeLoad, ServeServer,
        ServerCounters,
    };

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

    /// A tenth of its requests failed so.
    fn failing(seen: &str) -> Serve {
        let mut serve = serve(100.0, 600.0);
        for request in serve.requests.iter_mut().step_by(10) {
            request.error = Some(RequestError {
                kind: RequestErrorKind::Status,
                seen: seen.to_owned(),
            });
        }
        serve
    }

    fn judged(objectives: &[&str], before: &[Judged], serve: Serve) -> Judged {
        let objectives: Vec<Objective> = objectives.iter().map(|of| of.parse().unwrap()).collect();
        Judged::new(&objectives, (10.0, String::new()), before, serve)
    }

    fn verdict(serve: Serve) -> (Verdict, &'static str) {
        let found = judged(&["p99_ttft<=500ms", "mean_tpot<=50ms"], &[], serve);
        (found.verdict, found.code)
    }

    #[test]
    fn what_keeps_all_is_met_and_what_breaks_one_is_missed() {
        // TPOT (600 - 100) / 10 = 50 ms.
        assert_eq!(verdict(serve(100.0, 600.0)), (Verdict::Met, "all-kept"));
        // (601 - 100) / 10 = 50.1 ms.
        assert_eq!(verdict(serve(100.0, 601.0)), (Verdict::Missed, "not-kept"));
        // 60 of 600 are 10%.
        let failed = (Verdict::NotSustained, "requests-failed");
        assert_eq!(verdict(failing("503")), failed);
    }

    #[test]
    fn a_burst_within_its_objectives_is_no_rate() {
        // 60 s of arrivals; a request lasts 40 s, 39.9 s of them before its first token, which is allowed here.
        let found = judged(&["p99_ttft<=45s"], &[], serve(39_900.0, 40_000.0));
        assert_eq!(
            (found.verdict, found.code),
            (Verdict::NotSustained, "burst")
        );
        assert_eq!(found.attained, Some(1.0));
        // A mean is none of single requests.
        let found = judged(&["mean_ttft<=45s"], &[], serve(39_900.0, 40_000.0));
        assert_eq!(found.attained, None);
    }

    #[test]
    fn a_client_that_lags_or_has_no_files_says_nothing() {
        let mut lagging = serve(100.0, 600.0);
        lagging.client = Some(ServeClient {
            invalid: vec!["client-busy".to_owned()],
            ..ServeClient::default()
        });
        let limited = judged(&["p99_ttft<=500ms"], &[], lagging);
        assert_eq!(limited.verdict, Verdict::NotKnown);
        assert_eq!(limited.limit.unwrap(), Limit::Client);
        // Another run of the same load that is the server's decides, and it stays decided by it.
        let found = judged(&["p99_ttft<=500ms"], &[limited], serve(100.0, 600.0));
        assert_eq!((found.run, found.verdict), (2, Verdict::Met));
        let fileless = failing("Too many open files (os error 24)");
        assert_eq!(verdict(fileless), (Verdict::NotKnown, "client-limit"));
    }

    #[test]
    fn counters_name_the_limit_before_what_was_missed() {
        let of = |waiting: f64, used: f64, is_full: bool, objective: &str| {
            let mut serve = serve(100.0, 601.0);
            let finding = ServeFinding::MoreRequestsThanSlots {
                running: 256.0,
                waiting,
                kv_used: None,
            };
            serve
                .caveats
                .extend(is_full.then_some(Caveat::Serve { finding }));
            let change = ServerChange {
                waiting_most: Some(waiting),
                kv_used_most: Some(used),
                ..ServerChange::default()
            };
            serve.server = Some(ServeServer {
                counters: Some(ServerCounters {
                    change: Some(change),
                    ..ServerCounters::default()
                }),
                ..ServeServer::default()
            });
            judged(&[objective], &[], serve).limit.unwrap()
        };
        let (ttft, tpot) = ("mean_ttft<=99ms", "mean_tpot<=50ms");
        assert_eq!(of(9.0, 0.5, true, ttft), Limit::Slots);
        assert_eq!(of(9.0, 0.97, true, ttft), Limit::KvCache);
        assert_eq!(of(9.0, 0.5, false, ttft), Limit::PrefillQueue);
        assert_eq!(of(0.0, 0.97, false, tpot), Limit::DecodeStep);
    }
}
