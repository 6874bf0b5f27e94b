//! The instants of a serving record, checked once where it is read: what is computed from them may trust them.

use super::error::RecordError;
use super::serve::{Serve, ServeRequest};

/// The latest instant of a run, ms: 30 days. A time since 1970 is far beyond it, and a run as long far above any known.
const LATEST_MS: f64 = 30.0 * 24.0 * 3600.0 * 1e3;

/// How far an instant may lie before the one that it follows, ms: the kernel's stamps and the program's clock differ by microseconds.
const NOISE_MS: f64 = 1.0;

/// Instants of chunks in a record, and tokens in them: twice what a load may ask for.
const MOST_CHUNKS: u64 = 20_000_000;

/// Refuses a request whose instants are not finite, in order, inside the request and below the latest.
///
/// # Errors
/// The first such request by its number, with the field.
pub(super) fn check(serve: &Serve, origin: &str) -> Result<(), RecordError> {
    let (mut chunks, mut tokens) = (0, 0);
    for request in &serve.requests {
        chunks += request.token_chunks_ms.len() as u64;
        tokens += request
            .chunk_tokens
            .iter()
            .copied()
            .map(u64::from)
            .sum::<u64>();
        let field = match wrong(request) {
            None if chunks > MOST_CHUNKS => Some("token_chunks_ms"),
            None if tokens > MOST_CHUNKS => Some("chunk_tokens"),
            field => field,
        };
        if let Some(field) = field {
            return Err(RecordError::Times {
                origin: origin.to_owned(),
                request: request.id,
                field,
            });
        }
    }
    let duration = serve.summary.as_ref().map(|summary| summary.duration_s);
    match duration.is_none_or(|seconds| (0.0..=LATEST_MS / 1e3).contains(&seconds)) {
        true => Ok(()),
        false => Err(RecordError::Duration {
            origin: origin.to_owned(),
        }),
    }
}

/// Whether all instants are finite and within the longest run, from whichever clock; of lists of other tools no more is trusted.
pub fn is_bounded(request: &ServeRequest) -> bool {
    let (intended, first) = (request.intended_ms, request.first_chunk_ms);
    let single = [
        Some(request.sent_ms),
        Some(request.ended_ms),
        intended,
        first,
    ];
    let mut all = single.iter().flatten().chain(&request.token_chunks_ms);
    all.all(|at| at.abs() <= LATEST_MS)
}

/// The field with an instant that cannot be.
fn wrong(request: &ServeRequest) -> Option<&'static str> {
    let within = |from: f64, to: f64, at: f64| (from - NOISE_MS..=to + NOISE_MS).contains(&at);
    let (sent, ended) = (request.sent_ms, request.ended_ms);
    let is_optional = |at: Option<f64>, from, to| at.is_none_or(|at| within(from, to, at));
    let mut before = sent;
    let mut is_next = |at: f64| {
        let is = within(before, ended, at);
        before = at;
        is
    };
    if !within(0.0, LATEST_MS, sent) {
        Some("sent_ms")
    } else if !within(sent, LATEST_MS, ended) {
        Some("ended_ms")
    } else if !is_optional(request.intended_ms, 0.0, sent) {
        Some("intended_ms")
    } else if !is_optional(request.first_chunk_ms, sent, ended) {
        Some("first_chunk_ms")
    } else if !request.token_chunks_ms.iter().all(|at| is_next(*at)) {
        Some("token_chunks_ms")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_in_chunks_are_bounded_over_all_requests() {
        let of = |counts: &[&[u32]]| {
            let requests = counts.iter().map(|tokens| ServeRequest {
                chunk_tokens: tokens.to_vec(),
                ..ServeRequest::default()
            });
            let serve = Serve {
                requests: requests.collect(),
                ..Serve::default()
            };
            check(&serve, "here").is_ok()
        };
        assert!(of(&[&[1, 9_999_999], &[10_000_000]]));
        assert!(!of(&[&[1, 9_999_999], &[10_000_001]]));
        assert!(!of(&[&[1, u32::MAX]]));
    }

    #[test]
    fn instants_are_finite_ordered_and_inside_their_request() {
        let good = ServeRequest {
            intended_ms: Some(5.0),
            sent_ms: 10.0,
            ended_ms: 100.0,
            first_chunk_ms: Some(20.0),
            token_chunks_ms: vec![20.0, 50.0, 100.0],
            ..ServeRequest::default()
        };
        assert_eq!(wrong(&good), None);
        type Change = fn(&mut ServeRequest);
        let changes: [(Change, &str); 9] = [
            (|one| one.sent_ms = f64::NAN, "sent_ms"),
            (|one| one.sent_ms = -1e300, "sent_ms"),
            (|one| one.ended_ms = 1e11, "ended_ms"),
            (|one| one.ended_ms = 8.0, "ended_ms"),
            (|one| one.intended_ms = Some(12.0), "intended_ms"),
            (|one| one.first_chunk_ms = Some(1e300), "first_chunk_ms"),
            (|one| one.token_chunks_ms[1] = 1e300, "token_chunks_ms"),
            (|one| one.token_chunks_ms[1] = 10.0, "token_chunks_ms"),
            (|one| one.token_chunks_ms[0] = 2.0, "token_chunks_ms"),
        ];
        for (change, field) in changes {
            let mut bad = good.clone();
            change(&mut bad);
            assert_eq!(wrong(&bad), Some(field), "{bad:?}");
        }
        // The kernel's stamp may lie a little before the instant of the sending.
        let near = ServeRequest {
            token_chunks_ms: vec![9.95, 9.9, 100.04],
            ..good
        };
        assert_eq!(wrong(&near), None);
    }
}
