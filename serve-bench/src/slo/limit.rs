//! What keeps a server from more: by its own counters where it has them, else by what was missed. Pure.

use record::caveat::Caveat;
use record::{Serve, ServeFinding};
use serde::Serialize;

use super::judge::Judged;
use super::search::Verdict;

/// A key-value cache that is fuller than this part is what new requests wait for.
const CACHE_FULL: f64 = 0.9;

/// What a load beyond the answer came up against.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub(super) enum Limit {
    /// Requests waited while the server ran its most: `max_num_seqs`.
    Slots { running: f64, waiting: f64 },
    /// Requests waited while the key-value cache was full.
    KvCache { running: f64, used: f64 },
    /// Prompts waited for those before them.
    PrefillQueue { waiting: Option<f64> },
    /// Tokens came too slowly: the step with so many requests is too long.
    DecodeStep { running: Option<f64> },
    /// The server completes no more.
    Throughput { completed: f64 },
    /// The load generator.
    Client,
}

/// What a run was found to be.
fn findings(serve: &Serve) -> impl Iterator<Item = &ServeFinding> {
    serve.caveats.iter().filter_map(|caveat| match caveat {
        Caveat::Serve { finding } => Some(finding),
        _ => None,
    })
}

/// The part of a run's prompt tokens that came from a prefix cache, where that was not meant.
pub(super) fn cached(serve: &Serve) -> Option<f64> {
    findings(serve).find_map(|finding| match finding {
        ServeFinding::PrefixCacheHits {
            cached,
            of,
            expected: false,
            ..
        } => Some(*cached as f64 / *of as f64),
        _ => None,
    })
}

impl Limit {
    /// Of a load that is not met, by its last run; `None` where it is met or not decided.
    pub(super) fn of(serve: &Serve, judged: &Judged) -> Option<Self> {
        match judged.verdict {
            Verdict::Met | Verdict::Undecided => return None,
            Verdict::NotKnown => return Some(Self::Client),
            Verdict::Missed | Verdict::NotSustained => {}
        }
        let counters = serve.server.as_ref().and_then(|one| one.counters.as_ref());
        let change = counters.and_then(|counters| counters.change.as_ref());
        let waiting = change.and_then(|change| change.waiting_most);
        let running = change.and_then(|change| change.running_most);
        let used = change.and_then(|change| change.kv_used_most);
        let slots = findings(serve).find_map(|finding| match finding {
            ServeFinding::MoreRequestsThanSlots {
                running, waiting, ..
            } => Some((*running, *waiting)),
            _ => None,
        });
        let is_waiting = waiting.is_some_and(|waiting| waiting > 0.0);
        let missed = judged.seen.iter().find(|seen| seen.kept == Some(false));
        let completed = serve.summary.as_ref().map(|one| one.requests_per_s);
        Some(match (slots, used.filter(|used| *used > CACHE_FULL)) {
            (_, Some(used)) if is_waiting => Self::KvCache {
                running: running.unwrap_or(0.0),
                used,
            },
            (Some((running, waiting)), _) => Self::Slots { running, waiting },
            _ => match missed.map(|seen| seen.latency) {
                Some("tpot" | "itl") => Self::DecodeStep { running },
                Some("ttft") => Self::PrefillQueue { waiting },
                _ => Self::Throughput {
                    completed: completed.unwrap_or(0.0),
                },
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use record::{ServeServer, ServeSummary, ServerChange, ServerCounters};

    use super::super::judge::Reason;
    use super::super::objective::Seen;
    use super::*;

    fn judged(latency: &'static str) -> Judged {
        Judged {
            verdict: Verdict::Missed,
            reason: Reason {
                code: "not-kept",
                detail: String::new(),
            },
            seen: vec![Seen {
                objective: String::new(),
                latency,
                value_ms: Some(2.0),
                interval_ms: Some((1.5, 2.5)),
                requests: 400,
                kept: Some(false),
            }],
            sustained: Vec::new(),
        }
    }

    #[test]
    fn counters_name_the_limit_before_what_was_missed() {
        let with = |waiting: f64, used: f64, is_full: bool| {
            let finding = ServeFinding::MoreRequestsThanSlots {
                running: 256.0,
                waiting,
                kv_used: None,
            };
            Serve {
                caveats: is_full
                    .then_some(Caveat::Serve { finding })
                    .into_iter()
                    .collect(),
                server: Some(ServeServer {
                    counters: Some(ServerCounters {
                        change: Some(ServerChange {
                            running_most: Some(256.0),
                            waiting_most: Some(waiting),
                            kv_used_most: Some(used),
                            ..ServerChange::default()
                        }),
                        ..ServerCounters::default()
                    }),
                    ..ServeServer::default()
                }),
                summary: Some(ServeSummary::default()),
                ..Serve::default()
            }
        };
        let of = |serve: &Serve, latency| Limit::of(serve, &judged(latency)).unwrap();
        let slots = Limit::Slots {
            running: 256.0,
            waiting: 9.0,
        };
        assert_eq!(of(&with(9.0, 0.5, true), "ttft"), slots);
        let cache = Limit::KvCache {
            running: 256.0,
            used: 0.97,
        };
        assert_eq!(of(&with(9.0, 0.97, true), "ttft"), cache);
        let queue = Limit::PrefillQueue { waiting: Some(9.0) };
        assert_eq!(of(&with(9.0, 0.5, false), "ttft"), queue);
        let step = Limit::DecodeStep {
            running: Some(256.0),
        };
        assert_eq!(of(&with(0.0, 0.5, false), "tpot"), step);
        let none = Serve::default();
        assert_eq!(of(&none, "ttft"), Limit::PrefillQueue { waiting: None });
    }
}
