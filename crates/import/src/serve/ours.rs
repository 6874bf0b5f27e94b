//! A record of `tplens serve run` as a serving result.

use super::conditions::Conditions;
use super::finding::Finding;
use super::result::{Asked, Said, ServeFormat, ServeResult, ServeRun, Spread};
use crate::error::ImportError;
use record::control;
use record::metric::decode_gap;
use record::{Arrivals, Distribution, Payload, Record, ServeLoad, ServeRequest};
use stats::distribution_pooled;

/// The result in a record.
pub(super) fn result(record: &Record, origin: &str) -> Result<ServeResult, ImportError> {
    let Payload::Serve(serve) = &record.payload else {
        let kind = record.payload.kind();
        let why = format!("holds {kind}; give a record of tplens serve run");
        return Err(ImportError::unusable(origin, why));
    };
    let (Some(target), Some(load)) = (&serve.target, &serve.load) else {
        let why = "ends before its first request; run it again";
        return Err(ImportError::unusable(origin, why));
    };
    let Some(summary) = &serve.summary else {
        let why = without_summary(&serve.requests);
        return Err(ImportError::unusable(origin, why));
    };
    let run = ServeRun {
        origin: origin.to_owned(),
        format: ServeFormat::Tplens,
        simulated: record.soft_box().map(|name| control::replaced(&name)),
        model: Some(control::replaced(&target.model)),
        tp: target.tp,
        streamed: target.streamed,
        concurrency_asked: load.concurrency.map(f64::from),
        request_rate_asked: rate(load),
        completed: u64::from(summary.completed),
        failed: Some(u64::from(summary.failed)),
        duration_s: summary.duration_s,
        requests_per_s: summary.requests_per_s,
        input_tokens: summary.input_tokens,
        output_tokens: summary.output_tokens,
        output_tokens_asked: load.output_tokens.map(u64::from),
        fixed_output: fixed_output(&serve.requests),
        e2el_ms: summary.e2el_ms.as_ref().map(spread),
        ttft_ms: summary.ttft_ms.as_ref().map(spread),
        tpot_ms: summary.tpot_ms.as_ref().map(spread),
        itl_ms: summary.itl_ms.as_ref().map(spread),
        decode_gap_ms: load
            .concurrency
            .and_then(|limit| decode_gap(&serve.requests, limit)),
        conditions: Conditions::of_record(record, serve),
    };
    Ok(ServeResult {
        run,
        asked: Asked {
            // A time may have ended the run before all were sent.
            requests: load
                .duration_s
                .is_none()
                .then_some(u64::from(load.requests)),
            input_tokens: load.input_tokens.filter(|_| is_fixed(load)).map(u64::from),
            output_tokens: load.output_tokens.filter(|_| is_fixed(load)).map(u64::from),
        },
        said: Said {
            output_tokens_per_s: summary.output_tokens_per_s,
            total_tokens_per_s: summary.total(),
            peak_in_flight: summary.peak_in_flight.map(f64::from),
            ..Said::default()
        },
        requests: serve.requests.clone(),
        clocked: true,
        ours: true,
        duration_off_s: 0.0,
        findings: serve
            .client
            .iter()
            .flat_map(|client| &client.invalid)
            .map(|reason| Finding::ClientLimit {
                detail: control::replaced(reason),
            })
            .collect(),
        unused: Vec::new(),
    })
}

/// Why a record has no summary: a run that went to its end lacks one only where nothing completed.
fn without_summary(requests: &[ServeRequest]) -> String {
    let all = requests.len();
    match requests.iter().filter(|one| one.error.is_none()).count() {
        0 => format!("has no summary after {all} requests, of which none completed; run it again"),
        completed => format!(
            "has no summary after {all} requests: it was broken off when {completed} had completed; run it again, or read them with \
             tplens serve show"
        ),
    }
}

/// The rate that was asked for: infinite where all came at once, and none where a limit held them back, which is a closed loop.
fn rate(load: &ServeLoad) -> Option<f64> {
    match (&load.arrivals, load.concurrency) {
        (Arrivals::AllAtOnce, None) => Some(f64::INFINITY),
        (arrivals, _) => arrivals.rate(),
    }
}

/// Whether all requests were asked for the same lengths.
fn is_fixed(load: &ServeLoad) -> bool {
    load.range_ratio == 0.0
}

fn decode_gap(requests: &[ServeRequest], concurrency: u32) -> Option<Spread> {
    let gaps = decode_gap::of(requests, concurrency);
    distribution_pooled(&gaps).as_ref().map(spread)
}

/// Whether all completed requests have the same count; `None` where one was not counted.
fn fixed_output(requests: &[ServeRequest]) -> Option<bool> {
    let counts: Option<Vec<u32>> = requests
        .iter()
        .filter(|request| request.error.is_none())
        .map(|request| request.output_tokens)
        .collect();
    counts.map(|counts| counts.windows(2).all(|pair| pair[0] == pair[1]))
}

/// A distribution as far as a file of another tool could tell it, too.
pub(super) fn spread(distribution: &Distribution) -> Spread {
    Spread {
        n: Some(distribution.n as u64),
        mean: distribution.mean,
        mean_interval: distribution.mean_interval,
        median: Some(distribution.median),
        min: Some(distribution.min),
        max: Some(distribution.max),
        p90: distribution.p90,
        p99: distribution.p99,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{RequestError, RequestErrorKind};

    #[test]
    fn a_run_that_was_broken_off_is_told_from_one_of_which_nothing_completed() {
        let failed = ServeRequest {
            error: Some(RequestError {
                kind: RequestErrorKind::Refused,
                seen: String::new(),
            }),
            ..ServeRequest::default()
        };
        let mut requests = vec![failed.clone(), failed];
        assert!(without_summary(&requests).contains("2 requests, of which none completed"));
        requests.push(ServeRequest::default());
        let words = without_summary(&requests);
        assert!(
            words.contains("3 requests: it was broken off when 1 had completed"),
            "{words}"
        );
    }
}
