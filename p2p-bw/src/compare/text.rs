//! A comparison as text: both files, what speaks against comparing them, the numbers with the worst first, and the sum of it.

use std::collections::BTreeMap;

use measure::unit::ByteCount;
use program::compare::{Verdict, columns, listed, numbers, section, significant};

use super::comparison::{Comparison, Lost, Only, Row, Side};

/// Tests with their counts that fit on a line.
const TESTS_A_LINE: usize = 5;

/// The whole text.
pub(super) fn of(comparison: &Comparison) -> String {
    let mut lines = vec![
        format!("A (baseline): {}", side(&comparison.a)),
        format!("B (new):      {}", side(&comparison.b)),
    ];
    if let Some((a, b)) = &comparison.simulated {
        lines.push(format!(
            "SIMULATED: A on soft box {a}, B on soft box {b}; these ratios are of arithmetic, not of measurements"
        ));
    }
    section(&mut lines, "Reservations", &comparison.reservations);
    section(&mut lines, "A says", &comparison.a.troubles);
    section(&mut lines, "B says", &comparison.b.troubles);
    if !comparison.rows.is_empty() {
        lines.push(String::new());
        lines.extend(table(&comparison.rows));
    }
    section(
        &mut lines,
        "LOST: measured in A, gone in B",
        &lost(&comparison.lost),
    );
    section(
        &mut lines,
        "NOT COMPARED: measured in A, not tried in B",
        &grouped(&comparison.untried),
    );
    section(&mut lines, "Only in A", &grouped(&comparison.only_a));
    section(&mut lines, "Only in B", &grouped(&comparison.only_b));
    lines.push(String::new());
    lines.push(sum(comparison));
    lines
        .iter()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

fn side(side: &Side) -> String {
    let parts = [
        Some(side.made_by.clone()),
        side.host.clone(),
        side.started.clone(),
        side.driver
            .as_ref()
            .map(|driver| format!("driver {driver}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("{} ({})", side.file, parts.join(", "))
}

/// `d2d_write_ce GPU0 to GPU1, 64 MiB`.
fn place(test: &str, place: &str, bytes: Option<u64>) -> String {
    let size = bytes.map_or_else(String::new, |bytes| format!(", {}", ByteCount(bytes)));
    format!("{test} {place}{size}")
}

fn table(rows: &[Row]) -> Vec<String> {
    let heads = [
        "case",
        "from, to",
        "size",
        "A",
        "B",
        "unit",
        "B/A",
        "95% interval",
        "verdict",
    ];
    let mut cells: Vec<Vec<String>> = vec![heads.map(str::to_owned).to_vec()];
    cells.extend(rows.iter().map(|row| {
        let interval = row.interval.map_or_else(
            || "none".to_owned(),
            |interval| format!("{:.3} .. {:.3}", interval.low, interval.high),
        );
        vec![
            row.number.test.clone(),
            row.place.clone(),
            size(row),
            significant(row.a),
            significant(row.b),
            row.unit.to_string(),
            format!("{:.3}", row.ratio),
            interval,
            match &row.behind {
                Some(behind) => format!("{} ({behind})", row.verdict.words()),
                None => row.verdict.words().to_owned(),
            },
        ]
    }));
    columns(&cells, &[3, 4, 6])
}

fn size(row: &Row) -> String {
    let name = |bytes: Option<u64>| {
        bytes.map_or_else(|| "?".to_owned(), |bytes| ByteCount(bytes).to_string())
    };
    if row.bytes_a == row.bytes_b {
        name(row.bytes_a)
    } else {
        format!("{} / {}", name(row.bytes_a), name(row.bytes_b))
    }
}

/// For each thing that B says the tests and numbers it says it of; a number that is alone in full.
fn lost(all: &[Lost]) -> Vec<String> {
    let mut groups: BTreeMap<&str, BTreeMap<&str, Vec<&Lost>>> = BTreeMap::new();
    for one in all {
        let tests = groups.entry(&one.words).or_default();
        tests.entry(&one.number.test).or_default().push(one);
    }
    let mut lines = Vec::new();
    for (words, tests) in groups {
        let count: usize = tests.values().map(Vec::len).sum();
        let tests: Vec<String> = tests
            .iter()
            .map(|(test, all)| match all.as_slice() {
                [one] => {
                    let place = place(test, &one.place, one.bytes);
                    format!("{place}: {} {} in A", significant(one.a), one.unit)
                }
                all => {
                    let places: Vec<String> = all.iter().map(|one| one.place.clone()).collect();
                    format!("{test}: {} ({})", numbers(all.len()), listed(&places, "; "))
                }
            })
            .collect();
        if let ([one], 1) = (tests.as_slice(), count) {
            lines.push(format!("{one}; in B {words}"));
        } else {
            lines.push(format!("in B {words}:"));
            lines.extend(tests.iter().map(|test| format!("  {test}")));
        }
    }
    lines
}

/// For each reason the tests with how many numbers they lack; a number that is alone in full.
fn grouped(only: &[Only]) -> Vec<String> {
    let mut groups: BTreeMap<Option<&str>, Vec<&Only>> = BTreeMap::new();
    for one in only {
        groups.entry(one.reason.as_deref()).or_default().push(one);
    }
    let mut lines = Vec::new();
    for (reason, all) in groups {
        if let [one] = all.as_slice() {
            let reason = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
            let place = place(&one.number.test, &one.place, one.bytes);
            lines.push(format!("{place}{reason}"));
            continue;
        }
        let mut tests: BTreeMap<&str, usize> = BTreeMap::new();
        for one in all {
            *tests.entry(&one.number.test).or_default() += 1;
        }
        let tests: Vec<String> = tests
            .iter()
            .map(|(test, count)| format!("{test} ({count})"))
            .collect();
        lines.extend(reason.map(|reason| format!("{reason}:")));
        let indent = if reason.is_some() { "  " } else { "" };
        let chunks = tests.chunks(TESTS_A_LINE);
        lines.extend(chunks.map(|chunk| format!("{indent}{}", chunk.join(", "))));
    }
    lines
}

fn sum(comparison: &Comparison) -> String {
    let total = comparison.judged();
    let (lost, untried) = (comparison.lost.len(), comparison.untried.len());
    if total == 0 && lost == 0 && untried == 0 && comparison.worse_peers == 0 {
        return if comparison.rows.is_empty() {
            "nothing to compare: no number of A is in B; see what is in one of them only"
        } else {
            "nothing is judged: see why above"
        }
        .to_owned();
    }
    let count = |verdict| comparison.count(verdict);
    let regressions = count(Verdict::Regression);
    let further = [
        (
            count(Verdict::Unclear),
            "not told from noise (measure again, with more --samples)",
        ),
        (count(Verdict::NotJudged), "not judged"),
        (untried, "of A not tried in B"),
    ];
    let further: String = further
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!(", {count} {words}"))
        .collect();
    let peers = match comparison.worse_peers {
        0 => String::new(),
        1 => ", peer access worse in 1 direction".to_owned(),
        more => format!(", peer access worse in {more} directions"),
    };
    let intervals = if comparison.rows.iter().any(|row| row.interval.is_some()) {
        "; intervals cover one run each, not what differs from run to run"
    } else {
        ""
    };
    format!(
        "{} compared: {regressions} regression{}, {lost} lost, {} faster, {} the same{further}{peers}; threshold {}%{intervals}",
        numbers(total),
        if regressions == 1 { "" } else { "s" },
        count(Verdict::Faster),
        count(Verdict::Same),
        comparison.threshold.0 * 100.0
    )
}
