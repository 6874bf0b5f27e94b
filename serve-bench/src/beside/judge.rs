//! Where the server's own counters and this client contradict each other, in words with figures and what to do.

use measure::record::{
    Serve, ServeRequest, ServeServer, ServeSummary, ServerChange, ServerCounters,
};

/// Counts that differ by more than this part, and by more than one request, are not of the same requests.
const OTHER: f64 = 0.01;

/// The same of tokens: engines differ by a token a reply in what they count.
const OTHER_TOKENS: f64 = 0.05;

/// The server's mean above ours by more than this part and time is no mean of our requests.
const ABOVE: (f64, f64) = (0.05, 1.0);

/// Time to first token that passes outside the server's clock is told from this part and time, ms, on.
const OUTSIDE: (f64, f64) = (0.10, 5.0);

/// Times between tokens that differ by more than this part and time, ms, are told.
const GAPS: (f64, f64) = (0.05, 0.5);

/// Adds what contradicts what to a run that went to its end.
pub(crate) fn judge(server: &mut ServeServer, serve: &Serve) {
    let change = server
        .counters
        .as_ref()
        .and_then(|counters| counters.change.as_ref());
    if server.counters.as_ref().is_some_and(ServerCounters::fell) {
        server.cautions = vec![
            "the server's counters fell while the load ran: it was started anew, or several servers answer behind this address in turns; \
             look at its log, or name one's counters with --metrics-url"
                .to_owned(),
        ];
        return;
    }
    let (Some(change), Some(summary)) = (change, &serve.summary) else {
        return;
    };
    let counts = other_counts(change, summary, serve);
    let mut cautions = Vec::new();
    if counts.is_none() {
        // Means of other requests than ours would only repeat that.
        cautions.extend([first_token(change, summary), gaps(change, summary)]);
    }
    cautions.extend([counts, preempted(change)]);
    server.cautions = cautions.into_iter().flatten().collect();
}

/// Classes the steps anew where the server took in prompts of somebody else, and says so.
pub(crate) fn others_prompts(
    server: Option<&ServeServer>,
    requests: &[ServeRequest],
    summary: Option<&mut ServeSummary>,
) -> Option<String> {
    let counters = server?.counters.as_ref()?;
    let spans = counters.others_prompts(requests);
    let summary = summary.filter(|_| !spans.is_empty())?;
    summary.class_steps_beside(requests, &spans);
    Some(format!(
        "in {} of {} times between readings of its counters the server took in prompt tokens that no request of this run explains: \
         all steps in them count as mixed with prefill",
        spans.len(),
        counters.readings.len().saturating_sub(1)
    ))
}

/// Requests of somebody else, or ours at another server.
fn other_counts(change: &ServerChange, summary: &ServeSummary, serve: &Serve) -> Option<String> {
    let asked = count(serve.requests.len());
    let completed = f64::from(summary.completed);
    if let Some(theirs) = change.requests {
        if theirs > asked * (1.0 + OTHER) + 1.0 {
            return Some(others(&format!(
                "the server ended {theirs:.0} requests and {asked:.0} were asked here"
            )));
        }
        if theirs < completed * (1.0 - OTHER) - 1.0 {
            return Some(elsewhere(&format!(
                "the server ended {theirs:.0} requests and {completed:.0} completed here"
            )));
        }
        return None;
    }
    // Without a count of requests, their tokens tell, where all were counted.
    let ours = summary.output_tokens.filter(|_| summary.failed == 0)?;
    let (theirs, ours) = (change.generated_tokens?, count(usize::try_from(ours).ok()?));
    if theirs > ours * (1.0 + OTHER_TOKENS) + completed {
        return Some(others(&format!(
            "the server generated {theirs:.0} tokens and {ours:.0} came here"
        )));
    }
    (theirs < ours * (1.0 - OTHER_TOKENS) - completed).then(|| {
        elsewhere(&format!(
            "the server generated {theirs:.0} tokens and {ours:.0} came here"
        ))
    })
}

fn others(what: &str) -> String {
    format!(
        "{what}: somebody else asks it, too, so these times are those of another load; run again when nobody does"
    )
}

fn elsewhere(what: &str) -> String {
    format!(
        "{what}: behind this address are several servers, or the counters are another one's; name those of one with --metrics-url"
    )
}

fn first_token(change: &ServerChange, summary: &ServeSummary) -> Option<String> {
    let (theirs, ours) = (change.ttft?.mean_ms, summary.ttft_ms.as_ref()?.mean);
    if theirs > ours * (1.0 + ABOVE.0) + ABOVE.1 {
        return Some(format!(
            "the server says a mean TTFT of {theirs:.1} ms and {ours:.1} ms was seen here, which cannot be of the same first tokens: \
             look at what a first chunk holds, and at whose counters these are"
        ));
    }
    (ours - theirs > (ours * OUTSIDE.0).max(OUTSIDE.1)).then(|| {
        format!(
            "{:.1} ms of the mean TTFT of {ours:.1} ms passed outside the server's own clock ({theirs:.1} ms): on the way, in a proxy, \
             or before the server looked at the request",
            ours - theirs
        )
    })
}

fn gaps(change: &ServerChange, summary: &ServeSummary) -> Option<String> {
    let (theirs, ours) = (change.itl?.mean_ms, summary.token_gap_ms()?);
    ((ours - theirs).abs() > (theirs * GAPS.0).max(GAPS.1)).then(|| {
        format!(
            "the server says {theirs:.2} ms between tokens and {ours:.2} ms was seen here: chunks hold several tokens, or come in \
             another rhythm than the server's steps"
        )
    })
}

fn preempted(change: &ServerChange) -> Option<String> {
    let count = change.preemptions.filter(|count| *count > 0.0)?;
    Some(format!(
        "the server put back {count:.0} requests because its key-value cache was full and worked on them again, which is in TTFT, \
         TPOT and ITL: lower --max-concurrency or --request-rate, or give it more cache"
    ))
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn count(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use measure::record::{Distribution, ServerCounters, ServerMean};
    use measure::stats::distribution;

    use super::*;

    fn all(of: f64) -> Option<Distribution> {
        distribution(&[of; 10])
    }

    /// 100 requests of 10 tokens here: TTFT 50 ms, ITL 20 ms.
    fn cautions(change: ServerChange) -> Vec<String> {
        let serve = Serve {
            requests: vec![ServeRequest::default(); 100],
            summary: Some(ServeSummary {
                completed: 100,
                output_tokens: Some(1000),
                ttft_ms: all(50.0),
                itl_ms: all(20.0),
                ..ServeSummary::default()
            }),
            ..Serve::default()
        };
        let mut server = ServeServer {
            counters: Some(ServerCounters {
                change: Some(change),
                ..ServerCounters::default()
            }),
            ..ServeServer::default()
        };
        judge(&mut server, &serve);
        server.cautions
    }

    fn mean(mean_ms: f64) -> Option<ServerMean> {
        Some(ServerMean {
            mean_ms,
            count: 100.0,
        })
    }

    /// A server that counts the same.
    fn agreeing() -> ServerChange {
        ServerChange {
            requests: Some(100.0),
            generated_tokens: Some(1000.0),
            ttft: mean(48.0),
            itl: mean(19.9),
            preemptions: Some(0.0),
            ..ServerChange::default()
        }
    }

    fn only(change: ServerChange, says: &str) {
        let cautions = cautions(change);
        assert!(
            cautions.len() == 1 && cautions[0].contains(says),
            "{cautions:?}"
        );
    }

    #[test]
    fn counters_that_agree_are_no_matter() {
        assert_eq!(cautions(agreeing()), [""; 0]);
        assert_eq!(cautions(ServerChange::default()), [""; 0]);
    }

    #[test]
    fn requests_of_others_and_of_other_servers_are_told_once() {
        let requests = |requests: f64| ServerChange {
            requests: Some(requests),
            // Other requests have other times, which says nothing more.
            ttft: mean(500.0),
            ..agreeing()
        };
        only(
            requests(103.0),
            "103 requests and 100 were asked here: somebody else",
        );
        only(requests(50.0), "several servers");
        // One that ended just before the first reading or after the last.
        only(requests(101.0), "cannot be of the same first tokens");
    }

    #[test]
    fn without_a_count_of_requests_tokens_tell() {
        let tokens = |tokens: f64| ServerChange {
            requests: None,
            generated_tokens: Some(tokens),
            ..agreeing()
        };
        assert_eq!(cautions(tokens(1100.0)), [""; 0]);
        // More than 1000 x 1.05 + 100.
        only(tokens(1200.0), "somebody else asks it, too");
        only(tokens(500.0), "several servers");
    }

    #[test]
    fn times_that_contradict_are_told() {
        only(
            ServerChange {
                ttft: mean(60.0),
                ..agreeing()
            },
            "cannot be of the same first tokens",
        );
        // 50 - 40 = 10 ms, a fifth.
        only(
            ServerChange {
                ttft: mean(40.0),
                ..agreeing()
            },
            "10.0 ms of the mean TTFT of 50.0 ms passed outside",
        );
        only(
            ServerChange {
                itl: mean(5.0),
                ..agreeing()
            },
            "chunks hold several tokens",
        );
        only(
            ServerChange {
                preemptions: Some(3.0),
                ..agreeing()
            },
            "put back 3 requests",
        );
    }
}
