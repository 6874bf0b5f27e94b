//! One load of a selftest: what the client reports beside what the engine counted, and whether the difference is within bounds.

use record::{Serve, ServeRequest};
use serde::{Deserialize, Serialize};

/// Bounds of the error of the mean TTFT up to so many streams, ms.
const TTFT_MS: [(u32, f64); 3] = [(4, 3.0), (64, 5.0), (1024, 20.0)];

/// Bound of the error of the mean time between tokens, as a part of it.
const ITL: f64 = 0.01;

/// Part of the offered rate that must have left.
const ACHIEVED: f64 = 0.99;

/// Bound of how late requests leave, ms, at the 99th percentile or, of few, the latest.
const SEND_LAG_MS: f64 = 10.0;

/// What a load offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Offered {
    /// So many requests in flight.
    Streams(u32),
    /// So many requests a second.
    Rate(u32),
}

/// A load and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Line {
    /// What was offered.
    pub(super) offered: Offered,
    /// Requests.
    pub(super) requests: usize,
    /// The engine's mean, ms.
    pub(super) ttft_true_ms: Option<f64>,
    /// The client's mean less the engine's, ms.
    pub(super) ttft_off_ms: Option<f64>,
    /// The engine's mean time between tokens, ms.
    pub(super) itl_true_ms: Option<f64>,
    /// The client's less the engine's, as a part of that.
    pub(super) itl_off: Option<f64>,
    /// Output tokens that the engine counted and the client.
    pub(super) tokens: (Option<f64>, Option<u64>),
    /// Requests a second that left; of a rate alone.
    pub(super) achieved: Option<f64>,
    /// How late requests left, ms, at the 99th percentile or, of few, the latest.
    pub(super) send_lag_ms: Option<f64>,
    /// What is beyond its bound.
    pub(super) beyond: Vec<Beyond>,
}

/// An error beyond its bound.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub(super) enum Beyond {
    /// Client and engine counted other tokens.
    Tokens,
    /// The mean TTFT, or there is none.
    Ttft { limit_ms: f64 },
    /// The mean time between tokens, or there is none.
    Itl { limit: f64 },
    /// Fewer requests left than were offered, or later.
    Rate { limit_ms: f64 },
}

impl Line {
    /// The line of a run that went to its end.
    pub(super) fn of(offered: Offered, serve: &Serve) -> Self {
        let counters = serve.server.as_ref().and_then(|it| it.counters.as_ref());
        let change = counters.and_then(|counters| counters.change.as_ref());
        let summary = serve.summary.as_ref();
        let client_ttft = summary.and_then(|it| it.ttft_ms.as_ref());
        let ttft_true_ms = change.and_then(|it| it.ttft).map(|it| it.mean_ms);
        let itl_true_ms = change.and_then(|it| it.itl).map(|it| it.mean_ms);
        let client_itl = summary.and_then(record::ServeSummary::token_gap_ms);
        let lags = serve.client.as_ref().and_then(|it| it.send_lag_ms.as_ref());
        let mut line = Self {
            offered,
            requests: serve.requests.len(),
            ttft_true_ms,
            ttft_off_ms: client_ttft
                .zip(ttft_true_ms)
                .map(|(of, truth)| of.mean - truth),
            itl_true_ms,
            itl_off: client_itl
                .zip(itl_true_ms)
                .map(|(of, truth)| of / truth - 1.0),
            tokens: (
                change.and_then(|it| it.generated_tokens),
                summary.and_then(|it| it.output_tokens),
            ),
            achieved: match offered {
                Offered::Streams(_) => None,
                Offered::Rate(_) => rate(&serve.requests),
            },
            send_lag_ms: lags.map(|lags| lags.p99.unwrap_or(lags.max)),
            beyond: Vec::new(),
        };
        line.beyond = line.judged();
        line
    }

    fn judged(&self) -> Vec<Beyond> {
        let streams = match self.offered {
            Offered::Streams(streams) => streams,
            // So many that none waits for a place in a step.
            Offered::Rate(_) => 64,
        };
        let bound = TTFT_MS.iter().find(|(most, _)| streams <= *most);
        let limit_ms = bound.map_or(f64::INFINITY, |(_, ms)| *ms);
        let is_off = |of: Option<f64>, limit: f64| of.is_none_or(|of| of.abs() > limit);
        let (engine, client) = self.tokens;
        #[expect(clippy::cast_precision_loss, reason = "a count of tokens")]
        let is_counted = engine.is_some() && engine == client.map(|tokens| tokens as f64);
        let is_sent = match self.offered {
            Offered::Streams(_) => true,
            Offered::Rate(rate) => {
                let least = f64::from(rate) * ACHIEVED;
                self.achieved.is_some_and(|achieved| achieved >= least)
                    && !is_off(self.send_lag_ms, SEND_LAG_MS)
            }
        };
        [
            (!is_counted).then_some(Beyond::Tokens),
            is_off(self.ttft_off_ms, limit_ms).then_some(Beyond::Ttft { limit_ms }),
            is_off(self.itl_off, ITL).then_some(Beyond::Itl { limit: ITL }),
            (!is_sent).then_some(Beyond::Rate {
                limit_ms: SEND_LAG_MS,
            }),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// Requests a second until the last one left.
fn rate(requests: &[ServeRequest]) -> Option<f64> {
    let last_ms = requests.iter().map(|one| one.sent_ms).fold(0.0, f64::max);
    #[expect(clippy::cast_precision_loss, reason = "a count of requests")]
    let count = requests.len() as f64;
    (last_ms > 0.0).then(|| count / last_ms * 1e3)
}

#[cfg(test)]
mod tests {
    use record::{ServeServer, ServeSummary, ServerChange, ServerCounters, ServerMean};
    use stats::distribution;

    use super::*;

    /// 100 requests of 10 tokens, one every 50 ms; the engine's TTFT is 40 ms and its time between tokens 20 ms.
    fn serve(ttft_ms: f64, itl_ms: f64) -> Serve {
        let mean = |mean_ms| {
            Some(ServerMean {
                mean_ms,
                count: 100.0,
            })
        };
        let request = |id: u32| ServeRequest {
            id,
            sent_ms: f64::from(id + 1) * 50.0,
            ..ServeRequest::default()
        };
        Serve {
            requests: (0..100).map(request).collect(),
            summary: Some(ServeSummary {
                output_tokens: Some(1000),
                ttft_ms: distribution(&[ttft_ms; 10]),
                itl_ms: distribution(&[itl_ms; 10]),
                ..ServeSummary::default()
            }),
            server: Some(ServeServer {
                counters: Some(ServerCounters {
                    change: Some(ServerChange {
                        generated_tokens: Some(1000.0),
                        ttft: mean(40.0),
                        itl: mean(20.0),
                        ..ServerChange::default()
                    }),
                    ..ServerCounters::default()
                }),
                ..ServeServer::default()
            }),
            client: Some(record::ServeClient {
                send_lag_ms: distribution(&[0.5; 10]),
                ..record::ServeClient::default()
            }),
            ..Serve::default()
        }
    }

    #[test]
    fn each_error_has_its_bound() {
        let four = Offered::Streams(4);
        // 42 - 40 = 2 ms of 3; 20.1 / 20 is 0.5% of 1%.
        let good = Line::of(four, &serve(42.0, 20.1));
        assert!(good.beyond.is_empty(), "{good:?}");
        assert!((good.ttft_off_ms.unwrap() - 2.0).abs() < 1e-9);
        assert!((good.itl_off.unwrap() - 0.005).abs() < 1e-9);
        let ttft = Line::of(four, &serve(44.0, 20.0));
        assert_eq!(ttft.beyond, [Beyond::Ttft { limit_ms: 3.0 }]);
        assert!(
            Line::of(Offered::Streams(64), &serve(44.0, 20.0))
                .beyond
                .is_empty()
        );
        let itl = Line::of(four, &serve(40.0, 21.0));
        assert_eq!(itl.beyond, [Beyond::Itl { limit: ITL }]);
        let mut other = serve(40.0, 20.0);
        other.summary.as_mut().unwrap().output_tokens = Some(999);
        assert_eq!(Line::of(four, &other).beyond, [Beyond::Tokens]);
    }

    #[test]
    fn a_rate_must_have_left_and_in_time() {
        // 100 requests until 5 s are 20 a second.
        let good = Line::of(Offered::Rate(20), &serve(40.0, 20.0));
        assert_eq!((good.achieved, good.beyond.len()), (Some(20.0), 0));
        let late = [Beyond::Rate { limit_ms: 10.0 }];
        assert_eq!(Line::of(Offered::Rate(21), &serve(40.0, 20.0)).beyond, late);
        let mut held = serve(40.0, 20.0);
        held.client.as_mut().unwrap().send_lag_ms = distribution(&[11.0; 10]);
        assert_eq!(Line::of(Offered::Rate(20), &held).beyond, late);
        // Without counters of the engine nothing is known, which is no pass.
        held.server = None;
        assert_eq!(Line::of(Offered::Streams(4), &held).beyond.len(), 3);
    }
}
