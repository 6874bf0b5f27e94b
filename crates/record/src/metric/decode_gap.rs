//! Decode gap: gaps between tokens while every slot decodes, which is what a decode step at the full batch takes.
//!
//! TPOT also holds the steps in which somebody else's prompt was worked on, and ITL the tail of a run in which the batch shrinks;
//! in a short run both are far from a decode step.

use crate::ServeRequest;

/// The gaps of each request, ms, in the order of the requests; none of a request whose chunks carry several tokens.
///
/// `concurrency` is the number of slots. A gap counts where, all through it, that many requests had their first token and not
/// yet their last.
#[must_use]
pub fn of(requests: &[ServeRequest], concurrency: u32) -> Vec<Vec<f64>> {
    let full = full(requests, concurrency);
    let within = |start: f64, end: f64| {
        let after = full.partition_point(|(from, _)| *from <= start);
        after > 0 && end <= full[after - 1].1
    };
    requests
        .iter()
        .map(|request| {
            let chunks = &request.token_chunks_ms;
            let single = request
                .output_tokens
                .is_some_and(|tokens| tokens as usize == chunks.len());
            if request.error.is_some() || !single {
                return Vec::new();
            }
            let gaps = chunks.windows(2).filter(|pair| within(pair[0], pair[1]));
            gaps.map(|pair| pair[1] - pair[0]).collect()
        })
        .collect()
}

/// The times in which `concurrency` requests decode, ascending and apart.
fn full(requests: &[ServeRequest], concurrency: u32) -> Vec<(f64, f64)> {
    let mut changes: Vec<(f64, i64)> = Vec::new();
    for request in requests {
        if let [first, .., last] = request.token_chunks_ms[..] {
            changes.push((first, 1));
            changes.push((last, -1));
        }
    }
    // At one instant those that begin count before those that end.
    changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    let (mut decoding, mut since, mut full) = (0, None, Vec::new());
    for (at, change) in changes {
        decoding += change;
        match since {
            None if decoding >= i64::from(concurrency) => since = Some(at),
            Some(from) if decoding < i64::from(concurrency) => {
                full.push((from, at));
                since = None;
            }
            _ => {}
        }
    }
    full
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokenCount;

    fn request(sent_ms: f64, chunks: &[f64]) -> ServeRequest {
        ServeRequest {
            id: 0,
            sent_ms,
            ended_ms: chunks.last().copied().unwrap_or(sent_ms),
            token_chunks_ms: chunks.to_vec(),
            input_tokens: None,
            output_tokens: u32::try_from(chunks.len()).ok(),
            counted_by: Some(TokenCount::Usage),
            error: None,
            ..ServeRequest::default()
        }
    }

    #[test]
    fn gaps_beside_a_prompt_or_in_the_tail_do_not_count() {
        // Two slots. The second request's prompt takes from 10 to 90, so the first one's gap of 80 is not a decode step; the
        // first one ends at 130, after which the second decodes alone, faster.
        let first = request(0.0, &[10.0, 90.0, 110.0, 130.0]);
        let second = request(0.0, &[90.0, 110.0, 130.0, 140.0]);
        // Both decode from 90 to 130: gaps 90-110 and 110-130 of each.
        assert_eq!(of(&[first, second], 2), [[20.0, 20.0], [20.0, 20.0]]);
    }

    #[test]
    fn chunks_of_several_tokens_and_failures_have_no_gaps() {
        let mut merged = request(0.0, &[10.0, 30.0]);
        merged.output_tokens = Some(3);
        assert_eq!(of(&[merged], 1), [Vec::<f64>::new()]);
        assert_eq!(of(&[request(0.0, &[])], 1), [Vec::<f64>::new()]);
        // Three slots were asked for and one was used.
        assert_eq!(of(&[request(0.0, &[1.0, 2.0])], 3), [Vec::<f64>::new()]);
    }
}
