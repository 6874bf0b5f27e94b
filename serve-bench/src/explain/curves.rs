//! Pictures of all-reduce times over message size.

use ::explain::{Attribution, Inputs};
use record::unit::ByteCount;
use record::{CallMode, CollectiveKind};
use view::Block;
use view::page::{Axis, Plot, PlotMark, PlotPoint, PlotSeries};

/// This machine's curve with the model's sizes, else what was published for its GPU; `None` where there is neither.
pub(super) fn curves(inputs: &Inputs, marks: Option<Vec<PlotMark>>) -> Option<Block> {
    let series = all_reduces(inputs);
    let axis = |label: &str, bytes| Axis {
        label: label.to_owned(),
        logarithmic: true,
        bytes,
        ..Axis::default()
    };
    (!series.is_empty()).then(|| {
        Block::Plot(Plot {
            title: "all-reduce of this machine, us over bytes".to_owned(),
            across: axis("bytes of each rank's message", true),
            up: axis("us", false),
            series,
            marks: marks.unwrap_or_default(),
            ..Plot::default()
        })
    })
}

/// The all-reduce sizes of a step.
pub(super) fn marks(attribution: &Attribution) -> Vec<PlotMark> {
    let mut sizes: Vec<u64> = attribution
        .collectives
        .iter()
        .filter(|of| of.kind == CollectiveKind::AllReduce)
        .map(|of| of.bytes_per_rank)
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mark = |bytes: u64| PlotMark {
        x: bytes as f64,
        label: format!("{}: batch {}", ByteCount(bytes), attribution.batch),
    };
    sizes.into_iter().map(mark).collect()
}

/// A series for each mode and kernel.
fn all_reduces(inputs: &Inputs) -> Vec<PlotSeries> {
    let modes = CallMode::ALL.into_iter().rev().map(Some).chain([None]);
    let kinds = modes.flat_map(|mode| [(mode, false), (mode, true)]);
    let series = kinds.map(|(mode, by_engine)| {
        let of_kind = inputs.curve.iter().filter(|point| {
            let its = (point.kind, point.ranks, point.mode, point.engine.is_some());
            its == (CollectiveKind::AllReduce, inputs.tp, mode, by_engine)
        });
        let point = |of: &import::CurvePoint| PlotPoint {
            x: of.bytes_per_rank as f64,
            y: of.us,
            interval: of.low.zip(of.high),
            ..PlotPoint::default()
        };
        let mut points: Vec<PlotPoint> = of_kind.map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let mode = mode.map_or_else(|| "mode not stated".to_owned(), |mode| mode.to_string());
        let by = if by_engine { ", engine's kernel" } else { "" };
        PlotSeries {
            name: format!("TP{}, {mode}{by}", inputs.tp),
            points,
            ..PlotSeries::default()
        }
    });
    series.filter(|series| !series.points.is_empty()).collect()
}
