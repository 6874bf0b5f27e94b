//! Pictures of one run: distributions over requests, and what went on over time.

use std::collections::BTreeMap;

use record::metric::{tpot, ttft};
use record::{Serve, ServeRequest, ServeSummary};

use crate::document::Block;
use crate::page::{Axis, Plot, PlotPoint, PlotSeries, Shape};

/// Points of a series at most: more are not distinguished at the width of a page.
const MOST: usize = 400;

/// Spans that tokens are counted in.
const SPANS: f64 = 150.0;

/// The largest value over the least from which on an axis has equal factors at equal distances.
const WIDE: f64 = 20.0;

/// A point without interval and word.
fn point(x: f64, y: f64) -> PlotPoint {
    PlotPoint {
        x,
        y,
        ..PlotPoint::default()
    }
}

/// An axis from zero, or with equal factors where the values reach far.
pub(super) fn axis(label: &str, values: impl Iterator<Item = f64>) -> Axis {
    let (low, high) = values
        .filter(|value| *value > 0.0)
        .fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
            (low.min(value), high.max(value))
        });
    Axis {
        label: label.to_owned(),
        logarithmic: high > low * WIDE,
        ..Axis::default()
    }
}

/// The part of requests with a TTFT, and with a TPOT, up to each value.
pub(super) fn distributions(serve: &Serve, simulated: bool) -> Vec<Block> {
    let completed = || serve.requests.iter().filter(|one| one.error.is_none());
    let plots = [
        ecdf("TTFT", completed().filter_map(ttft).collect(), simulated),
        ecdf("TPOT", completed().filter_map(tpot).collect(), simulated),
    ];
    plots.into_iter().flatten().map(Block::Plot).collect()
}

/// The part of values up to each value, 0 to 1; `None` without values.
fn ecdf(name: &str, mut values: Vec<f64>, simulated: bool) -> Option<Plot> {
    values.retain(|value| value.is_finite());
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    let n = values.len() as f64;
    let step = values.len().div_ceil(MOST);
    let mut points = vec![point(values[0], 0.0)];
    let kept = (0..=last).filter(|index| (index + 1) % step == 0 || *index == last);
    points.extend(kept.map(|index| point(values[index], (index + 1) as f64 / n)));
    Some(Plot {
        title: format!("part of the requests with {name} up to a value"),
        across: axis(&format!("{name} (ms)"), values.iter().copied()),
        up: Axis {
            label: "part of the requests".to_owned(),
            range: Some((0.0, 1.0)),
            ..Axis::default()
        },
        series: vec![PlotSeries {
            name: format!("{name}, n={}", values.len()),
            shape: Shape::Steps,
            points,
        }],
        simulated,
    })
}

/// Requests in flight and output tokens a second.
pub(super) fn over_time(serve: &Serve, summary: &ServeSummary, simulated: bool) -> Vec<Block> {
    let requests = &serve.requests;
    let first_ms = requests
        .iter()
        .map(|one| one.sent_ms)
        .fold(f64::INFINITY, f64::min);
    let end_s = summary.duration_s;
    if !first_ms.is_finite() || end_s <= 0.0 {
        return Vec::new();
    }
    let second = |ms: f64| (ms - first_ms) / 1e3;
    let plot = |title: &str, unit: &str, points: Vec<PlotPoint>| {
        let across = Axis {
            label: "s since the first request".to_owned(),
            range: Some((0.0, end_s)),
            ..Axis::default()
        };
        let up = Axis {
            label: unit.to_owned(),
            ..Axis::default()
        };
        Block::Plot(Plot {
            title: title.to_owned(),
            across,
            up,
            series: vec![PlotSeries {
                name: title.to_owned(),
                shape: Shape::Steps,
                points,
            }],
            simulated,
        })
    };
    let mut blocks = vec![plot(
        "requests in flight",
        "requests",
        in_flight(requests, end_s, second),
    )];
    let tokens = tokens(requests, end_s, second);
    if !tokens.is_empty() {
        blocks.push(plot("output tokens a second", "tokens/s", tokens));
    }
    blocks
}

fn in_flight(requests: &[ServeRequest], end_s: f64, second: impl Fn(f64) -> f64) -> Vec<PlotPoint> {
    let sorted = |of: fn(&ServeRequest) -> f64| {
        let mut instants: Vec<f64> = requests.iter().map(|one| second(of(one))).collect();
        instants.sort_by(f64::total_cmp);
        instants
    };
    let (sent, ended) = (sorted(|one| one.sent_ms), sorted(|one| one.ended_ms));
    let points = (0..=MOST).map(|index| {
        let at = end_s * index as f64 / MOST as f64;
        let begun = sent.partition_point(|instant| *instant <= at);
        let over = ended.partition_point(|instant| *instant <= at);
        point(at, begun.saturating_sub(over) as f64)
    });
    points.collect()
}

/// Tokens in equal spans, as a rate.
fn tokens(requests: &[ServeRequest], end_s: f64, second: impl Fn(f64) -> f64) -> Vec<PlotPoint> {
    let span = end_s / SPANS;
    let mut spans: BTreeMap<u32, f64> = BTreeMap::new();
    for one in requests {
        let chunks = one.token_chunks_ms.len();
        let even = one
            .output_tokens
            .map_or(1.0, |tokens| f64::from(tokens) / chunks as f64);
        for (index, at) in one.token_chunks_ms.iter().enumerate() {
            let known = one
                .chunk_tokens
                .get(index)
                .filter(|_| one.chunk_tokens.len() == chunks);
            let within = (second(*at) / span).clamp(0.0, SPANS - 1.0);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "0 to SPANS"
            )]
            let within = within as u32;
            *spans.entry(within).or_default() += known.map_or(even, |tokens| f64::from(*tokens));
        }
    }
    if spans.is_empty() {
        return Vec::new();
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small constant"
    )]
    let all = 0..SPANS as u32;
    let rate = |index: &u32| spans.get(index).copied().unwrap_or(0.0) / span;
    let points = all.map(|index| point(f64::from(index) * span, rate(&index)));
    points.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_ends_at_one_and_many_values_are_few_points() {
        let plot = ecdf("TTFT", vec![30.0, 10.0, 20.0, 20.0], false).unwrap();
        let points: Vec<(f64, f64)> = plot.series[0].points.iter().map(|p| (p.x, p.y)).collect();
        let expected = [
            (10.0, 0.0),
            (10.0, 0.25),
            (20.0, 0.5),
            (20.0, 0.75),
            (30.0, 1.0),
        ];
        assert_eq!(points, expected);
        assert!(!plot.across.logarithmic);
        let values: Vec<f64> = (1..=100_001).map(f64::from).collect();
        let plot = ecdf("TTFT", values, false).unwrap();
        let points = &plot.series[0].points;
        assert!(points.len() <= MOST + 2, "{}", points.len());
        assert_eq!(
            points.last().map(|last| (last.x, last.y)),
            Some((100_001.0, 1.0))
        );
        assert!(plot.across.logarithmic);
    }

    #[test]
    fn what_is_in_flight_was_sent_and_has_not_ended_and_tokens_are_a_rate() {
        let one = |sent_ms, ended_ms, tokens| ServeRequest {
            sent_ms,
            ended_ms,
            token_chunks_ms: vec![sent_ms + 10.0],
            chunk_tokens: vec![tokens],
            ..ServeRequest::default()
        };
        let requests = [one(0.0, 2000.0, 3), one(1000.0, 4000.0, 2)];
        let second = |ms: f64| ms / 1e3;
        let points = in_flight(&requests, 4.0, second);
        let at = |at: f64| points.iter().find(|point| point.x >= at).map(|p| p.y);
        assert_eq!(
            [at(0.5), at(1.5), at(2.5), at(4.0)],
            [1.0, 2.0, 1.0, 0.0].map(Some)
        );
        // Spans of 4 / 150 s: 3 tokens in the first are 112.5/s.
        let rates = tokens(&requests, 4.0, second);
        assert!((rates[0].y - 112.5).abs() < 1e-9);
        let all: f64 = rates.iter().map(|point| point.y * 4.0 / 150.0).sum();
        assert!((all - 5.0).abs() < 1e-9);
    }
}
