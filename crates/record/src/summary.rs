//! The summary of a serving benchmark from its requests; how each metric is defined stands in `metric`.

use std::collections::BTreeMap;

use super::request_error::RequestErrorKind;
use super::serve::{ServeRequest, ServeSummary};
use super::serve_load::Goals;
use crate::metric::{self, e2el, itl, itl_per_token, rate, step_class, tpot, ttfc, ttft};
use stats::{distribution, distribution_of_successive, distribution_pooled};

/// The metrics over the measured requests; those of streams only where replies were streamed, goodput only with goals.
///
/// `None` where no request completed, or where all instants are the same. Latencies are those of completed requests;
/// duration and requests in flight count failed ones too, since they kept the server and the client's places.
#[must_use]
pub fn summarise(
    requests: &[ServeRequest],
    streamed: bool,
    goals: Option<&Goals>,
) -> Option<ServeSummary> {
    let mut completed: Vec<&ServeRequest> = requests
        .iter()
        .filter(|request| request.error.is_none())
        .collect();
    // Whoever sends without waiting for replies makes a queue, in which requests resemble those before them.
    let is_open_loop = requests.iter().any(|request| request.intended_ms.is_some());
    if is_open_loop {
        completed.sort_by_key(|request| request.id);
    }
    let of_groups = |groups: &[Vec<f64>]| match is_open_loop {
        true => distribution_of_successive(groups),
        false => distribution_pooled(groups),
    };
    let count = u32::try_from(completed.len()).ok().filter(|n| *n > 0)?;
    let duration_s = duration_s(requests)?;
    let failures = failures(requests);
    let input_tokens = total(&completed, |request| request.input_tokens);
    let output_tokens = total(&completed, |request| request.output_tokens);
    let of_all = |metric: fn(&ServeRequest) -> Option<f64>| {
        let values = completed.iter().filter_map(|request| metric(request));
        if is_open_loop {
            distribution_of_successive(&values.map(|value| vec![value]).collect::<Vec<_>>())
        } else {
            distribution(&values.collect::<Vec<f64>>())
        }
    };
    let of_streams = |metric| of_all(metric).filter(|_| streamed);
    let gaps = |metric: fn(&ServeRequest) -> Vec<f64>| {
        let gaps: Vec<Vec<f64>> = completed.iter().map(|request| metric(request)).collect();
        of_groups(&gaps).filter(|_| streamed)
    };
    let steps = if streamed {
        step_class::of(requests)
    } else {
        step_class::Classes::default()
    };
    let good = goals.and_then(|goals| metric::good(&completed, goals));
    Some(ServeSummary {
        duration_s,
        completed: count,
        failed: failures.iter().map(|(_, count)| count).sum(),
        failures,
        input_tokens,
        output_tokens,
        requests_per_s: rate(count.into(), duration_s),
        output_tokens_per_s: output_tokens.map(|tokens| rate(tokens, duration_s)),
        mean_in_flight: metric::in_flight(requests, duration_s),
        ttft_ms: of_streams(ttft),
        tpot_ms: of_streams(tpot),
        itl_ms: gaps(itl),
        e2el_ms: of_all(|request| Some(e2el(request))),
        ttfc_ms: of_streams(ttfc),
        itl_per_token_ms: gaps(itl_per_token),
        queue_ms: of_all(metric::queue_time),
        e2el_intended_ms: of_all(metric::e2el_intended),
        input_lengths: of_all(|request| request.input_tokens.map(f64::from)),
        output_lengths: of_all(|request| request.output_tokens.map(f64::from)),
        peak_in_flight: metric::peak_in_flight(requests),
        // A run that is shorter than the window has no peak of it.
        peak_output_tokens_per_s: metric::peak_output(requests)
            .filter(|_| streamed && duration_s >= metric::WINDOW_MS / 1e3),
        total_tokens_per_s: input_tokens
            .zip(output_tokens)
            .map(|(input, output)| rate(input + output, duration_s)),
        goodput_per_s: good.map(|good| rate(good.into(), duration_s)),
        good,
        tpot_decode_ms: distribution(&steps.decode),
        tpot_mixed_ms: distribution(&steps.mixed),
        mixed_part: steps.mixed_part(),
    })
}

/// From the first send to the last end, s; `None` where that is no time at all.
fn duration_s(requests: &[ServeRequest]) -> Option<f64> {
    let first = requests
        .iter()
        .map(|request| request.sent_ms)
        .reduce(f64::min)?;
    let last = requests
        .iter()
        .map(|request| request.ended_ms)
        .reduce(f64::max)?;
    Some((last - first) / 1e3).filter(|seconds| *seconds > 0.0)
}

/// Failures by kind, in the order of the kinds.
pub fn failures(requests: &[ServeRequest]) -> Vec<(RequestErrorKind, u32)> {
    let mut counts: BTreeMap<RequestErrorKind, u32> = BTreeMap::new();
    for error in requests.iter().filter_map(|request| request.error.as_ref()) {
        *counts.entry(error.kind).or_default() += 1;
    }
    counts.into_iter().collect()
}

/// The sum of a count that every one of the requests has.
fn total(requests: &[&ServeRequest], count: fn(&ServeRequest) -> Option<u32>) -> Option<u64> {
    requests
        .iter()
        .map(|request| count(request).map(u64::from))
        .sum()
}

impl ServeSummary {
    /// Prompt and output tokens per second, also of a record from before it had them.
    #[must_use]
    pub fn total(&self) -> Option<f64> {
        self.total_tokens_per_s.or_else(|| {
            let (input, output) = self.input_tokens.zip(self.output_tokens)?;
            Some(rate(input + output, self.duration_s))
        })
    }

    /// Mean time between tokens, ms: shared among the tokens of a chunk where their numbers are known, else between chunks.
    #[must_use]
    pub fn token_gap_ms(&self) -> Option<f64> {
        let gaps = self.itl_per_token_ms.as_ref().or(self.itl_ms.as_ref());
        gaps.map(|gaps| gaps.mean)
    }

    /// Classes the steps anew, those within `others` being mixed whatever this run's requests did.
    pub fn class_steps_beside(&mut self, requests: &[ServeRequest], others: &[(f64, f64)]) {
        let steps = step_class::of_beside(requests, others);
        self.tpot_decode_ms = distribution(&steps.decode);
        self.tpot_mixed_ms = distribution(&steps.mixed);
        self.mixed_part = steps.mixed_part();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RequestError, TokenCount};

    /// Sent at `sent`, four tokens at 50, 70, 90 and 110 ms after it, closed with the last.
    fn request(id: u32, sent: f64) -> ServeRequest {
        ServeRequest {
            id,
            sent_ms: sent,
            ended_ms: sent + 110.0,
            token_chunks_ms: [50.0, 70.0, 90.0, 110.0].map(|t| sent + t).to_vec(),
            input_tokens: Some(10),
            output_tokens: Some(4),
            counted_by: Some(TokenCount::Usage),
            error: None,
            ..ServeRequest::default()
        }
    }

    fn failed(id: u32, sent: f64, kind: RequestErrorKind) -> ServeRequest {
        ServeRequest {
            ended_ms: sent + 440.0,
            token_chunks_ms: Vec::new(),
            output_tokens: None,
            error: Some(RequestError {
                kind,
                seen: "as the test has it".to_owned(),
            }),
            ..request(id, sent)
        }
    }

    #[test]
    fn completed_and_failed_are_told_apart() {
        let requests = [
            request(0, 0.0),
            request(1, 110.0),
            failed(2, 0.0, RequestErrorKind::TimedOut),
        ];
        let summary = summarise(&requests, true, None).unwrap();
        // First send at 0, last end at 440 ms: 2 / 0.44 = 4.545 req/s and 8 / 0.44 = 18.18 tok/s.
        assert_eq!(summary.duration_s, 0.44);
        assert_eq!((summary.completed, summary.failed), (2, 1));
        assert_eq!(summary.failures, [(RequestErrorKind::TimedOut, 1)]);
        assert!((summary.requests_per_s - 4.5454).abs() < 1e-3);
        assert!((summary.output_tokens_per_s.unwrap() - 18.1818).abs() < 1e-3);
        // (110 + 110 + 440) / 440 = 1.5 in flight.
        assert!((summary.mean_in_flight - 1.5).abs() < 1e-12);
        assert_eq!(
            (summary.input_tokens, summary.output_tokens),
            (Some(20), Some(8))
        );
        let mean = |metric: &Option<stats::Distribution>| {
            metric.as_ref().map(|d| (d.n, (d.mean * 1e9).round() / 1e9))
        };
        assert_eq!(mean(&summary.ttft_ms), Some((2, 50.0)));
        assert_eq!(mean(&summary.tpot_ms), Some((2, 20.0)));
        // Three gaps of 20 ms a request.
        assert_eq!(mean(&summary.itl_ms), Some((6, 20.0)));
        assert_eq!(mean(&summary.e2el_ms), Some((2, 110.0)));
    }

    #[test]
    fn without_a_stream_there_is_a_latency_only() {
        let whole = |id| ServeRequest {
            token_chunks_ms: Vec::new(),
            ..request(id, 0.0)
        };
        let summary = summarise(&[whole(0), whole(1)], false, None).unwrap();
        assert_eq!(summary.ttft_ms, None);
        assert_eq!(summary.tpot_ms, None);
        assert_eq!(summary.itl_ms, None);
        assert_eq!(summary.e2el_ms.map(|d| d.mean), Some(110.0));
    }

    #[test]
    fn a_count_that_one_request_lacks_has_no_total() {
        let uncounted = ServeRequest {
            output_tokens: None,
            ..request(1, 0.0)
        };
        let summary = summarise(&[request(0, 0.0), uncounted], true, None).unwrap();
        assert_eq!(
            (summary.output_tokens, summary.output_tokens_per_s),
            (None, None)
        );
        // The other request still has its TPOT.
        assert_eq!(summary.tpot_ms.map(|d| d.n), Some(1));
    }

    #[test]
    fn where_nothing_completed_there_is_no_summary() {
        assert_eq!(summarise(&[], true, None), None);
        let failed = failed(0, 0.0, RequestErrorKind::Connect);
        assert_eq!(summarise(std::slice::from_ref(&failed), true, None), None);
        assert_eq!(failures(&[failed]), [(RequestErrorKind::Connect, 1)]);
    }

    #[test]
    fn an_open_loop_has_queues_goals_and_peaks() {
        // Wanted at 0 and at 10 ms, sent at 0 and 110: queues of 0 and 100 ms, E2EL from intended 110 and 210.
        let open = |id, intended, sent| ServeRequest {
            intended_ms: Some(intended),
            first_chunk_ms: Some(sent + 5.0),
            ..request(id, sent)
        };
        let goals = Goals {
            ttft_ms: Some(50.0),
            tpot_ms: None,
            e2el_ms: None,
        };
        let requests = [open(0, 0.0, 0.0), open(1, 10.0, 110.0)];
        let summary = summarise(&requests, true, Some(&goals)).unwrap();
        let mean = |metric: &Option<stats::Distribution>| metric.as_ref().map(|d| d.mean);
        assert_eq!(mean(&summary.queue_ms), Some(50.0));
        assert_eq!(mean(&summary.e2el_intended_ms), Some(160.0));
        assert_eq!(mean(&summary.ttfc_ms), Some(5.0));
        // From 0 to 220 ms; TTFT of 50 ms and, with the queue, of 150: 1 / 0.22; eight and twenty tokens: 28 / 0.22.
        assert_eq!(summary.good, Some(1));
        assert!((summary.goodput_per_s.unwrap() - 4.5454).abs() < 1e-3);
        assert!((summary.total_tokens_per_s.unwrap() - 127.2727).abs() < 1e-3);
        assert_eq!(summary.peak_in_flight, Some(1));
        // 220 ms hold no window of a second.
        assert_eq!(summary.peak_output_tokens_per_s, None);
        assert_eq!(mean(&summary.tpot_decode_ms), Some(20.0));
        assert_eq!(
            (&summary.tpot_mixed_ms, summary.mixed_part),
            (&None, Some(0.0))
        );
        assert_eq!(mean(&summary.input_lengths), Some(10.0));
    }
}
