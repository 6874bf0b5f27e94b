//! The server's side of a load: its own counters, and what a monitor saw of its machine, on the run's clock.
//!
//! Nothing is asked or judged here; how counters are called by each engine is the reader's matter.

mod changed;

use serde::{Deserialize, Serialize};

use super::monitor::{MonitorHeader, MonitorLine};

/// What was read beside a load. Instants are milliseconds since the run's start; those before it are negative.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServeServer {
    /// The server's own counters.
    pub counters: Option<ServerCounters>,
    /// Why there are none, or no more from some reading on; `None` where nobody asked for them, too.
    pub no_counters: Option<String>,
    /// What a monitor saw of the machine.
    pub machine: Option<ServerMachine>,
    /// Why there is nothing; `None` where nobody asked for it.
    pub no_machine: Option<String>,
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
    /// Of the embedded engine: by how much steps took longer than the simulated machine's because its machine was late, one a step.
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
    /// Mean time by which a step of a simulated machine took longer because its machine was late.
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

/// What `tplens monitor` saw beside a load.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_writes_only_what_there_is() {
        let values = ServerValues {
            running: Some(5.0),
            prompt_tokens: Some(2.0),
            ttft: Some(ServerSum {
                seconds: 3.0,
                count: 4.0,
            }),
            ..ServerValues::default()
        };
        let json = serde_json::to_string(&values).unwrap();
        assert_eq!(
            json,
            r#"{"running":5.0,"prompt_tokens":2.0,"ttft":{"seconds":3.0,"count":4.0}}"#
        );
    }
}
