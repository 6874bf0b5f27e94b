//! The metrics of one request; their definitions stand in the table.

use crate::{Goals, ServeRequest};

/// The time to first token, ms; `None` where the reply was not streamed or brought no token.
#[must_use]
pub fn ttft(request: &ServeRequest) -> Option<f64> {
    let first = request.token_chunks_ms.first()?;
    Some(first - request.sent_ms)
}

/// The time to the first chunk, whatever it holds, ms; `None` where the reply was not streamed or nothing came.
#[must_use]
pub fn ttfc(request: &ServeRequest) -> Option<f64> {
    Some(request.first_chunk_ms? - request.sent_ms)
}

/// The time per output token after the first, ms; `None` below two tokens, where nobody counted them, or where one chunk brought all.
///
/// The last token's instant is that of the last chunk that carries tokens: what follows it (usage, the end mark, closing)
/// is no token's time.
#[must_use]
pub fn tpot(request: &ServeRequest) -> Option<f64> {
    let tokens = request.output_tokens.filter(|tokens| *tokens > 1)?;
    let [first, .., last] = request.token_chunks_ms[..] else {
        return None;
    };
    Some((last - first) / f64::from(tokens - 1))
}

/// The gaps between chunks, ms; empty where the reply was not streamed or came in one chunk.
#[must_use]
pub fn itl(request: &ServeRequest) -> Vec<f64> {
    let gap = |pair: &[f64]| pair[1] - pair[0];
    request.token_chunks_ms.windows(2).map(gap).collect()
}

/// The gaps shared among the tokens that end them, one value a token after those of the first chunk, ms; empty where the tokens of
/// chunks are not known.
#[must_use]
pub fn itl_per_token(request: &ServeRequest) -> Vec<f64> {
    let Some(tokens) = tokens_of_chunks(request) else {
        return Vec::new();
    };
    let gaps = request.token_chunks_ms.windows(2).zip(&tokens[1..]);
    gaps.flat_map(|(pair, count)| {
        let share = (pair[1] - pair[0]) / f64::from(*count);
        std::iter::repeat_n(share, *count as usize)
    })
    .collect()
}

/// Tokens of each chunk: what the server told, or one each where their number is that of the tokens.
///
/// `None` where neither holds, or where there are no chunks.
#[must_use]
pub fn tokens_of_chunks(request: &ServeRequest) -> Option<Vec<u32>> {
    let chunks = request.token_chunks_ms.len();
    if chunks == 0 {
        return None;
    }
    if request.chunk_tokens.len() == chunks {
        return Some(request.chunk_tokens.clone());
    }
    let single = request.output_tokens? as usize == chunks;
    single.then(|| vec![1; chunks])
}

/// The end-to-end latency, ms.
#[must_use]
pub fn e2el(request: &ServeRequest) -> f64 {
    request.token_chunks_ms.last().unwrap_or(&request.ended_ms) - request.sent_ms
}

/// How long the request waited in the client, ms; `None` where no schedule wanted an instant.
#[must_use]
pub fn queue_time(request: &ServeRequest) -> Option<f64> {
    Some(request.sent_ms - request.intended_ms?)
}

/// The end-to-end latency from the instant that the schedule wanted: what a user who comes at that instant waits, ms; `None` where no
/// schedule wanted one.
#[must_use]
pub fn e2el_intended(request: &ServeRequest) -> Option<f64> {
    Some(queue_time(request)? + e2el(request))
}

/// Whether a completed request kept every goal; `None` where it has no value that a goal asks for.
#[must_use]
pub fn keeps(request: &ServeRequest, goals: &Goals) -> Option<bool> {
    let within = |goal: Option<f64>, value: Option<f64>| match goal {
        None => Some(true),
        Some(goal) => value.map(|value| value <= goal),
    };
    let single = request.output_tokens == Some(1) && request.token_chunks_ms.len() <= 1;
    let per_token = tpot(request).or(single.then_some(0.0));
    let queue = queue_time(request).unwrap_or(0.0);
    Some(
        within(goals.ttft_ms, ttft(request).map(|ttft| ttft + queue))?
            & within(goals.tpot_ms, per_token)?
            & within(goals.e2el_ms, Some(e2el(request) + queue))?,
    )
}
