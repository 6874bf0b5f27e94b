//! The waterfall as a table.

use comfy_table::{CellAlignment, Table, presets};

use crate::attribute::{Attribution, Cause, Grade, StepFrom};
use crate::range::Range;

/// What a cell shows where there is nothing to show.
const ABSENT: &str = "—";

/// A step of less than this many milliseconds is told in hundredths.
const SHORT_MS: f64 = 10.0;

/// Decimals of the milliseconds of a step and of its parts, the same wherever they are shown.
#[must_use]
pub fn step_decimals(attribution: &Attribution) -> usize {
    match attribution.step_of_several.mid < SHORT_MS {
        true => 2,
        false => 1,
    }
}

pub(super) fn waterfall(attribution: &Attribution, simulated: bool) -> String {
    let measured = match (simulated, attribution.step_from) {
        (true, _) => "simulated",
        (false, StepFrom::Latency) => "worked out",
        (false, StepFrom::Tpot) if attribution.is_by_median => "worked out",
        (false, StepFrom::DecodeGap | StepFrom::Tpot) => "measured",
    };
    let decimals = step_decimals(attribution);
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(["ms a step", "median", "5%", "95%", "grade"]);
    let mut row = |name: String, ms: &Range, signed: bool, grade: String| {
        let number = |value: f64| Range::number(value, decimals, signed);
        table.add_row([name, number(ms.mid), number(ms.low), number(ms.high), grade]);
    };
    row(
        "step on one GPU".to_owned(),
        &attribution.step_of_one,
        false,
        measured.to_owned(),
    );
    for bar in &attribution.bars {
        let grade = match (bar.cause, bar.grade) {
            (_, Some(grade)) => grade.to_string(),
            (Cause::Ideal, None) => "arithmetic".to_owned(),
            (_, None) => ABSENT.to_owned(),
        };
        row(
            bar.cause.to_string(),
            &bar.ms,
            bar.cause != Cause::Ideal,
            grade,
        );
    }
    row(
        format!("step on {}", attribution.tp),
        &attribution.step_of_several,
        false,
        measured.to_owned(),
    );
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_cell_alignment(match index {
            0 | 4 => CellAlignment::Left,
            _ => CellAlignment::Right,
        });
    }
    let lines: Vec<String> = table
        .to_string()
        .lines()
        .map(|line| format!(" {}\n", line.trim_end()))
        .collect();
    format!(
        "{} grade {}; medians of {} draws, each by itself, so that they need not add up\n\n",
        lines.concat(),
        grades(attribution),
        attribution.draws
    )
}

/// What the grades of the bars stand for.
#[must_use]
pub fn grades(attribution: &Attribution) -> String {
    let of_bars = attribution.bars.iter().filter_map(|bar| bar.grade);
    let mut grades: Vec<Grade> = of_bars.collect();
    grades.sort_unstable();
    grades.dedup();
    let grades: Vec<String> = grades
        .iter()
        .map(|grade| format!("{grade}: {}", grade.meaning()))
        .collect();
    grades.join(", ")
}
