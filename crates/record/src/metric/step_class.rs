//! TPOT by the class of step: pure decode, or mixed with the prefill of another request.
//!
//! With chunked prefill a step that also works on somebody's prompt takes several times as long as a decode step. Where most
//! steps are such, TPOT is the duration of a prefill chunk and says little about decoding.

use super::{tokens_of_chunks, ttft};
use crate::ServeRequest;

/// Part of a gap at its beginning within which a request may be sent and still be in its step: instants of one step differ by
/// how long the server takes to write them all.
const ADMITTED: f64 = 0.1;

/// Part of a gap after which a first token counts as one of the step that ends it.
const WITHIN: f64 = 0.5;

/// Times per output token of every completed request by class.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Classes {
    /// One value a request that had pure decode steps, ms.
    pub decode: Vec<f64>,
    /// One value a request that had mixed steps, ms.
    pub mixed: Vec<f64>,
    /// Tokens that came with pure decode steps.
    pub decode_tokens: u64,
    /// Tokens that came with mixed steps.
    pub mixed_tokens: u64,
}

impl Classes {
    /// Part of the tokens that came with mixed steps, 0 to 1; `None` without tokens after the first.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "token counts are far below 2^53"
    )]
    pub fn mixed_part(&self) -> Option<f64> {
        let all = self.decode_tokens + self.mixed_tokens;
        (all > 0).then(|| self.mixed_tokens as f64 / all as f64)
    }
}

/// The classes of a run's steps. A request whose chunks have unknown tokens is left out; its prefill counts for the others.
#[must_use]
pub fn of(requests: &[ServeRequest]) -> Classes {
    of_beside(requests, &[])
}

/// The same where the server's counters tell of prompts of others: steps that end within these times, ms, are mixed.
#[must_use]
pub fn of_beside(requests: &[ServeRequest], others: &[(f64, f64)]) -> Classes {
    let is_others = |at: f64| others.iter().any(|(from, to)| (*from..=*to).contains(&at));
    let prefills = Prefills::of(requests);
    let mut classes = Classes::default();
    for request in requests.iter().filter(|request| request.error.is_none()) {
        let Some(tokens) = tokens_of_chunks(request) else {
            continue;
        };
        // Time and tokens of pure and of mixed steps.
        let mut sums = [(0.0, 0u32); 2];
        for (pair, count) in request.token_chunks_ms.windows(2).zip(&tokens[1..]) {
            let is_mixed = prefills.within(pair[0], pair[1]) || is_others(pair[1]);
            let sum = &mut sums[usize::from(is_mixed)];
            sum.0 += pair[1] - pair[0];
            sum.1 += count;
        }
        let [(decode_ms, decode), (mixed_ms, mixed)] = sums;
        let value = |ms: f64, tokens: u32| (tokens > 0).then(|| ms / f64::from(tokens));
        classes.decode.extend(value(decode_ms, decode));
        classes.mixed.extend(value(mixed_ms, mixed));
        classes.decode_tokens += u64::from(decode);
        classes.mixed_tokens += u64::from(mixed);
    }
    classes
}

/// When each request was sent, ascending, with the latest first token of those up to it.
struct Prefills(Vec<(f64, f64)>);

impl Prefills {
    fn of(requests: &[ServeRequest]) -> Self {
        // A request that never had a token was not in prefill until it was given up: no longer than the slowest that had one.
        let slowest = requests.iter().filter_map(ttft).fold(0.0, f64::max);
        let mut spans: Vec<(f64, f64)> = requests
            .iter()
            .map(|request| {
                let first = request.token_chunks_ms.first().copied();
                let given_up = request.ended_ms.min(request.sent_ms + slowest);
                (request.sent_ms, first.unwrap_or(given_up))
            })
            .collect();
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut latest = f64::NEG_INFINITY;
        for (_, first) in &mut spans {
            latest = latest.max(*first);
            *first = latest;
        }
        Self(spans)
    }

    /// Whether a request was in prefill in the step that ends a gap. The gap's own request never is: its first token came.
    fn within(&self, from: f64, to: f64) -> bool {
        let length = to - from;
        let admitted = self
            .0
            .partition_point(|(sent, _)| *sent <= from + ADMITTED * length);
        admitted > 0 && self.0[admitted - 1].1 > from + WITHIN * length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(sent_ms: f64, chunks: &[f64]) -> ServeRequest {
        ServeRequest {
            sent_ms,
            ended_ms: chunks.last().copied().unwrap_or(sent_ms),
            token_chunks_ms: chunks.to_vec(),
            output_tokens: u32::try_from(chunks.len()).ok(),
            ..ServeRequest::default()
        }
    }

    #[test]
    fn a_gap_beside_a_prompt_is_no_decode_step() {
        // The first decodes in steps of 20 ms, but for 40 to 120, in which the second one's prompt (sent at 35) is worked on;
        // the second one's first token comes 0.1 ms after the first one's, from the same step.
        let first = request(0.0, &[20.0, 40.0, 120.0, 140.0, 160.0]);
        let second = request(35.0, &[120.1, 140.1, 160.1]);
        let classes = of(&[first, second]);
        // The first: (20 + 20 + 20) / 3; the second: (20 + 20) / 2.
        let near = |values: &[f64]| values.iter().all(|value| (value - 20.0).abs() < 1e-6);
        assert!(classes.decode.len() == 2 && near(&classes.decode));
        assert_eq!(classes.mixed, [80.0]);
        assert_eq!((classes.decode_tokens, classes.mixed_tokens), (5, 1));
        // One of six.
        assert!((classes.mixed_part().unwrap() - 1.0 / 6.0).abs() < 1e-12);
    }

    #[test]
    fn a_request_that_hangs_is_not_in_prefill_all_the_while() {
        // Sent at 30 and given up at 1000 without a token; the slowest first token took 20 ms, so its prompt ended by 50.
        let mut hung = request(30.0, &[]);
        hung.ended_ms = 1000.0;
        let classes = of(&[request(0.0, &[20.0, 40.0, 60.0, 80.0]), hung]);
        assert_eq!((classes.decode_tokens, classes.mixed_tokens), (3, 0));
    }

    #[test]
    fn a_request_sent_in_the_middle_of_a_step_is_in_the_next_one() {
        let first = request(0.0, &[20.0, 40.0, 100.0]);
        let second = request(30.0, &[100.0]);
        let classes = of(&[first, second]);
        assert_eq!((classes.decode, classes.mixed), (vec![20.0], vec![60.0]));
    }

    #[test]
    fn a_step_beside_somebody_elses_prompt_is_mixed() {
        let alone = request(0.0, &[20.0, 40.0, 120.0, 140.0]);
        // Others' prompts from 100 to 130: the gap that ends at 120; the others are (20 + 20) / 2.
        let classes = of_beside(std::slice::from_ref(&alone), &[(100.0, 130.0)]);
        assert_eq!((classes.decode, classes.mixed), (vec![20.0], vec![80.0]));
        assert!(of(&[alone]).mixed.is_empty());
    }

    #[test]
    fn chunks_of_unknown_tokens_are_in_no_class_and_known_ones_count_with_theirs() {
        let mut unknown = request(0.0, &[20.0, 40.0]);
        unknown.output_tokens = Some(5);
        assert_eq!(of(std::slice::from_ref(&unknown)).mixed_part(), None);
        // Four tokens in 20 ms: 5 ms each.
        unknown.chunk_tokens = vec![1, 4];
        assert_eq!(of(&[unknown]).decode, [5.0]);
    }
}
