//! Pictures of one run: distributions over requests, and tokens over time.

use record::metric;
use record::{Serve, ServeRequest, ServeSummary};

use crate::document::Block;
use crate::page::{Axis, Plot, PlotPoint, PlotSeries, Shape};

/// Points of a series at most: more are not distinguished at the width of a page.
const MOST: usize = 400;

/// Spans that tokens are counted in.
const SPANS: usize = 150;

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
    let positive: Vec<f64> = values.filter(|value| *value > 0.0).collect();
    let low = positive.iter().copied().fold(f64::INFINITY, f64::min);
    let high = positive.iter().copied().fold(0.0, f64::max);
    Axis {
        label: label.to_owned(),
        logarithmic: high > low * WIDE,
        ..Axis::default()
    }
}

/// An axis between these values.
fn between(label: &str, high: f64) -> Axis {
    Axis {
        label: label.to_owned(),
        logarithmic: false,
        range: Some((0.0, high)),
    }
}

/// A single series in steps.
fn steps(title: String, (across, up): (Axis, Axis), name: String, points: Vec<PlotPoint>) -> Block {
    Block::Plot(Plot {
        title,
        across,
        up,
        series: vec![PlotSeries {
            name,
            shape: Shape::Steps,
            points,
        }],
    })
}

/// The part of requests with a TTFT, and with a TPOT, up to each value.
pub(super) fn distributions(serve: &Serve) -> Vec<Block> {
    let completed = || serve.requests.iter().filter(|one| one.error.is_none());
    let plots = [
        ecdf("TTFT", completed().filter_map(metric::ttft).collect()),
        ecdf("TPOT", completed().filter_map(metric::tpot).collect()),
    ];
    plots.into_iter().flatten().collect()
}

/// The part of values up to each value, 0 to 1; `None` without values.
fn ecdf(name: &str, mut values: Vec<f64>) -> Option<Block> {
    values.retain(|value| value.is_finite());
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    let n = values.len();
    let step = n.div_ceil(MOST);
    let mut points = vec![point(values[0], 0.0)];
    let kept = (0..=last).filter(|index| (index + 1) % step == 0 || *index == last);
    points.extend(kept.map(|index| point(values[index], (index + 1) as f64 / n as f64)));
    let across = axis(&format!("{name} (ms)"), values.iter().copied());
    let title = format!("part of the requests with {name} up to a value");
    let axes = (across, between("part of the requests", 1.0));
    Some(steps(title, axes, format!("{name}, n={n}"), points))
}

/// Output tokens a second, in equal spans.
pub(super) fn tokens_over_time(serve: &Serve, summary: &ServeSummary) -> Option<Block> {
    let sent = serve.requests.iter().map(|one| one.sent_ms);
    let first_ms = sent.reduce(f64::min)?;
    let end_s = summary.duration_s;
    let has_tokens = serve
        .requests
        .iter()
        .any(|one| !one.token_chunks_ms.is_empty());
    if end_s <= 0.0 || !has_tokens {
        return None;
    }
    let points = tokens(&serve.requests, first_ms, end_s);
    let title = "output tokens a second".to_owned();
    let across = between("s since the first request", end_s);
    let up = Axis {
        label: "tokens/s".to_owned(),
        ..Axis::default()
    };
    Some(steps(title.clone(), (across, up), title, points))
}

/// Tokens in equal spans, as a rate.
fn tokens(requests: &[ServeRequest], first_ms: f64, end_s: f64) -> Vec<PlotPoint> {
    let span = end_s / SPANS as f64;
    let mut spans = [0.0; SPANS];
    for one in requests {
        let chunks = one.token_chunks_ms.len();
        let even = one
            .output_tokens
            .map(|tokens| f64::from(tokens) / chunks as f64);
        let known = Some(&one.chunk_tokens).filter(|known| known.len() == chunks);
        for (index, at) in one.token_chunks_ms.iter().enumerate() {
            let known = known.map(|known| f64::from(known[index]));
            let within = (at - first_ms) / 1e3 / span;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "0 to SPANS"
            )]
            let within = within.clamp(0.0, SPANS as f64 - 1.0) as usize;
            spans[within] += known.or(even).unwrap_or(1.0);
        }
    }
    let spans = spans.into_iter().enumerate();
    let points = spans.map(|(index, tokens)| point(index as f64 * span, tokens / span));
    points.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_ends_at_one_and_many_values_are_few_points() {
        let drawn = |values| match ecdf("TTFT", values).unwrap() {
            Block::Plot(plot) => plot,
            other => panic!("{other:?}"),
        };
        let plot = drawn(vec![30.0, 10.0, 20.0, 20.0]);
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
        let plot = drawn((1..=100_001).map(f64::from).collect());
        let points = &plot.series[0].points;
        assert!(points.len() <= MOST + 2, "{}", points.len());
        assert_eq!(
            points.last().map(|last| (last.x, last.y)),
            Some((100_001.0, 1.0))
        );
        assert!(plot.across.logarithmic);
    }

    #[test]
    fn tokens_are_a_rate() {
        let one = |sent_ms, ended_ms, tokens| ServeRequest {
            sent_ms,
            ended_ms,
            token_chunks_ms: vec![sent_ms + 10.0],
            chunk_tokens: vec![tokens],
            ..ServeRequest::default()
        };
        let requests = [one(0.0, 2000.0, 3), one(1000.0, 4000.0, 2)];
        // Spans of 4 / 150 s: 3 tokens in the first are 112.5/s.
        let rates = tokens(&requests, 0.0, 4.0);
        assert!((rates[0].y - 112.5).abs() < 1e-9);
        let all: f64 = rates.iter().map(|point| point.y * 4.0 / 150.0).sum();
        assert!((all - 5.0).abs() < 1e-9);
    }
}
