//! What the load generator says of itself, and when that makes a run invalid.
//!
//! A client that is short of CPU reports its own delay as the server's: TTFT too high, TPOT too low, and nothing else shows it.

use record::{Serve, ServeClient, ServeLoad, Stamps};
use stats::distribution;

use super::dispatch::Sent;
use super::tally::Tally;

/// A thread above this part of a CPU is taken as saturated: queueing before it grows without limit towards 1.
const SATURATED: f64 = 0.9;

/// A thread that waits for a CPU longer than this part of the time is taken as starved.
const STARVED: f64 = 0.05;

/// Reads that must be stamped by the kernel for the instants to be free of the thread's own waiting.
const STAMPED: f64 = 0.95;

/// Chunks that came with the one before in one read, above which a waiting thread makes instants wrong in spite of the kernel's
/// stamps: where several packets are read at once, only the stamp of the last is left.
const TOGETHER: f64 = 0.01;

/// Part of the time that the thread may have stood still, and the time that it may have in any run, s: a request in flight then has
/// all of it in its times, so that a small part of the time may be the whole of the 99th percentile.
const STILL: f64 = 0.005;
const STILL_S: f64 = 0.1;

/// Requests from which a percentile of 99 or of 90 stands for the latest of them; of fewer it is the latest itself.
const FOR_P99: usize = 200;
const FOR_P90: usize = 20;

/// A measured part below this is too short to judge what the thread took of it, s.
const SHORTEST_S: f64 = 1.0;

/// Lateness of sending at a rate, 99th percentile, below which nothing is said, ms: clients in use are later than that by
/// their scheduler alone.
const LATE_MS: f64 = 10.0;

/// Lateness of sending at a rate relative to the median TTFT, above which the load is not the one that was asked for.
const LATE: f64 = 0.05;

/// The figures of a run that went to its end, its summary being made.
pub(super) fn figures(serve: &Serve, sent: &Sent, tally: &Tally) -> ServeClient {
    let lags = &tally.read_lags_ns;
    let is_stamped = !lags.is_empty();
    let read_lags_ms: Vec<f64> = lags.iter().map(|ns| f64::from(*ns) / 1e6).collect();
    let mut client = ServeClient {
        stamps: match is_stamped {
            true => Stamps::AtReceipt,
            false => Stamps::AtRead,
        },
        kernel_stamped: is_stamped.then(|| lags.len() as f64 / tally.reads as f64),
        send_lag_ms: distribution(&tally.send_lags_ms),
        read_lag_ms: distribution(&read_lags_ms),
        busy: sent.own.busy,
        starved: sent.own.starved,
        largest_backlog: sent.backlog,
        reconnects: tally.reconnects,
        invalid: Vec::new(),
    };
    let duration_s = serve.summary.as_ref().map_or(0.0, |of| of.duration_s);
    let is_above =
        |part: Option<f64>, most| duration_s >= SHORTEST_S && part.is_some_and(|part| part > most);
    // What the kernel stamped came in when it says, however long the thread waited to read it.
    let is_told = client.kernel_stamped.is_some_and(|part| part >= STAMPED)
        && together(serve).is_none_or(|together| together <= TOGETHER);
    // A thread that does not run reads nothing and sends nothing, and the server waits for it.
    let still_s = sent.stood_still.as_secs_f64();
    let reasons = [
        ("client-busy", is_above(client.busy, SATURATED)),
        (
            "client-starved",
            is_above(client.starved, STARVED) && !is_told,
        ),
        (
            "client-stalled",
            duration_s > 0.0 && still_s > STILL_S.max(duration_s * STILL),
        ),
        ("client-late", is_late(serve, &client)),
    ];
    let reasons = reasons.into_iter().filter(|(_, holds)| *holds);
    client.invalid = reasons.map(|(code, _)| code.to_owned()).collect();
    client
}

/// Part of the chunks behind the first that came in one read with the one before.
fn together(serve: &Serve) -> Option<f64> {
    let (mut gaps, mut none) = (0_u64, 0_u64);
    for request in &serve.requests {
        for pair in request.token_chunks_ms.windows(2) {
            gaps += 1;
            none += u64::from(pair[0] >= pair[1]);
        }
    }
    (gaps > 0).then(|| none as f64 / gaps as f64)
}

/// Only of a rate: in a closed loop, and where all leave at once, a late request is a load a little lower, not a wrong time.
fn is_late(serve: &Serve, client: &ServeClient) -> bool {
    let is_paced = |load: &ServeLoad| load.arrivals.rate().is_some();
    let Some(lags) = &client.send_lag_ms else {
        return false;
    };
    let latest = match lags.n {
        FOR_P99.. => lags.p99,
        FOR_P90.. => lags.p90,
        _ => Some(lags.max),
    };
    let summary = serve.summary.as_ref();
    let ttft = summary.and_then(|summary| summary.ttft_ms.as_ref());
    let limit = LATE_MS.max(ttft.map_or(0.0, |ttft| ttft.median * LATE));
    serve.load.as_ref().is_some_and(is_paced) && latest.is_some_and(|latest| latest > limit)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use record::{Arrivals, ServeRequest, ServeSummary};

    use super::super::own::Own;
    use super::*;

    /// A run of two seconds at a rate, with a median TTFT of 50 ms.
    fn serve(arrivals: Arrivals) -> Serve {
        Serve {
            load: Some(ServeLoad {
                arrivals,
                ..ServeLoad::default()
            }),
            summary: Some(ServeSummary {
                duration_s: 2.0,
                ttft_ms: distribution(&[50.0; 10]),
                ..ServeSummary::default()
            }),
            ..Serve::default()
        }
    }

    fn sent(busy: f64, starved: f64) -> Sent {
        Sent {
            own: Own {
                busy: Some(busy),
                starved: Some(starved),
            },
            backlog: None,
            stood_still: Duration::ZERO,
        }
    }

    fn invalid(serve: &Serve, sent: &Sent, tally: &Tally, lag_ms: u32) -> Vec<String> {
        let tally = Tally {
            reads: tally.reads,
            read_lags_ns: tally.read_lags_ns.clone(),
            send_lags_ms: vec![f64::from(lag_ms); 200],
            ..Tally::default()
        };
        figures(serve, sent, &tally).invalid
    }

    #[test]
    fn a_saturated_or_starved_client_makes_a_run_invalid() {
        let poisson = serve(Arrivals::Poisson { rate: 1.0 });
        let none = Tally::default();
        assert_eq!(invalid(&poisson, &sent(0.9, 0.05), &none, 10), [""; 0]);
        let busy = invalid(&poisson, &sent(0.95, 0.0), &none, 0);
        assert_eq!(busy, ["client-busy"]);
        let starved = invalid(&poisson, &sent(0.5, 0.2), &none, 0);
        assert_eq!(starved, ["client-starved"]);
        // Ten reads, all stamped by the kernel: waiting does not show in the times.
        let stamped = Tally {
            reads: 10,
            read_lags_ns: vec![1000; 10],
            ..Tally::default()
        };
        assert_eq!(invalid(&poisson, &sent(0.5, 0.2), &stamped, 0), [""; 0]);
        // One of 50 gaps is none: 2% of the chunks came with the one before.
        let mut together = poisson.clone();
        let mut chunks: Vec<f64> = (0..50).map(f64::from).collect();
        chunks.push(49.0);
        together.requests.push(ServeRequest {
            token_chunks_ms: chunks,
            ..ServeRequest::default()
        });
        assert_eq!(invalid(&together, &sent(0.5, 0.05), &stamped, 0), [""; 0]);
        let starved = invalid(&together, &sent(0.5, 0.2), &stamped, 0);
        assert_eq!(starved, ["client-starved"]);
        let still = |ms| {
            let sent = Sent {
                stood_still: Duration::from_millis(ms),
                ..sent(0.1, 0.0)
            };
            invalid(&poisson, &sent, &stamped, 0)
        };
        assert_eq!(still(100), [""; 0]);
        assert_eq!(still(110), ["client-stalled"]);
        // Half a second is too short to judge.
        let mut short = poisson;
        if let Some(summary) = &mut short.summary {
            summary.duration_s = 0.5;
        }
        assert_eq!(invalid(&short, &sent(0.95, 0.2), &none, 0), [""; 0]);
    }

    #[test]
    fn lateness_counts_at_a_rate_beyond_ten_ms_and_a_twentieth_of_ttft() {
        let (none, quiet) = (Tally::default(), sent(0.1, 0.0));
        let mut poisson = serve(Arrivals::Poisson { rate: 1.0 });
        let late = invalid(&poisson, &quiet, &none, 11);
        assert_eq!(late, ["client-late"]);
        assert_eq!(
            invalid(&serve(Arrivals::AllAtOnce), &quiet, &none, 11),
            [""; 0]
        );
        // 5% of 400 ms is 20 ms.
        if let Some(summary) = &mut poisson.summary {
            summary.ttft_ms = distribution(&[400.0; 10]);
        }
        assert_eq!(invalid(&poisson, &quiet, &none, 19), [""; 0]);
    }

    #[test]
    fn few_requests_are_judged_by_their_90th_percentile_or_the_latest() {
        let poisson = serve(Arrivals::Poisson { rate: 1.0 });
        let quiet = sent(0.1, 0.0);
        // One of twenty is not their 90th percentile.
        for (late, on_time, is_late) in [(30, 120, true), (1, 5, true), (1, 19, false)] {
            let tally = Tally {
                send_lags_ms: [vec![11.0; late], vec![1.0; on_time]].concat(),
                ..Tally::default()
            };
            let found = figures(&poisson, &quiet, &tally).invalid;
            assert_eq!(!found.is_empty(), is_late);
        }
    }
}
