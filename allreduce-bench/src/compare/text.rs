//! A comparison as text: both files, what speaks against comparing them, the times with the worst first, and the sum of it.

use std::collections::BTreeMap;

use measure::unit::ByteCount;
use program::compare::{Verdict, columns, listed, numbers, section, significant};

use super::comparison::{Comparison, Only, Row, Side};

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
    for (title, all) in [
        ("LOST: measured in A, gone in B", &comparison.lost),
        (
            "NOT COMPARED: measured in A, not tried in B",
            &comparison.untried,
        ),
        ("Only in A", &comparison.only_a),
        ("Only in B", &comparison.only_b),
    ] {
        section(&mut lines, title, &grouped(all));
    }
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
        side.library.clone(),
        side.transport.clone(),
        side.driver
            .as_ref()
            .map(|driver| format!("driver {driver}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("{} ({})", side.file, parts.join(", "))
}

fn table(rows: &[Row]) -> Vec<String> {
    let heads = [
        "call",
        "size a rank",
        "A us",
        "B us",
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
            row.call.to_string(),
            ByteCount(row.bytes_per_rank).to_string(),
            significant(row.a),
            significant(row.b),
            format!("{:.3}", row.ratio),
            interval,
            row.verdict.words().to_owned(),
        ]
    }));
    columns(&cells, &[2, 3, 4])
}

/// For each call and reason the sizes.
fn grouped(all: &[Only]) -> Vec<String> {
    let mut groups: BTreeMap<(String, Option<&str>), Vec<String>> = BTreeMap::new();
    for one in all {
        let group = (one.call.to_string(), one.reason.as_deref());
        let sizes = groups.entry(group).or_default();
        sizes.push(ByteCount(one.bytes_per_rank).to_string());
    }
    groups
        .into_iter()
        .map(|((call, reason), sizes)| {
            let reason = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
            format!("{call}: {}{reason}", listed(&sizes, ", "))
        })
        .collect()
}

fn sum(comparison: &Comparison) -> String {
    let (lost, untried) = (comparison.lost.len(), comparison.untried.len());
    if comparison.rows.is_empty() && lost == 0 && untried == 0 {
        return "nothing to compare: no number of A is in B; see what is in one of them only"
            .to_owned();
    }
    let count = |verdict| comparison.count(verdict);
    let regressions = count(Verdict::Regression);
    let further = [
        (
            count(Verdict::Unclear),
            "not told from noise (measure again, with more --samples or --launches)",
        ),
        (count(Verdict::NotJudged), "not judged"),
        (untried, "of A not tried in B"),
    ];
    let further: String = further
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!(", {count} {words}"))
        .collect();
    format!(
        "{} compared: {regressions} regression{}, {lost} lost, {} faster, {} the same{further}; threshold {}%",
        numbers(comparison.judged()),
        if regressions == 1 { "" } else { "s" },
        count(Verdict::Faster),
        count(Verdict::Same),
        comparison.threshold.0 * 100.0
    )
}
