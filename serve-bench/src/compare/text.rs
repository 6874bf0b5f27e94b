//! A comparison of two serving results as text: why not, if not; both files; the metrics; and the sum of it.

use program::compare::{columns, numbers, section, significant};

use super::comparison::{Comparison, Row, Side};
use super::show;
use super::verdict::Verdict;

/// The whole text.
pub(super) fn of(comparison: &Comparison) -> String {
    let mut lines = Vec::new();
    if !comparison.refused.is_empty() {
        lines.push("NOT COMPARABLE:".to_owned());
        let reasons = comparison.refused.iter();
        lines.extend(reasons.map(|reason| format!("  {reason}")));
        lines.push(String::new());
    }
    lines.push(format!("A (baseline): {}", side(&comparison.a)));
    lines.push(format!("B (new):      {}", side(&comparison.b)));
    if let Some((a, b)) = &comparison.simulated {
        lines.push(format!(
            "SIMULATED: A on soft box {a}, B on soft box {b}; these ratios are of arithmetic, not of measurements"
        ));
    }
    section(&mut lines, "Reservations", &comparison.reservations);
    section(
        &mut lines,
        "Found in A",
        &show::words(&comparison.a.findings),
    );
    section(
        &mut lines,
        "Found in B",
        &show::words(&comparison.b.findings),
    );
    if !comparison.rows.is_empty() {
        lines.push(String::new());
        lines.extend(table(&comparison.rows));
        for (title, only) in [
            ("Only in A", &comparison.only_a),
            ("Only in B", &comparison.only_b),
        ] {
            section(&mut lines, title, only);
        }
        lines.push(String::new());
        lines.push(
            "intervals: bootstrap over requests, where both files have every request; they cover what varies between requests of a \
             run, not from run to run; of an open loop over blocks of successive requests, and none where these still resemble each other; \
             rates and p99 are one number a run and have none, nor has a median between two groups of requests; without one there is no verdict"
                .to_owned(),
        );
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
        Some(show::format_words(side.format, side.ours).to_owned()),
        side.model.clone(),
        side.tp.map(|tp| format!("TP{tp}")),
        Some(format!("{} completed", side.completed)),
        side.failed.map(|failed| format!("{failed} failed")),
        side.in_flight.map(|seen| format!("{seen:.1} in flight")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("{} ({})", side.file, parts.join(", "))
}

fn table(rows: &[Row]) -> Vec<String> {
    let heads = ["metric", "unit", "A", "B", "B/A", "95% interval", "verdict"];
    let mut cells: Vec<Vec<String>> = vec![heads.map(str::to_owned).to_vec()];
    cells.extend(rows.iter().map(|row| {
        let interval = row.interval.map_or_else(
            || "—".to_owned(),
            |interval| format!("{:.3} .. {:.3}", interval.low, interval.high),
        );
        vec![
            row.metric.clone(),
            row.unit.to_owned(),
            significant(row.a),
            significant(row.b),
            format!("{:.3}", row.ratio),
            interval,
            row.verdict.map_or("—", Verdict::words).to_owned(),
        ]
    }));
    columns(&cells, &[2, 3, 4])
}

fn sum(comparison: &Comparison) -> String {
    if comparison.rows.is_empty() {
        return if comparison.refused.is_empty() {
            "nothing to compare: no number of A is in B".to_owned()
        } else {
            "no ratio is given; measure both alike, or see the numbers all the same with --force"
                .to_owned()
        };
    }
    let forced = if comparison.refused.is_empty() {
        ""
    } else {
        "; compared by force, see the reasons on top"
    };
    let compared = numbers(comparison.rows.len());
    let judged = comparison.judged();
    if judged == 0 {
        return format!(
            "{compared} compared and none judged: no interval; keep each request (--save-detailed, or our own records), and repeat each \
             run{forced}"
        );
    }
    let count = |verdict| comparison.count(verdict);
    let regressions = count(Verdict::Regression);
    format!(
        "{compared} compared, {judged} judged within one run a side: {regressions} regression{}, {} faster, {} differ by no more than runs may, \
         {} the same, {} not told from noise; threshold {}% and {}% from run to run{forced}\n\
         next: repeat each run by hand and compare A with A, too: what differs there is noise, and what holds in every pair is not",
        if regressions == 1 { "" } else { "s" },
        count(Verdict::Faster),
        count(Verdict::Differs),
        count(Verdict::Same),
        count(Verdict::Unclear),
        comparison.threshold.0 * 100.0,
        comparison.run_to_run * 100.0,
    )
}
