//! Numbers, bars, tables and the frame that all these documents share.

use ::explain::{Bar as StepBar, Cause, CollectiveCost, Grade, InputSource, Prior, Range};
use program::provenance::now;
use record::unit::ByteCount;
use view::page::{Bar, BarKind, Waterfall};
use view::{Block, Document, Section, Table, Tone};

use super::told::told;

/// What is not there.
pub(super) const ABSENT: &str = "—";

/// A median with its 90% interval.
pub(crate) fn range(of: &Range, decimals: usize) -> String {
    let number = |value: f64| {
        let text = format!("{value:.decimals$}");
        // A value that rounds to zero has no sign.
        let is_zero = text.chars().all(|c| matches!(c, '-' | '0' | '.'));
        if is_zero {
            text.trim_start_matches('-').to_owned()
        } else {
            text
        }
    };
    match of.low < of.high {
        true => format!(
            "{} ({} to {})",
            number(of.mid),
            number(of.low),
            number(of.high)
        ),
        false => number(of.mid),
    }
}

/// A factor with its 90% interval.
pub(super) fn times(of: &Range) -> String {
    match of.low < of.high {
        true => format!("{:.2}x ({:.2} to {:.2})", of.mid, of.low, of.high),
        false => format!("{:.2}x", of.mid),
    }
}

/// Decimals that a step of so many ms needs.
pub(super) fn decimals(step_ms: f64) -> usize {
    if step_ms < 10.0 { 2 } else { 1 }
}

/// Minutes, or seconds where it takes few.
pub(super) fn takes(minutes: f64) -> String {
    match minutes < 1.5 {
        true => format!("about {:.0} s", minutes * 60.0),
        false => format!("about {minutes:.0} min"),
    }
}

/// A frame: title and what made it.
pub(super) fn frame(title: String, simulated: Option<String>, program: &str) -> Document {
    Document {
        title,
        simulated,
        made_by: format!("tplens {}, {program}, {}", env!("CARGO_PKG_VERSION"), now()),
        ..Document::default()
    }
}

/// Nothing found is no section.
pub(super) fn detail(heading: &str, blocks: Vec<Block>) -> Option<Section> {
    let is_empty = |block: &Block| match block {
        Block::List(items) => items.is_empty(),
        Block::Table(table) => table.rows.is_empty(),
        _ => false,
    };
    let blocks: Vec<Block> = blocks
        .into_iter()
        .filter(|block| !is_empty(block))
        .collect();
    (!blocks.is_empty()).then(|| Section::detail(heading, blocks))
}

pub(super) fn table<const N: usize>(heads: [&str; N], rows: Vec<[String; N]>) -> Block {
    let mut table = Table::under(heads);
    rows.into_iter().for_each(|row| table.row(row));
    Block::Table(table)
}

/// Figures with their intervals, those that there are.
pub(super) fn ranges(heads: [&str; 2], rows: &[(&str, Option<&Range>)]) -> Block {
    let rows = rows.iter();
    let rows = rows.filter_map(|(what, of)| Some([(*what).to_owned(), range((*of)?, 2)]));
    table(heads, rows.collect())
}

fn bar(label: &str, of: Range, kind: BarKind, grade: Option<Grade>) -> Bar {
    Bar {
        label: label.to_owned(),
        low_mid_high: (of.low, of.mid, of.high),
        grade: grade.map_or_else(String::new, |grade| grade.to_string()),
        kind,
    }
}

fn waterfall(decimals: usize, bars: Vec<Bar>) -> Block {
    let title = "ms of a decode step; whiskers are 5% and 95% of the draws".to_owned();
    Block::Waterfall(Waterfall {
        title,
        unit: "ms".to_owned(),
        decimals,
        bars,
    })
}

/// The step on fewer GPUs, its parts on more, and the step on those.
pub(super) fn step(fewer: (u32, Range), bars: &[StepBar], more: (u32, Range)) -> Block {
    let total = |(tp, of): (u32, Range)| bar(&format!("step of TP{tp}"), of, BarKind::Total, None);
    let parts = bars.iter().map(|of| {
        let kind = match of.cause {
            Cause::Ideal => {
                let label = format!("ideal share of TP{}", fewer.0);
                return bar(&label, of.ms, BarKind::Total, of.grade);
            }
            Cause::Unexplained => BarKind::Unexplained,
            _ => BarKind::Cause,
        };
        bar(&told(&of.cause), of.ms, kind, of.grade)
    });
    let all = [total(fewer)].into_iter().chain(parts).chain([total(more)]);
    waterfall(decimals(more.1.mid), all.collect())
}

/// What its parts rest on.
pub(super) fn parts<'a>(bars: impl Iterator<Item = &'a StepBar>, step_ms: f64) -> Block {
    let rows = bars.map(|of| {
        let grade = of
            .grade
            .map_or_else(|| ABSENT.to_owned(), |grade| grade.to_string());
        [
            told(&of.cause),
            range(&of.ms, decimals(step_ms)),
            grade,
            told(&of.basis),
        ]
    });
    let heads = ["part", "ms a step, median (5% to 95%)", "grade", "rests on"];
    table(heads, rows.collect())
}

pub(super) fn collectives(costs: &[CollectiveCost]) -> Block {
    let rows = costs.iter().map(|cost| {
        [
            format!("{}, {}", cost.kind, cost.role),
            cost.count.to_string(),
            ByteCount(cost.bytes_per_rank).to_string(),
            cost.path.to_string(),
            format!("{:.1}", cost.us),
            cost.grade.to_string(),
            told(&cost.source),
        ]
    });
    let heads = [
        "collective",
        "a step",
        "bytes/rank",
        "by",
        "us",
        "grade",
        "read from",
    ];
    table(heads, rows.collect())
}

pub(super) fn priors(priors: &[Prior]) -> Option<Section> {
    let rows = priors.iter().map(|of| {
        let range = format!("{} to {} {}", of.low, of.high, of.unit);
        [
            of.name.clone(),
            range.trim_end().to_owned(),
            of.source.clone(),
        ]
    });
    let rows = rows.collect();
    detail(
        "Assumed or published, not measured here",
        vec![table(["prior", "range", "source"], rows)],
    )
}

pub(super) fn inputs(sources: &[InputSource]) -> Option<Section> {
    let rows = sources
        .iter()
        .map(|of| [of.origin.clone(), told(&of.taken)]);
    detail("Inputs", vec![table(["file", "taken"], rows.collect())])
}

/// The tone of a grade.
pub(super) fn tone(is_measured: bool) -> Tone {
    if is_measured { Tone::Good } else { Tone::Open }
}
