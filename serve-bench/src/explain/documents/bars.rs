//! Numbers, bars, tables and the frame that all these documents share, and facts by the names that they have in JSON, which are the
//! codes of variants and of what these hold.

use ::explain::{Bar as StepBar, Cause, CollectiveCost, Grade, InputSource, Prior, Range};
use program::provenance::now;
use record::unit::ByteCount;
use serde::Serialize;
use serde_json::{Map, Value};
use view::page::{Bar, BarKind, Waterfall};
use view::{Block, Document, Section, Table, evidence};

/// What is not there.
pub(super) const ABSENT: &str = "—";

/// A median with its 90% interval.
pub(crate) fn range(of: &Range, decimals: usize) -> String {
    spread(of, "", |value| {
        let text = format!("{value:.decimals$}");
        // A value that rounds to zero has no sign.
        match text.trim_start_matches(['-', '0', '.']) {
            "" => text.trim_start_matches('-').to_owned(),
            _ => text,
        }
    })
}

/// A factor with its 90% interval.
pub(super) fn times(of: &Range) -> String {
    spread(of, "x", |value| format!("{value:.2}"))
}

fn spread(of: &Range, unit: &str, number: impl Fn(f64) -> String) -> String {
    let [low, mid, high] = [of.low, of.mid, of.high].map(number);
    match of.low < of.high {
        true => format!("{mid}{unit} ({low} to {high})"),
        false => format!("{mid}{unit}"),
    }
}

/// Decimals that a step of so many ms needs.
pub(super) fn decimals(step_ms: f64) -> usize {
    if step_ms < 10.0 { 2 } else { 1 }
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
pub(super) fn detail(heading: &str, mut blocks: Vec<Block>) -> Option<Section> {
    blocks.retain(|block| match block {
        Block::List(items) => !items.is_empty(),
        Block::Table(table) => !table.rows.is_empty(),
        _ => true,
    });
    (!blocks.is_empty()).then(|| Section::detail(heading, blocks))
}

/// A table under heads that stand between bars.
pub(super) fn table<const N: usize>(
    heads: &str,
    rows: impl IntoIterator<Item = [String; N]>,
) -> Block {
    Block::Table(Table {
        heads: heads.split(" | ").map(str::to_owned).collect(),
        rows: rows.into_iter().map(Vec::from).collect(),
    })
}

/// Figures with their intervals, those that there are.
pub(super) fn ranges(heads: &str, rows: &[(&str, Option<&Range>)]) -> Block {
    let row = |(what, of): &(&str, Option<&Range>)| Some([(*what).to_owned(), range((*of)?, 2)]);
    table(heads, rows.iter().filter_map(row))
}

/// The step on fewer GPUs, its parts on more, and the step on those.
pub(super) fn step(fewer: (u32, Range), bars: &[StepBar], more: (u32, Range)) -> Block {
    let bar = |label: String, of: Range, kind: BarKind, grade: Option<Grade>| Bar {
        label,
        low_mid_high: (of.low, of.mid, of.high),
        grade: grade.map_or_else(String::new, |grade| grade.to_string()),
        kind,
    };
    let total = |(tp, of)| bar(format!("step of TP{tp}"), of, BarKind::Total, None);
    let parts = bars.iter().map(|of| {
        let (kind, label) = match of.cause {
            Cause::Ideal => (BarKind::Total, format!("ideal share of TP{}", fewer.0)),
            Cause::Unexplained => (BarKind::Unexplained, cause(of.cause)),
            _ => (BarKind::Cause, cause(of.cause)),
        };
        bar(label, of.ms, kind, of.grade)
    });
    let all = [total(fewer)].into_iter().chain(parts).chain([total(more)]);
    Block::Waterfall(Waterfall {
        title: "ms of a decode step; whiskers are 5% and 95% of the draws".to_owned(),
        unit: "ms".to_owned(),
        decimals: decimals(more.1.mid),
        bars: all.collect(),
    })
}

/// A cause by the field's words, which stand in the docs.
fn cause(of: Cause) -> String {
    match of {
        Cause::NarrowGemm => "narrow GEMMs".to_owned(),
        Cause::Unsharded => "replicated work".to_owned(),
        _ => told(&of),
    }
}

/// What its parts rest on.
pub(super) fn parts<'a>(bars: impl Iterator<Item = &'a StepBar>, step_ms: f64) -> Block {
    let digits = decimals(step_ms);
    let rows = bars.map(|of| {
        let grade = of.grade.map(|grade| grade.to_string());
        [
            cause(of.cause),
            range(&of.ms, digits),
            grade.unwrap_or_else(|| ABSENT.to_owned()),
            told(&of.basis),
        ]
    });
    let heads = "part | ms a step, median (5% to 95%) | grade | rests on";
    table(heads, rows)
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
    let heads = "collective | a step | bytes/rank | by | us | grade | read from";
    table(heads, rows)
}

pub(super) fn priors(priors: &[Prior]) -> Option<Section> {
    let rows = priors.iter().map(|of| {
        let range = format!("{} to {} {}", of.low, of.high, of.unit);
        let range = range.trim_end().to_owned();
        [of.name.clone(), range, of.source.clone()]
    });
    let table = table("prior | range | source", rows);
    detail("Assumed or published, not measured here", vec![table])
}

pub(super) fn inputs(sources: &[InputSource]) -> Option<Section> {
    let rows = sources.iter();
    let rows = rows.map(|of| [of.origin.clone(), told(&of.taken)]);
    detail("Inputs", vec![table("file | taken", rows)])
}

/// A fact as JSON has it, its code apart from the numbers and names that it holds.
pub(super) fn fields(of: &impl Serialize) -> (String, Map<String, Value>) {
    match serde_json::to_value(of) {
        Ok(value) => apart(value),
        Err(_) => Default::default(),
    }
}

fn apart(value: Value) -> (String, Map<String, Value>) {
    let mut fields = match value {
        Value::Object(fields) => fields,
        Value::String(code) => return (code.replace('_', "-"), Map::new()),
        _ => Map::new(),
    };
    let code = ["code", "is"].map(|tag| fields.remove(tag));
    let code = code.iter().flatten().find_map(Value::as_str);
    (code.unwrap_or_default().replace('_', "-"), fields)
}

/// In words, as far as there are some: `log (engine vLLM 0.13.0, tp 2)`.
pub(super) fn told(of: &impl Serialize) -> String {
    let (code, fields) = fields(of);
    beside(evidence(&code), &fields)
}

/// A line with numbers and names behind it.
pub(super) fn beside(line: &str, fields: &Map<String, Value>) -> String {
    let told = fields.iter().filter_map(|(name, value)| {
        let (value, name) = (shown(name, value)?, name.replace("gb_per_s", "GB/s"));
        let (what, unit) = match name.strip_suffix("_ms") {
            Some(what) => (what, " ms"),
            None => (name.as_str(), ""),
        };
        let what = evidence(what).replace('_', " ");
        Some(format!("{what} {value}{unit}").trim_start().to_owned())
    });
    let told: Vec<String> = told.collect();
    match told.is_empty() {
        true => line.to_owned(),
        false => format!("{line} ({})", told.join(", ")),
    }
}

fn shown(name: &str, value: &Value) -> Option<String> {
    match value {
        Value::Array(all) => {
            let all: Vec<String> = all.iter().filter_map(|one| shown(name, one)).collect();
            (!all.is_empty()).then(|| all.join(" and "))
        }
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(match (number.as_u64(), number.as_f64()?) {
            (Some(bytes), _) if name.ends_with("bytes") => ByteCount(bytes).to_string(),
            (Some(whole), _) => whole.to_string(),
            (None, part) if name == "share" => format!("{:.0}%", part * 100.0),
            (None, number) => format!("{number:.2}"),
        }),
        Value::Object(_) => {
            let (code, fields) = apart(value.clone());
            Some(beside(evidence(&code), &fields))
        }
        Value::Bool(_) | Value::Null => None,
    }
}
