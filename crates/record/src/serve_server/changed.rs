//! What a server's counters say over their readings: what grew, whether it began anew, and whose prompts it took in.

use super::{ServerChange, ServerCounters, ServerMean, ServerSum, ServerValues};
use crate::ServeRequest;

/// A server may count a prompt this long after its first token was read here, ms.
const LATE_MS: f64 = 250.0;

/// Prompt tokens beyond this part of the own ones are somebody else's: engines may add a few to each prompt.
const MORE: f64 = 1.02;

impl ServerCounters {
    /// What changed over the readings; `None` with fewer than two, or where a counter fell: the server began anew.
    #[must_use]
    pub fn changed(&self) -> Option<ServerChange> {
        let [first, .., last] = &self.readings[..] else {
            return None;
        };
        let (from, to) = (&first.values, &last.values);
        if self.fell() {
            return None;
        }
        let most = |of: fn(&ServerValues) -> Option<f64>| {
            let values = self.readings.iter().filter_map(|one| of(&one.values));
            values.reduce(f64::max)
        };
        Some(ServerChange {
            seconds: (last.answered_ms - first.answered_ms) / 1e3,
            requests: grown(from.requests, to.requests),
            prompt_tokens: grown(from.prompt_tokens, to.prompt_tokens),
            generated_tokens: grown(from.generated_tokens, to.generated_tokens),
            cached_tokens: grown(from.cached_tokens, to.cached_tokens),
            preemptions: grown(from.preemptions, to.preemptions),
            ttft: mean(from.ttft, to.ttft),
            itl: mean(from.itl, to.itl),
            tpot: mean(from.tpot, to.tpot),
            e2el: mean(from.e2el, to.e2el),
            queue: mean(from.queue, to.queue),
            generation: mean(from.generation, to.generation),
            lost: mean(from.lost, to.lost),
            running_most: most(|values| values.running),
            waiting_most: most(|values| values.waiting),
            kv_used_most: most(|values| values.kv_used),
        })
    }

    /// Whether a counter fell from one reading to the next: the server began anew, or several answer in turns.
    #[must_use]
    pub fn fell(&self) -> bool {
        let mut pairs = self.readings.windows(2);
        pairs.any(|pair| falls(&pair[0].values, &pair[1].values))
    }

    /// The times, ms, in which the server took in more prompt tokens than this run's requests can have had in work: somebody
    /// else's. Empty where the prompts of the requests were not counted.
    ///
    /// Engines count a prompt when its work is done or while it goes on, so a request may explain growth from its sending
    /// until a reading after its first token.
    #[must_use]
    pub fn others_prompts(&self, requests: &[ServeRequest]) -> Vec<(f64, f64)> {
        if requests.iter().any(|one| one.input_tokens.is_none()) {
            return Vec::new();
        }
        let mut spans = Vec::new();
        for pair in self.readings.windows(2) {
            let (from, to) = (&pair[0], &pair[1]);
            let Some(grew) = grown(from.values.prompt_tokens, to.values.prompt_tokens) else {
                continue;
            };
            let own: f64 = requests
                .iter()
                .filter(|one| {
                    let first = *one.token_chunks_ms.first().unwrap_or(&one.ended_ms);
                    one.sent_ms < to.answered_ms && first + LATE_MS > from.asked_ms
                })
                .filter_map(|one| one.input_tokens)
                .map(f64::from)
                .sum();
            if grew > own * MORE + 1.0 {
                spans.push((from.asked_ms, to.answered_ms));
            }
        }
        spans
    }
}

/// Whether something that only grows fell.
fn falls(from: &ServerValues, to: &ServerValues) -> bool {
    let counters: [fn(&ServerValues) -> Option<f64>; 4] = [
        |values| values.requests,
        |values| values.prompt_tokens,
        |values| values.generated_tokens,
        |values| values.ttft.map(|sum| sum.count),
    ];
    let fell = |of: fn(&ServerValues) -> Option<f64>| {
        of(from).zip(of(to)).is_some_and(|(from, to)| to < from)
    };
    counters.into_iter().any(fell)
}

fn grown(from: Option<f64>, to: Option<f64>) -> Option<f64> {
    // A counter that came into being in between began at zero: engines show some of them from their first use on.
    let to = to?;
    Some(to - from.unwrap_or(0.0)).filter(|grown| *grown >= 0.0)
}

fn mean(from: Option<ServerSum>, to: Option<ServerSum>) -> Option<ServerMean> {
    let (from, to) = (from.unwrap_or_default(), to?);
    let (seconds, count) = (to.seconds - from.seconds, to.count - from.count);
    let mean_ms = seconds / count * 1e3;
    // A count that is next to nothing has no mean that a record can hold.
    (count > 0.0 && seconds >= 0.0 && mean_ms.is_finite()).then_some(ServerMean { mean_ms, count })
}

#[cfg(test)]
mod tests {
    use super::super::ServerReading;
    use super::*;

    fn reading(at_ms: f64, prompt: f64, ttft: (f64, f64), running: f64) -> ServerReading {
        ServerReading {
            asked_ms: at_ms,
            answered_ms: at_ms + 2.0,
            values: ServerValues {
                running: Some(running),
                prompt_tokens: Some(prompt),
                ttft: Some(ServerSum {
                    seconds: ttft.0,
                    count: ttft.1,
                }),
                ..ServerValues::default()
            },
        }
    }

    fn counters(readings: Vec<ServerReading>) -> ServerCounters {
        ServerCounters {
            readings,
            ..ServerCounters::default()
        }
    }

    #[test]
    fn a_change_is_the_last_reading_less_the_first() {
        let change = counters(vec![
            reading(-5.0, 100.0, (1.0, 10.0), 0.0),
            reading(1000.0, 150.0, (1.1, 12.0), 7.0),
            reading(2000.0, 300.0, (1.5, 20.0), 1.0),
        ])
        .changed()
        .unwrap();
        // 300 - 100; (1.5 - 1.0) s over 20 - 10 requests are 50 ms; 2000 - (-5) ms.
        assert_eq!(change.prompt_tokens, Some(200.0));
        assert_eq!(
            change.ttft,
            Some(ServerMean {
                mean_ms: 50.0,
                count: 10.0
            })
        );
        assert!((change.seconds - 2.005).abs() < 1e-9);
        assert_eq!(
            (change.running_most, change.waiting_most),
            (Some(7.0), None)
        );
        assert_eq!((change.requests, change.itl), (None, None));
    }

    #[test]
    fn a_server_that_began_anew_and_a_single_reading_have_no_change() {
        let fell = counters(vec![
            reading(0.0, 100.0, (1.0, 10.0), 0.0),
            reading(1000.0, 50.0, (2.0, 11.0), 0.0),
        ]);
        assert_eq!(fell.changed(), None);
        assert_eq!(
            counters(vec![reading(0.0, 1.0, (0.0, 0.0), 0.0)]).changed(),
            None
        );
    }

    #[test]
    fn growth_that_no_own_request_explains_is_somebody_elses() {
        let own = ServeRequest {
            sent_ms: 100.0,
            ended_ms: 3000.0,
            token_chunks_ms: vec![400.0, 3000.0],
            input_tokens: Some(50),
            ..ServeRequest::default()
        };
        let seen = counters(vec![
            reading(0.0, 1000.0, (0.0, 0.0), 0.0),
            // 50 tokens: the own request's.
            reading(1000.0, 1050.0, (0.0, 0.0), 1.0),
            // 80 more, and the own one had its first token at 400, longer ago than 250 ms before this began.
            reading(2000.0, 1130.0, (0.0, 0.0), 2.0),
            reading(3000.0, 1130.0, (0.0, 0.0), 1.0),
        ]);
        assert_eq!(
            seen.others_prompts(std::slice::from_ref(&own)),
            [(1000.0, 2002.0)]
        );
        let uncounted = ServeRequest {
            input_tokens: None,
            ..own
        };
        assert_eq!(seen.others_prompts(&[uncounted]), []);
    }
}
