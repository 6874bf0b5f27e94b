//! Where the server's own counters and this client contradict each other.

use record::{Serve, ServeFinding, ServeRequest, ServeServer, ServeSummary, ServerChange};

/// Counts that differ by more than this part, and by more than one request, are not of the same requests.
const OTHER: f64 = 0.01;

/// The same of tokens: engines differ by a token a reply in what they count.
const OTHER_TOKENS: f64 = 0.05;

/// The server's mean above ours by more than this part and time, ms, is no mean of our requests.
const ABOVE: (f64, f64) = (0.05, 1.0);

/// Time to first token that passes outside the server's clock is a finding from this part and time, ms, on.
const OUTSIDE: (f64, f64) = (0.10, 5.0);

/// Times between tokens that differ by more than this part and time, ms, are a finding.
const GAPS: (f64, f64) = (0.05, 0.5);

/// What contradicts what in a run that went to its end.
pub(crate) fn judge(server: &ServeServer, serve: &Serve) -> Vec<ServeFinding> {
    let Some(counters) = &server.counters else {
        return Vec::new();
    };
    if counters.fell() {
        return vec![ServeFinding::CountersRestarted];
    }
    let (Some(change), Some(summary)) = (&counters.change, &serve.summary) else {
        return Vec::new();
    };
    let counts = other_counts(change, summary, serve);
    // Means of other requests than ours would only repeat that.
    let times = || [first_token(change, summary), gaps(change, summary)];
    let times = counts.is_none().then(times).into_iter().flatten();
    let preempted = change.preemptions.filter(|times| *times > 0.0);
    let preempted = preempted.map(|times| ServeFinding::Preempted { times });
    times.chain([counts, preempted]).flatten().collect()
}

/// Classes the steps anew where the server took in prompts of somebody else.
pub(crate) fn others_prompts(
    server: Option<&ServeServer>,
    requests: &[ServeRequest],
    summary: Option<&mut ServeSummary>,
) -> Option<ServeFinding> {
    let counters = server?.counters.as_ref()?;
    let spans = counters.others_prompts(requests);
    let summary = summary.filter(|_| !spans.is_empty())?;
    summary.class_steps_beside(requests, &spans);
    Some(ServeFinding::OthersPrompts {
        spans: spans.len(),
        of: counters.readings.len().saturating_sub(1),
    })
}

/// Requests of somebody else, or ours at another server; without a count of requests their tokens tell, where all were counted.
fn other_counts(
    change: &ServerChange,
    summary: &ServeSummary,
    serve: &Serve,
) -> Option<ServeFinding> {
    let completed = f64::from(summary.completed);
    let (theirs, least, most, (part, slack), requests) = match change.requests {
        Some(theirs) => {
            let sent = serve.requests.len() as f64;
            (theirs, completed, sent, (OTHER, 1.0), true)
        }
        None => {
            let ours = summary.output_tokens.filter(|_| summary.failed == 0)?;
            let ours = ours as f64;
            let theirs = change.generated_tokens?;
            (theirs, ours, ours, (OTHER_TOKENS, completed), false)
        }
    };
    if theirs > most * (1.0 + part) + slack {
        return Some(ServeFinding::ServerShared {
            theirs,
            ours: most,
            requests,
        });
    }
    (theirs < least * (1.0 - part) - slack).then_some(ServeFinding::SeveralServers {
        theirs,
        ours: least,
        requests,
    })
}

fn first_token(change: &ServerChange, summary: &ServeSummary) -> Option<ServeFinding> {
    let (theirs_ms, ours_ms) = (change.ttft?.mean_ms, summary.ttft_ms.as_ref()?.mean);
    let is_other = theirs_ms > ours_ms * (1.0 + ABOVE.0) + ABOVE.1;
    let is_outside = ours_ms - theirs_ms > (ours_ms * OUTSIDE.0).max(OUTSIDE.1);
    (is_other || is_outside).then_some(ServeFinding::TtftDiffers { theirs_ms, ours_ms })
}

fn gaps(change: &ServerChange, summary: &ServeSummary) -> Option<ServeFinding> {
    let (theirs_ms, ours_ms) = (change.itl?.mean_ms, summary.token_gap_ms()?);
    ((ours_ms - theirs_ms).abs() > (theirs_ms * GAPS.0).max(GAPS.1))
        .then_some(ServeFinding::ItlDiffers { theirs_ms, ours_ms })
}

#[cfg(test)]
mod tests {
    use record::{ServerCounters, ServerMean};
    use stats::distribution;

    use super::*;

    /// 100 requests of 10 tokens here: TTFT 50 ms, ITL 20 ms.
    fn codes(change: ServerChange) -> Vec<&'static str> {
        let serve = Serve {
            requests: vec![ServeRequest::default(); 100],
            summary: Some(ServeSummary {
                completed: 100,
                output_tokens: Some(1000),
                ttft_ms: distribution(&[50.0; 10]),
                itl_ms: distribution(&[20.0; 10]),
                ..ServeSummary::default()
            }),
            ..Serve::default()
        };
        let server = ServeServer {
            counters: Some(ServerCounters {
                change: Some(change),
                ..ServerCounters::default()
            }),
            ..ServeServer::default()
        };
        let found = judge(&server, &serve);
        found.iter().map(ServeFinding::code).collect()
    }

    fn mean(mean_ms: f64) -> Option<ServerMean> {
        Some(ServerMean {
            mean_ms,
            count: 100.0,
        })
    }

    #[test]
    fn what_the_server_counts_otherwise_is_found_once() {
        let agreeing = || ServerChange {
            requests: Some(100.0),
            generated_tokens: Some(1000.0),
            ttft: mean(48.0),
            itl: mean(19.9),
            preemptions: Some(0.0),
            ..ServerChange::default()
        };
        assert_eq!(codes(agreeing()), [""; 0]);
        assert_eq!(codes(ServerChange::default()), [""; 0]);
        // Other requests have other times, which says nothing more.
        let requests = |requests: f64| ServerChange {
            requests: Some(requests),
            ttft: mean(500.0),
            ..agreeing()
        };
        assert_eq!(codes(requests(103.0)), ["server-shared"]);
        assert_eq!(codes(requests(50.0)), ["several-servers"]);
        // One that ended just before the first reading or after the last.
        assert_eq!(codes(requests(101.0)), ["ttft-differs"]);
        // More than 1000 x 1.05 + 100.
        let tokens = |tokens: f64| ServerChange {
            requests: None,
            generated_tokens: Some(tokens),
            ..agreeing()
        };
        assert_eq!(codes(tokens(1100.0)), [""; 0]);
        assert_eq!(codes(tokens(1200.0)), ["server-shared"]);
        assert_eq!(codes(tokens(500.0)), ["several-servers"]);
        // 50 - 40 = 10 ms, a fifth.
        let ttft = mean(40.0);
        let first = ServerChange { ttft, ..agreeing() };
        assert_eq!(codes(first), ["ttft-differs"]);
        let itl = mean(5.0);
        let between = ServerChange { itl, ..agreeing() };
        assert_eq!(codes(between), ["itl-differs"]);
        let preemptions = Some(3.0);
        let put_back = ServerChange {
            preemptions,
            ..agreeing()
        };
        assert_eq!(codes(put_back), ["requests-preempted"]);
    }
}
