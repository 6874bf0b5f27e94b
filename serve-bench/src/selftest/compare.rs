//! What the client says of requests against what truly happened to them.

use measure::metric::{tpot, ttft};
use measure::record::ServeRequest;
use measure::stats::{Distribution, distribution};
use serde::{Deserialize, Serialize};

use super::server::{Truth, TruthOf};

/// A client's figures beside the true ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Compared {
    /// True TTFT, mean, ms: from the receipt of the request to the first write of tokens.
    pub(super) true_ttft_ms: f64,
    /// The client's TTFT, mean, ms.
    pub(super) client_ttft_ms: f64,
    /// Client's less true TTFT of each request, ms.
    pub(super) ttft_error_ms: Distribution,
    /// The size of that whichever way it goes, ms.
    pub(super) ttft_off_ms: Distribution,
    /// True TPOT, mean, ms; `None` where a reply is one write.
    pub(super) true_tpot_ms: Option<f64>,
    /// The client's TPOT, mean, ms.
    pub(super) client_tpot_ms: Option<f64>,
    /// The client's mean TPOT less the true one, in percent of that.
    pub(super) tpot_error_percent: Option<f64>,
    /// Output tokens that the server wrote.
    pub(super) true_tokens: u64,
    /// Output tokens that the client counted.
    pub(super) client_tokens: u64,
    /// Requests whose receipt has a kernel's time stamp, 0 to 1.
    pub(super) receipts_by_kernel: f64,
    /// How late the server was against its schedule, ms; `None` without a schedule.
    pub(super) server_late_ms: Option<Distribution>,
}

/// Puts each request beside its truth.
///
/// The client's threads send one after the other and the loopback device delivers at once, so the order in which requests
/// were sent is that in which they came in.
///
/// # Errors
/// In words: requests failed, or are not those of the truth.
pub(super) fn compare(requests: &[ServeRequest], truth: &Truth) -> Result<Compared, String> {
    let failed = requests.iter().filter_map(|request| request.error.as_ref());
    if let Some(error) = failed.clone().next() {
        return Err(format!(
            "{} of {} requests failed: {} ({})",
            failed.count(),
            requests.len(),
            error.kind,
            error.seen
        ));
    }
    if requests.len() != truth.requests.len() {
        return Err(format!(
            "the client tells of {} requests and the server of {}",
            requests.len(),
            truth.requests.len()
        ));
    }
    let mut sent: Vec<&ServeRequest> = requests.iter().collect();
    sent.sort_by(|a, b| a.sent_ms.total_cmp(&b.sent_ms));
    let mut received: Vec<&TruthOf> = truth.requests.iter().collect();
    received.sort_by_key(|of| of.receipt_ns);
    let pairs = || sent.iter().copied().zip(received.iter().copied());
    let of_client: Option<Vec<f64>> = sent.iter().map(|request| ttft::of(request)).collect();
    let of_server: Option<Vec<f64>> = received.iter().map(|of| of.ttft_ms()).collect();
    let (Some(of_client), Some(of_server)) = (of_client, of_server) else {
        return Err("a request has no time to first token".to_owned());
    };
    let errors: Vec<f64> = of_client
        .iter()
        .zip(&of_server)
        .map(|(a, b)| a - b)
        .collect();
    let off: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
    let tpots: Option<Vec<(f64, f64)>> = pairs()
        .map(|(request, of)| tpot::of(request).zip(of.tpot_ms()))
        .collect();
    let tpots = tpots.unwrap_or_default();
    let client_tpot_ms = mean(tpots.iter().map(|(client, _)| *client));
    let true_tpot_ms = mean(tpots.iter().map(|(_, truly)| *truly));
    let by_kernel = received.iter().map(|of| f64::from(u8::from(of.by_kernel)));
    Ok(Compared {
        true_ttft_ms: mean(of_server.iter().copied()).ok_or("there is no request")?,
        client_ttft_ms: mean(of_client.iter().copied()).ok_or("there is no request")?,
        ttft_error_ms: distribution(&errors).ok_or("a time is not a number")?,
        ttft_off_ms: distribution(&off).ok_or("a time is not a number")?,
        true_tpot_ms,
        client_tpot_ms,
        tpot_error_percent: client_tpot_ms
            .zip(true_tpot_ms.filter(|truly| *truly > 0.0))
            .map(|(client, truly)| (client / truly - 1.0) * 100.0),
        true_tokens: received.iter().map(|of| u64::from(of.tokens)).sum(),
        client_tokens: sent
            .iter()
            .map(|request| u64::from(request.output_tokens.unwrap_or(0)))
            .sum(),
        receipts_by_kernel: mean(by_kernel).unwrap_or(0.0),
        server_late_ms: distribution(&truth.lateness_ms()),
    })
}

impl Compared {
    /// The 99th percentile of how far TTFT is off, ms; below 200 requests there is none, and the largest stands for it.
    pub(super) fn ttft_tail_ms(&self) -> f64 {
        self.ttft_off_ms.p99.unwrap_or(self.ttft_off_ms.max)
    }
}

fn mean(values: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let n = values.clone().count();
    (n > 0).then(|| values.sum::<f64>() / n as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request of three tokens at 50, 70 and 90 ms after it was sent, each `late` ms later to the client's eyes.
    fn pair(sent_ms: f64, late: f64) -> (ServeRequest, TruthOf) {
        let request = ServeRequest {
            sent_ms,
            token_chunks_ms: [50.0, 70.0, 90.0].map(|at| sent_ms + at + late).to_vec(),
            output_tokens: Some(3),
            ..ServeRequest::default()
        };
        let of = TruthOf {
            // The server's clock began a second before the client's.
            receipt_ns: 1_000_000_000 + (sent_ms * 1e6) as u64,
            by_kernel: true,
            streamed: true,
            tokens: 3,
            writes_us: vec![50_000, 70_000, 90_000],
            ..TruthOf::default()
        };
        (request, of)
    }

    fn truth(requests: Vec<TruthOf>) -> Truth {
        Truth {
            ttft_us: Some(50_000.0),
            write_every_us: Some(20_000.0),
            requests,
            ..Truth::default()
        }
    }

    #[test]
    fn requests_meet_their_truth_in_the_order_of_sending() {
        let (first, of_first) = pair(1.0, 0.5);
        let (second, of_second) = pair(2.0, 1.5);
        // The client tells of them in the order of their ends.
        let compared = compare(&[second, first], &truth(vec![of_first, of_second])).unwrap();
        // 0.5 and 1.5 ms.
        assert!((compared.ttft_error_ms.mean - 1.0).abs() < 1e-9);
        assert!((compared.ttft_error_ms.max - 1.5).abs() < 1e-9);
        assert!((compared.true_ttft_ms - 50.0).abs() < 1e-9);
        // Both ends are late alike: (90 - 50) / 2 = 20 ms on either side.
        assert!(compared.tpot_error_percent.unwrap().abs() < 1e-9);
        assert_eq!((compared.true_tokens, compared.client_tokens), (6, 6));
        assert_eq!(compared.server_late_ms.unwrap().max, 0.0);
    }

    #[test]
    fn a_first_token_that_is_late_makes_tpot_small() {
        let (mut request, of) = pair(0.0, 0.0);
        request.token_chunks_ms[0] += 2.0;
        let compared = compare(&[request], &truth(vec![of])).unwrap();
        // (90 - 52) / 2 = 19 ms of 20.
        assert!((compared.tpot_error_percent.unwrap() + 5.0).abs() < 1e-9);
    }

    #[test]
    fn other_requests_than_those_of_the_truth_are_refused() {
        let (request, of) = pair(0.0, 0.0);
        let refusal =
            compare(std::slice::from_ref(&request), &truth(vec![of.clone(), of])).unwrap_err();
        assert!(
            refusal.contains("1 requests and the server of 2"),
            "{refusal}"
        );
    }
}
