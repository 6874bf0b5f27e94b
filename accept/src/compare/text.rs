//! A comparison for the terminal: what it came to in a sentence, what differs, what is worse, then every figure.

use comfy_table::{CellAlignment, Table, presets};
use measure::control;
use measure::exit;

use super::judge::{CameTo, Compared, Head, Row, Rows, too_few};

use crate::plural::plural;
use crate::run::ALONE;

/// The comparison as text; what others wrote is cleaned.
pub(super) fn text(compared: &Compared) -> String {
    let mut lines = Vec::new();
    if let Some(name) = &compared.simulated {
        lines.push(format!(
            "SIMULATED on soft box {name}: arithmetic of a box file, not a measurement"
        ));
    }
    lines.push(answer(compared));
    lines.push(String::new());
    lines.push(format!("A: {}", head(&compared.a)));
    lines.push(format!("B: {}", head(&compared.b)));
    if compared.a.profile_sha256 != compared.b.profile_sha256 {
        lines.push("the profiles differ: a verdict may have changed with its limit; figures are not touched by that".to_owned());
    }
    for difference in &compared.differences {
        let side = |side: &Option<String>| side.clone().unwrap_or_else(|| "not read".to_owned());
        let allowed = if difference.allowed {
            "allowed"
        } else {
            "version_mismatch"
        };
        lines.push(format!(
            "{} differs ({allowed}): A {}; B {}",
            difference.part,
            side(&difference.a),
            side(&difference.b)
        ));
    }
    if !compared.unknown.is_empty() {
        lines.push(format!(
            "read on neither side, so not known to be equal: {}",
            compared.unknown.join(", ")
        ));
    }
    let table = compared.rows.as_ref().map(|rows| tail(rows, &mut lines));
    // Cleaned line by line, as a line break of others must not begin one.
    let cleaned: Vec<String> = lines.iter().map(|line| control::replaced(line)).collect();
    cleaned.join("\n") + "\n" + &table.unwrap_or_default()
}

fn head(head: &Head) -> String {
    format!(
        "{} of {}, {}, profile {}{}",
        head.kind,
        head.path,
        head.started,
        head.profile,
        match head.is_alone {
            true => format!(" ({ALONE})"),
            false => String::new(),
        }
    )
}

/// What it came to, in a sentence.
fn answer(compared: &Compared) -> String {
    let Some(rows) = &compared.rows else {
        let parts: Vec<&str> = compared
            .differences
            .iter()
            .filter(|part| !part.allowed)
            .map(|part| part.part.as_str())
            .collect();
        return format!(
            "INCONCLUSIVE, version_mismatch: {} differ, so that nothing is said of the figures; --allow PART names what may differ",
            parts.join(", ")
        );
    };
    let count = |wanted: CameTo| {
        rows.figures
            .iter()
            .filter(|row| row.came_to == wanted)
            .count()
    };
    let worse = rows.checks.iter().filter(|change| change.is_worse).count();
    let told = rows.figures.len() - count(CameTo::NotTold);
    let tolerance = compared.tolerance_percent;
    let figures = format!(
        "of {}, {} slower by more than {tolerance}% with the whole 95% interval, {} maybe, {} faster by as much",
        plural(told, "figure"),
        count(CameTo::Regression),
        count(CameTo::MaybeWorse),
        count(CameTo::Faster)
    );
    // A baseline has no verdicts that could be worse.
    let has_verdicts = [&compared.a, &compared.b].map(|head| head.kind == "report");
    let checks = match has_verdicts {
        [true, true] => format!(
            "; {} worse, {} no longer given",
            plural(worse, "verdict"),
            rows.checks.len() - worse
        ),
        _ => String::new(),
    };
    let word = match compared.exit_code {
        exit::REJECTED => "WORSE",
        exit::INCONCLUSIVE => "INCONCLUSIVE",
        _ => "NOT WORSE",
    };
    format!("{word}: {figures}{checks}")
}

/// The lines on checks, and the table of figures.
fn tail(rows: &Rows, lines: &mut Vec<String>) -> String {
    for change in &rows.checks {
        let now = change.b.map_or_else(
            || "absent".to_owned(),
            |verdict| format!("{verdict:?}").to_lowercase(),
        );
        let was = format!("{:?}", change.a).to_lowercase();
        lines.push(format!(
            "{}: {was} in A, {now} in B: {}",
            change.check, change.why
        ));
    }
    if !rows.only_in_a.is_empty() {
        lines.push(format!(
            "only in A: {}: {}",
            plural(rows.only_in_a.len(), "figure"),
            rows.only_in_a.join("; ")
        ));
    }
    if rows.only_in_b > 0 {
        lines.push(format!("only in B: {}", plural(rows.only_in_b, "figure")));
    }
    if rows.figures.is_empty() {
        return String::new();
    }
    lines.push(String::new());
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "check",
        "figure",
        "A",
        "n",
        "B",
        "n",
        "unit",
        "speed of B",
        "95% interval",
        "",
    ]);
    for row in &rows.figures {
        table.add_row(cells(row));
    }
    for column in [2, 3, 4, 5, 7] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let shown: Vec<String> = table
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect();
    shown.join("\n") + "\n(speed of B: as a part of A's; for a time, A's median over B's)\n"
}

fn cells(row: &Row) -> Vec<String> {
    let interval = match row.speed.interval {
        Some((low, high)) => format!("{low:.3} .. {high:.3}"),
        None => too_few(),
    };
    let came_to = match row.came_to {
        CameTo::Regression => "REGRESSION",
        CameTo::MaybeWorse => "maybe worse",
        CameTo::NotTold | CameTo::Held => "",
        CameTo::Faster => "faster",
    };
    let words = [&row.check, &row.what, &row.unit].map(|word| control::replaced(word));
    let [check, what, unit] = words;
    vec![
        check,
        what,
        format!("{:.2}", row.a),
        row.a_n.to_string(),
        format!("{:.2}", row.b),
        row.b_n.to_string(),
        unit,
        format!("{:.3}", row.speed.value),
        interval,
        came_to.to_owned(),
    ]
}
