//! The server's side of a load: its own counters, and what a monitor saw of its machine, on the run's clock.
//!
//! Nothing is asked or judged here; how counters are called by each engine is the reader's matter.

use serde::{Deserialize, Serialize};

use super::monitor::{MonitorHeader, MonitorLine};
use super::serve::{ServeRequest, ServeSummary};
use crate::metric::step_class;
use crate::stats::distribution;

/// What was read beside a load. Instants are milliseconds since the run's start; those before it are negative.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServeServer {
    /// The server's own counters.
    pub counters: Option<ServerCounters>,
    /// Why there are none, or no more from some reading on; `None` where nobody asked for them, too.
    #[serde(default)]
    pub no_counters: Option<String>,
    /// What a monitor saw of the machine.
    #[serde(default)]
    pub machine: Option<ServerMachine>,
    /// Why there is nothing; `None` where nobody asked for it.
    #[serde(default)]
    pub no_machine: Option<String>,
    /// Where the server's side contradicts the client's, or makes its numbers those of something else.
    #[serde(default)]
    pub cautions: Vec<String>,
}

/// The counters of a server, read before, during and after the measured part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerCounters {
    /// Where they were read.
    pub url: String,
    /// Whose names they have.
    pub engine: String,
    /// Readings, ascending; the first is before the first measured request and the last after the end.
    pub readings: Vec<ServerReading>,
    /// Readings that got no answer in time.
    #[serde(default)]
    pub missed: u32,
    /// From the first reading to the last; `None` where they cannot be subtracted.
    pub change: Option<ServerChange>,
}

/// One reading: the values are of some moment between the two instants.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerReading {
    /// When it was asked for, ms.
    pub asked_ms: f64,
    /// When the answer was there, ms.
    pub answered_ms: f64,
    /// What it held.
    pub values: ServerValues,
}

/// Counters under one name each, whatever the engine calls them; `None` where it has no such counter.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerValues {
    /// Requests in steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<f64>,
    /// Requests that wait to be admitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<f64>,
    /// Part of the key-value cache in use, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kv_used: Option<f64>,
    /// Requests that ended, since the server began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<f64>,
    /// Prompt tokens, since the server began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<f64>,
    /// Tokens generated, since the server began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated_tokens: Option<f64>,
    /// Prompt tokens taken from a cache, since the server began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<f64>,
    /// Requests that were put back because the key-value cache was full, since the server began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemptions: Option<f64>,
    /// Times to first token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttft: Option<ServerSum>,
    /// Times between tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub itl: Option<ServerSum>,
    /// Times per output token, one a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tpot: Option<ServerSum>,
    /// Times from arrival to the last token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub e2el: Option<ServerSum>,
    /// Times in the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<ServerSum>,
    /// Time spent generating, over the tokens generated in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<ServerSum>,
    /// Of the embedded engine: by how much steps took longer than the soft box's because its machine was late, one a step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<ServerSum>,
}

/// Sum and count of times, since the server began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerSum {
    /// Seconds.
    pub seconds: f64,
    /// How many times they are of.
    pub count: f64,
}

/// What changed from the first reading to the last, and the gauges in between.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerChange {
    /// Time between the two, s.
    pub seconds: f64,
    /// Requests that ended.
    pub requests: Option<f64>,
    /// Prompt tokens.
    pub prompt_tokens: Option<f64>,
    /// Tokens generated.
    pub generated_tokens: Option<f64>,
    /// Prompt tokens taken from a cache.
    pub cached_tokens: Option<f64>,
    /// Requests put back.
    pub preemptions: Option<f64>,
    /// Mean time to first token.
    pub ttft: Option<ServerMean>,
    /// Mean time between tokens.
    pub itl: Option<ServerMean>,
    /// Mean time per output token of a request.
    pub tpot: Option<ServerMean>,
    /// Mean time from arrival to the last token.
    pub e2el: Option<ServerMean>,
    /// Mean time in the queue.
    pub queue: Option<ServerMean>,
    /// Mean time of generating a token.
    pub generation: Option<ServerMean>,
    /// Mean time by which a step of a soft box took longer because its machine was late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<ServerMean>,
    /// Most requests in steps at a reading.
    pub running_most: Option<f64>,
    /// Most requests that waited at a reading.
    pub waiting_most: Option<f64>,
    /// Largest part of the key-value cache in use at a reading, 0 to 1.
    pub kv_used_most: Option<f64>,
}

/// A mean of times by the server's own clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerMean {
    /// The mean, ms.
    pub mean_ms: f64,
    /// How many times it is of.
    pub count: f64,
}

/// What `p2p-bw monitor` saw beside a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerMachine {
    /// What there was to read.
    pub header: MonitorHeader,
    /// The zero of its clock on the run's clock, ms; late by as long as its fastest line took to come.
    pub began_ms: f64,
    /// Its lines behind the header.
    pub lines: Vec<MonitorLine>,
    /// How the server's processes were found, or why not.
    pub processes: String,
}

impl ServerMachine {
    /// An instant of its lines on the run's clock, ms.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a run")]
    pub fn at_ms(&self, ns: u64) -> f64 {
        self.began_ms + ns as f64 / 1e6
    }
}

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

/// A server may count a prompt this long after its first token was read here, ms.
const LATE_MS: f64 = 250.0;

/// Prompt tokens beyond this part of the own ones are somebody else's: engines may add a few to each prompt.
const MORE: f64 = 1.02;

impl ServeSummary {
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
    (count > 0.0 && seconds >= 0.0).then(|| ServerMean {
        mean_ms: seconds / count * 1e3,
        count,
    })
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn a_reading_writes_only_what_there_is() {
        let json = serde_json::to_string(&reading(1.0, 2.0, (3.0, 4.0), 5.0).values).unwrap();
        assert_eq!(
            json,
            r#"{"running":5.0,"prompt_tokens":2.0,"ttft":{"seconds":3.0,"count":4.0}}"#
        );
    }
}
