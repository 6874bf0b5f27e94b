//! A report as text: simulated or not, the verdict and what decides it, what to do, tables by group, and what was not looked at.
//!
//! No colour, at most 120 columns; every text of others was cleaned before.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::answer;
use super::words::{self, ABSENT};
use crate::report::{Check, Evidence, Report, Setting, Verdict};

/// Columns of a page of text.
const WIDTH: usize = 120;

/// The whole text; a few lines where no device was looked at, of which all that there is to say is why.
pub(crate) fn text(report: &Report) -> String {
    let report = &super::texts::cleaned(report);
    let mut text = String::new();
    if let Some(sentences) = answer::without_devices(report) {
        for sentence in sentences {
            wrapped(&mut text, "", &sentence);
        }
        wrapped(&mut text, "", &words::made_by(report));
        wrapped(&mut text, "", &words::ending(report));
        return text;
    }
    wrapped(&mut text, "", &answer::opening(report));
    text.push('\n');
    for sentence in answer::answer(report) {
        wrapped(&mut text, "", &sentence);
    }
    wrapped(&mut text, "", &words::made_by(report));
    points(&mut text, "CAUTION", &report.notes);
    points(&mut text, "What to do", &answer::to_do(report));
    for (title, checks) in words::grouped(report) {
        group(&mut text, title, &checks);
    }
    points(&mut text, "Not looked at", &answer::not_looked_at(report));
    devices(&mut text, report);
    settings(&mut text, &report.settings);
    text.push('\n');
    wrapped(&mut text, "", &words::ending(report));
    text
}

/// A heading and a line for each point; nothing without points.
fn points(text: &mut String, heading: &str, points: &[String]) {
    if points.is_empty() {
        return;
    }
    text.push_str(&format!("\n{heading}\n"));
    for point in points {
        wrapped(text, "  - ", point);
    }
}

/// More checks of a kind than this that are all good are one row.
const FOLDED: usize = 4;

/// One row for many good checks of a kind that have the same limit and were seen alike, or measured in one unit; `None` where each stands
/// by itself. The interval is from the lowest lower end to the highest upper one.
fn folded(kind: &str, checks: &[&Check]) -> Option<[String; 6]> {
    let first = checks.first()?;
    let is_like = |check: &&Check| check.verdict == Verdict::Pass && check.limit == first.limit;
    if checks.len() <= FOLDED || !checks.iter().all(is_like) {
        return None;
    }
    let all: Vec<&Evidence> = checks
        .iter()
        .filter_map(|check| words::main_evidence(check))
        .collect();
    let (figure, interval, fewest) = spanned(&all).or_else(|| seen_alike(&all))?;
    (all.len() == checks.len()).then(|| {
        [
            format!("{kind}, all {}", checks.len()),
            figure,
            interval,
            format!(">= {fewest}"),
            words::held_against(first),
            words::verdict(first),
        ]
    })
}

/// Figures of one unit: from the least to the largest, the span of their intervals, the fewest samples.
fn spanned(all: &[&Evidence]) -> Option<(String, String, usize)> {
    let (mut values, mut ends, mut fewest) = (Vec::new(), Vec::new(), usize::MAX);
    let mut units: Vec<&str> = Vec::new();
    for evidence in all {
        let Evidence::Measured {
            value,
            unit,
            n,
            low,
            high,
            ..
        } = evidence
        else {
            return None;
        };
        values.push(*value);
        ends.push(low.zip(*high));
        units.push(unit);
        fewest = fewest.min(*n);
    }
    let unit = units
        .first()
        .filter(|unit| units.iter().all(|other| other == *unit))?;
    let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let figure = format!(
        "{} .. {}",
        words::number(least(&values)),
        words::quantity(most(&values), unit)
    );
    let interval = match ends.into_iter().collect::<Option<Vec<_>>>() {
        Some(ends) => {
            let (lows, highs): (Vec<f64>, Vec<f64>) = ends.into_iter().unzip();
            format!(
                "{} .. {}",
                words::number(least(&lows)),
                words::number(most(&highs))
            )
        }
        None => ABSENT.to_owned(),
    };
    Some((figure, interval, fewest))
}

/// A state that all of them have.
fn seen_alike(all: &[&Evidence]) -> Option<(String, String, usize)> {
    let Some(Evidence::Seen {
        value, expected, ..
    }) = all.first()
    else {
        return None;
    };
    let counts = all.iter().map(|evidence| match evidence {
        Evidence::Seen {
            value: own,
            expected: held,
            n,
            ..
        } if own == value && held == expected => Some(*n),
        _ => None,
    });
    let fewest = counts.collect::<Option<Vec<usize>>>()?.into_iter().min()?;
    Some((value.clone(), ABSENT.to_owned(), fewest))
}

/// A check in cells: itself, figure, interval, how many, limit, verdict.
pub(super) fn row(check: &Check) -> [String; 6] {
    let [figure, interval, n] = words::main_evidence(check)
        .map_or_else(|| [ABSENT, ABSENT, ABSENT].map(str::to_owned), words::cells);
    [
        check.id.clone(),
        figure,
        interval,
        n,
        words::held_against(check),
        words::verdict(check),
    ]
}

/// The checks of a group as a table, what their limits rest on, and why those that are not good are not.
fn group(text: &mut String, title: &str, checks: &[&Check]) {
    text.push_str(&format!("\n{title}\n"));
    let mut bases: Vec<String> = Vec::new();
    let mut table = table(["check", "figure", "95% interval", "n", "limit", "verdict"]);
    let mut kinds: Vec<(&str, Vec<&Check>)> = Vec::new();
    for check in checks {
        match kinds.iter_mut().find(|(kind, _)| *kind == check.kind) {
            Some((_, all)) => all.push(check),
            None => kinds.push((&check.kind, vec![check])),
        }
    }
    for (kind, all) in kinds {
        let folded = folded(kind, &all);
        let shown = if folded.is_some() {
            &all[..1]
        } else {
            &all[..]
        };
        for check in shown {
            let basis = check.limit.as_ref().map(words::basis);
            let mut row = folded.clone().unwrap_or_else(|| row(check));
            if let Some(basis) = basis {
                let place = bases.iter().position(|known| *known == basis);
                let place = place.unwrap_or_else(|| {
                    bases.push(basis);
                    bases.len() - 1
                });
                row[4] = format!("{} [{}]", row[4], place + 1);
            }
            table.add_row(row);
        }
    }
    for index in [1, 2, 3] {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    text.push_str(&indented(&table));
    for check in checks.iter().filter(|check| check.verdict != Verdict::Pass) {
        let (verdict, code) = (
            check.verdict.word().to_uppercase(),
            check.reason.code.word(),
        );
        wrapped(
            text,
            "  ",
            &format!("{verdict} {} ({code}): {}", check.id, check.reason.text),
        );
    }
    for (index, basis) in bases.iter().enumerate() {
        wrapped(text, "  ", &format!("[{}] {basis}", index + 1));
    }
}

fn devices(text: &mut String, report: &Report) {
    if report.devices.is_empty() {
        return;
    }
    text.push_str("\nDevices\n");
    let mut table = table(["", "name", "slot", "node", "memory", "identity"]);
    for row in words::device_rows(report) {
        table.add_row(row);
    }
    text.push_str(&indented(&table));
}

fn settings(text: &mut String, settings: &[Setting]) {
    if settings.is_empty() {
        return;
    }
    text.push_str("\nSettings (not judged)\n");
    let (read, not_read): (Vec<&Setting>, Vec<&Setting>) =
        settings.iter().partition(|setting| setting.value.is_some());
    // A guest, a container and a soft box do not show most of them, which would hide those that are shown.
    let shown = if read.is_empty() { &not_read } else { &read };
    let mut table = table(["setting", "value"]);
    for setting in shown {
        table.add_row(words::setting_row(setting));
    }
    text.push_str(&indented(&table));
    if !read.is_empty() && !not_read.is_empty() {
        let many = not_read.len();
        text.push_str(&format!(
            "  not read: {many} more; the page and --json say why\n"
        ));
    }
}

/// A table without borders that is no wider than the page.
pub(super) fn table<const N: usize>(heads: [&str; N]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(WIDTH - 1).unwrap_or(u16::MAX))
        .set_header(heads);
    table
}

/// A table's text, indented, without trailing blanks.
pub(super) fn indented(table: &Table) -> String {
    let rows = table.to_string();
    rows.lines()
        .map(|row| format!(" {}\n", row.trim_end()))
        .collect()
}

/// Words after a lead, on as many lines as they take, the later ones under the first.
pub(super) fn wrapped(text: &mut String, lead: &str, words: &str) {
    let indent = " ".repeat(lead.chars().count());
    let (mut line, mut begun) = (lead.to_owned(), false);
    for word in words.split_whitespace().flat_map(split_long) {
        if begun && line.chars().count() + 1 + word.chars().count() > WIDTH {
            text.push_str(line.trim_end());
            text.push('\n');
            line = indent.clone();
            begun = false;
        }
        if begun {
            line.push(' ');
        }
        line.push_str(&word);
        begun = true;
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

/// A word in pieces that fit on a line.
fn split_long(word: &str) -> Vec<String> {
    let characters: Vec<char> = word.chars().collect();
    characters
        .chunks(WIDTH - 10)
        .map(|piece| piece.iter().collect())
        .collect()
}
