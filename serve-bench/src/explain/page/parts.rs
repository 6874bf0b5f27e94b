//! Parts that every page has: topics, gates, inputs, lists, curves, bars, and the frame around them.

use ::explain::{
    Gate, Grade, InputSource, Inputs, Prior, Range, Topic, Verdict, gates_of_runs, passed,
};
use measure::record::{CallMode, CollectiveKind};
use program::provenance::now;
use report::{
    Bar, BarKind, Block, CurvePoint, CurveSeries, Curves, Page, Section, SizeMark, Table, Waterfall,
};

/// What a cell shows where there is nothing to show.
pub(super) const ABSENT: &str = "—";

/// The page; sections without anything in them are left out.
pub(super) fn whole(
    title: String,
    simulated: Option<String>,
    answer: Vec<String>,
    mut sections: Vec<Section>,
) -> Page {
    sections.retain(|section| !section.blocks.is_empty());
    Page {
        title,
        simulated,
        answer,
        sections,
        made_by: format!(
            "tplens {}, serve-bench explain, {}",
            env!("CARGO_PKG_VERSION"),
            now()
        ),
    }
}

pub(super) fn section(heading: &str, blocks: Vec<Block>) -> Section {
    Section {
        heading: heading.to_owned(),
        blocks,
    }
}

/// What is told of a topic, under its title.
pub(super) fn about(topic: Topic, blocks: Vec<Block>) -> Section {
    let title = topic.title();
    let (first, rest) = title.split_at(title.len().min(1));
    section(&(first.to_uppercase() + rest), blocks)
}

/// A list, where it has a point.
pub(super) fn points(points: Vec<String>) -> Vec<Block> {
    match points.is_empty() {
        true => Vec::new(),
        false => vec![Block::List(points)],
    }
}

/// A table, where it has a row.
pub(super) fn table(heads: &[&str], rows: Vec<Vec<String>>) -> Option<Block> {
    (!rows.is_empty()).then(|| {
        Block::Table(Table {
            heads: heads.iter().map(|name| (*name).to_owned()).collect(),
            rows,
        })
    })
}

/// Each of these as a line.
pub(super) fn lines<T: ToString>(items: &[T]) -> Vec<String> {
    items.iter().map(ToString::to_string).collect()
}

pub(super) fn bar(label: String, range: Range, kind: BarKind, grade: Option<Grade>) -> Bar {
    Bar {
        label,
        low_mid_high: (range.low, range.mid, range.high),
        grade: grade.map_or_else(String::new, |grade| grade.to_string()),
        kind,
    }
}

/// A bar from zero.
pub(super) fn total(label: String, range: Range) -> Bar {
    bar(label, range, BarKind::Total, None)
}

pub(super) fn waterfall(title: String, decimals: usize, bars: Vec<Bar>) -> Block {
    Block::Waterfall(Waterfall {
        title,
        unit: "ms".to_owned(),
        decimals,
        bars,
    })
}

/// Where a step's bars are drawn: what it says below them.
pub(super) fn of_a_step(batch: u32, draws: u32) -> String {
    format!("ms of a decode step of {batch} sequences; whiskers are 5% and 95% of {draws} draws")
}

/// All-reduce times of one side, a series for each mode and for the engine's own code; empty where there is none.
pub(super) fn all_reduces(side: Option<&str>, inputs: &Inputs) -> Vec<CurveSeries> {
    let modes = CallMode::ALL.into_iter().rev().map(Some).chain([None]);
    let kinds = modes.flat_map(|mode| [(mode, false), (mode, true)]);
    let series = kinds.map(|(mode, by_engine)| {
        let of_kind = inputs.curve.iter().filter(|point| {
            point.kind == CollectiveKind::AllReduce
                && point.ranks == inputs.tp
                && point.mode == mode
                && point.engine.is_some() == by_engine
        });
        let mut points: Vec<CurvePoint> = of_kind
            .map(|point| CurvePoint {
                bytes: point.bytes_per_rank,
                microseconds: point.us,
                interval: point.low.zip(point.high),
            })
            .collect();
        points.sort_by_key(|point| point.bytes);
        let side = side.map_or_else(String::new, |side| format!("{side}: "));
        let mode = mode.map_or_else(|| "mode not told".to_owned(), |mode| mode.to_string());
        let by = match by_engine {
            true => ", the engine's own code",
            false => "",
        };
        CurveSeries {
            name: format!("{side}{} ranks, {mode}{by}", inputs.tp),
            points,
        }
    });
    series.filter(|series| !series.points.is_empty()).collect()
}

/// Curves with marked sizes, where there is a curve.
pub(super) fn curves(title: &str, series: Vec<CurveSeries>, marks: Vec<SizeMark>) -> Option<Block> {
    (!series.is_empty()).then(|| {
        Block::Curves(Curves {
            title: title.to_owned(),
            series,
            marks,
        })
    })
}

/// Gates that did not pass as rows, the others in a line.
pub(super) fn gates(gates: &[Gate]) -> Vec<Block> {
    let others = gates.iter().filter(|gate| gate.verdict != Verdict::Passed);
    let rows = gates_of_runs(others).into_iter().map(|(name, gate)| {
        vec![
            format!("{}: {name}", gate.verdict),
            gate.seen.clone(),
            gate.needed.clone(),
            gate.what_to_run.clone().unwrap_or_default(),
        ]
    });
    let mut blocks: Vec<Block> = table(&["gate", "seen", "needed", "what to run"], rows.collect())
        .into_iter()
        .collect();
    blocks.extend(passed(gates).map(Block::Paragraph));
    blocks
}

/// Files, and what was taken from each.
pub(super) fn sources(inputs: &[InputSource]) -> Vec<Block> {
    let rows = inputs
        .iter()
        .map(|source| vec![source.origin.clone(), source.taken.clone()]);
    table(&["file", "what was taken"], rows.collect())
        .into_iter()
        .collect()
}

/// What was taken as known.
pub(super) fn known(priors: &[Prior]) -> Vec<Block> {
    if priors.is_empty() {
        return Vec::new();
    }
    let why = format!(
        "Assumed, since it was not measured here (evidence {}: {}):",
        Grade::D,
        Grade::D.meaning()
    );
    vec![Block::Paragraph(why), Block::List(lines(priors))]
}
