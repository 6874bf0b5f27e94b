//! Runs that are refused for other reasons: how the time per token grows with the requests in flight, and how slow a link would
//! have to be for that.

use measure::import::ServeRun;
use measure::record::CollectiveKind;
use serde::{Deserialize, Serialize};
use tp_plan::plan;

use crate::gates::RunShape;
use crate::inputs::Inputs;
use crate::range::Range;

/// So many different loads make a line.
const LOADS: usize = 3;

/// The largest load is this many times the smallest at least.
const APART: f64 = 1.5;

/// Half a 90% interval of a normal distribution in standard errors.
const ERRORS: f64 = 1.645;

/// How the time per token depends on the requests in flight, and which link that would need.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlightBound {
    /// Tensor parallel size.
    pub tp: u32,
    /// The runs, by requests in flight.
    pub points: Vec<FlightPoint>,
    /// The runs on one GPU, where several are explained; nothing in explanations from before they were told.
    #[serde(default)]
    pub of_one: Vec<FlightPoint>,
    /// Bytes of each rank's all-reduce messages that one more sequence adds to a step.
    pub bytes_per_sequence: u64,
    /// All-reduces of a step.
    pub all_reduces: u32,
    /// Milliseconds that one more sequence adds, by least squares; `None` with fewer than three loads.
    pub slope_ms: Option<Range>,
    /// GB/s of message at which those bytes would take all of it; a faster link cannot be the cause.
    pub slope_gb_per_s: Option<f64>,
    /// GB/s of message at which the whole time per token of the largest load would be all-reduces.
    pub whole_gb_per_s: f64,
    /// Failed requests of all runs, which cut off the slow ones; `None` where a file does not say.
    pub failed: Option<u64>,
}

/// A load and its time per token.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FlightPoint {
    /// Requests in flight by Little's law.
    pub in_flight: f64,
    /// Milliseconds of an output token: the time per token of a stream, else the latency over the tokens.
    pub ms_per_token: f64,
    /// Whether it is the latency over the tokens, which holds the prompt's time and what a request waited.
    #[serde(default)]
    pub by_latency: bool,
}

/// The bounds; `None` where no run tells its requests in flight and a time per token.
pub(super) fn flight(inputs: &Inputs) -> Option<FlightBound> {
    let engine = inputs.engine(inputs.tp)?;
    let points = points(inputs, inputs.tp);
    let last = *points.last()?;
    // Of one sequence in a step that is not padded: what every further one adds.
    let unpadded = engine.clone().with_eager();
    let planned = plan(&inputs.model, &unpadded, 1, None).collectives;
    let reduces = planned
        .iter()
        .filter(|of| of.kind == CollectiveKind::AllReduce);
    let bytes: u64 = reduces
        .clone()
        .map(|of| u64::from(of.count) * of.bytes_per_rank)
        .sum();
    if bytes == 0 {
        return None;
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "messages are far below 2^53 bytes"
    )]
    let per_sequence = bytes as f64;
    let slope = slope(&points);
    let failed = inputs
        .runs(inputs.tp)
        .map(|run| run.failed)
        .collect::<Option<Vec<u64>>>();
    Some(FlightBound {
        tp: inputs.tp,
        bytes_per_sequence: bytes,
        all_reduces: reduces.map(|of| of.count).sum(),
        slope_gb_per_s: slope
            .filter(|slope| slope.mid > 0.0)
            .map(|slope| per_sequence / slope.mid / 1e6),
        slope_ms: slope,
        whole_gb_per_s: per_sequence * last.in_flight / last.ms_per_token / 1e6,
        failed: failed.map(|all| all.iter().sum()),
        of_one: match inputs.tp {
            1 => Vec::new(),
            _ => self::points(inputs, 1),
        },
        points,
    })
}

/// The runs of a size by their requests in flight. Times of a stream and latencies are never mixed, since the latter hold more.
fn points(inputs: &Inputs, tp: u32) -> Vec<FlightPoint> {
    let streamed = |run: &ServeRun| run.tpot_ms.filter(|_| run.streamed).map(|each| each.mean);
    let by_latency = !inputs.runs(tp).all(|run| streamed(run).is_some());
    let point = |run: &ServeRun| {
        let shape = RunShape::new(run);
        Some(FlightPoint {
            in_flight: shape.in_flight()?,
            ms_per_token: match by_latency {
                true => shape.latency_ms()? / shape.output()?,
                false => streamed(run)?,
            },
            by_latency,
        })
    };
    let is_told = |of: &FlightPoint| of.in_flight > 0.0 && of.ms_per_token.is_finite();
    let mut points: Vec<FlightPoint> = inputs.runs(tp).filter_map(point).filter(is_told).collect();
    points.sort_by(|a, b| a.in_flight.total_cmp(&b.in_flight));
    points
}

/// Least squares of time per token over requests in flight, with the interval that the residuals give.
#[expect(clippy::cast_precision_loss, reason = "a handful of runs")]
fn slope(points: &[FlightPoint]) -> Option<Range> {
    let ends = points.first()?.in_flight..points.last()?.in_flight;
    if points.len() < LOADS || ends.end < ends.start * APART {
        return None;
    }
    let n = points.len() as f64;
    let mean = |of: fn(&FlightPoint) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.in_flight), mean(|p| p.ms_per_token));
    let across: f64 = points.iter().map(|p| (p.in_flight - x).powi(2)).sum();
    let along: f64 = points
        .iter()
        .map(|p| (p.in_flight - x) * (p.ms_per_token - y))
        .sum();
    let mid = along / across;
    let left: f64 = points
        .iter()
        .map(|p| (p.ms_per_token - y - mid * (p.in_flight - x)).powi(2))
        .sum();
    let error = (left / (n - 2.0) / across).sqrt();
    Some(Range {
        low: mid - ERRORS * error,
        mid,
        high: mid + ERRORS * error,
    })
}

impl FlightBound {
    /// What it says, a sentence each.
    pub(super) fn sentences(&self) -> Vec<String> {
        let sides = [(1, &self.of_one), (self.tp, &self.points)];
        let mut said: Vec<String> = sides
            .into_iter()
            .filter_map(|(tp, points)| {
                Some(format!("{} on TP{tp}: {}", of(points)?, listed(points)))
            })
            .collect();
        #[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
        let megabytes = self.bytes_per_sequence as f64 / 1e6;
        match (&self.slope_ms, self.slope_gb_per_s) {
            (Some(slope), Some(rate)) => said.push(format!(
                "each further request in flight adds {} ms to the time per token, and to the {} all-reduces {megabytes:.1} MB: only a link that carries them at {rate:.1} GB/s or less would make that, so on a faster one it is not the link's bytes but what the host, attention or scheduling add",
                slope.with_decimals(2), self.all_reduces
            )),
            _ => said.push(format!(
                "whether the link limits the server under load cannot be told from fewer than three loads: run the same benchmark with three or more numbers of requests in flight and give all results together (each request in flight adds {megabytes:.1} MB to the {} all-reduces of a step, and the time per token shows whether a link is what that costs)",
                self.all_reduces
            )),
        }
        match self.failed {
            Some(0) => {}
            Some(failed) => said.push(format!(
                "{failed} requests failed, and where that was a time-out the slow ones are missing from these times: they are lower figures"
            )),
            None => said.push("a file does not say how many requests failed".to_owned()),
        }
        said
    }
}

/// What the times of a side are; `None` where it has none.
fn of(points: &[FlightPoint]) -> Option<&'static str> {
    Some(match points.first()?.by_latency {
        true => "latency over output tokens, prompts and waiting included,",
        false => "time per output token",
    })
}

fn listed(points: &[FlightPoint]) -> String {
    let told = points.iter().map(|point| {
        let (ms, in_flight) = (point.ms_per_token, point.in_flight);
        format!("{ms:.1} ms with {in_flight:.1} really in flight")
    });
    told.collect::<Vec<_>>().join(", ")
}
