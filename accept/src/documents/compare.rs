//! Two runs beside each other as a document.

use record::exit;
use view::{Block, Document, Item, Next, Section, Table, Tone};

use super::words::{cut, number, plural};
use crate::compare::judge::{CameTo, Compared, Head, Row, Rows};

/// Findings that are named.
const NAMED: usize = 8;

/// The document of a comparison.
pub(crate) fn document(compared: &Compared) -> Document {
    let mut findings: Vec<Item> = compared.rows.iter().flat_map(findings).collect();
    findings.extend(compared.differences.iter().map(|difference| {
        let side = |side: &Option<String>| side.as_deref().map_or("not read".to_owned(), cut);
        let item = Item::of(
            Tone::Warning,
            format!(
                "{}: {} in A, {} in B",
                difference.part,
                side(&difference.a),
                side(&difference.b)
            ),
        );
        match difference.allowed {
            true => item,
            false => item.coded("baseline-differs"),
        }
    }));
    if let more @ 1.. = findings.len().saturating_sub(NAMED) {
        findings.truncate(NAMED);
        findings.push(Item::plain(format!("{more} more: -v shows all.")));
    }
    let refused = compared.differences.iter().filter(|part| !part.allowed);
    let parts: Vec<&str> = refused.map(|part| part.part.as_str()).collect();
    let mut next = Vec::new();
    if compared.rows.is_none() {
        next.push(Next::plain(format!(
            "Compare like machines, or let parts differ: --allow {}",
            parts.join(",")
        )));
    }
    let mut sections: Vec<Section> = compared.rows.iter().flat_map(sections).collect();
    let mut sides = Table::under(["", "", "run", "profile", "file"]);
    for (name, head) in [("A", &compared.a), ("B", &compared.b)] {
        let Head {
            path,
            kind,
            started,
            profile,
            ..
        } = head;
        sides.row([name, kind, started, profile, path].map(str::to_owned));
    }
    sections.push(Section::new("Compared", vec![Block::Table(sides)]));
    Document {
        title: answer(compared),
        simulated: compared.simulated.clone(),
        tone: match compared.exit_code {
            exit::REJECTED => Tone::Bad,
            exit::INCONCLUSIVE => Tone::Warning,
            _ => Tone::Good,
        },
        answer: vec![answer(compared)],
        findings,
        next,
        sections,
        made_by: format!("tplens accept compare {}", env!("CARGO_PKG_VERSION")),
    }
}

fn answer(compared: &Compared) -> String {
    let Some(rows) = &compared.rows else {
        return "INCONCLUSIVE - the machines differ, so that figures are not compared.".to_owned();
    };
    let count = |wanted: CameTo| {
        rows.figures
            .iter()
            .filter(|row| row.came_to == wanted)
            .count()
    };
    let word = match compared.exit_code {
        exit::REJECTED => "WORSE",
        exit::INCONCLUSIVE => "INCONCLUSIVE",
        _ => "NOT WORSE",
    };
    let worse = rows.checks.iter().filter(|change| change.is_worse).count();
    format!(
        "{word} - {}: {} slower by more than {}%, {} perhaps, {} faster; {}.",
        plural(rows.figures.len(), "figure"),
        count(CameTo::Regression),
        number(compared.tolerance_percent),
        count(CameTo::MaybeWorse),
        count(CameTo::Faster),
        match worse {
            0 => "no verdict is worse".to_owned(),
            worse => format!("{} worse", plural(worse, "verdict")),
        }
    )
}

fn findings(rows: &Rows) -> Vec<Item> {
    let slower = rows.figures.iter().filter_map(|row| {
        let tone = match row.came_to {
            CameTo::Regression => Tone::Bad,
            CameTo::MaybeWorse => Tone::Warning,
            CameTo::NotTold | CameTo::Held | CameTo::Faster => return None,
        };
        let line = format!(
            "{}: {} to {} {}, {:.0}% of A",
            row.check,
            number(row.a),
            number(row.b),
            row.unit,
            row.speed.value * 100.0
        );
        Some(Item::of(tone, line).coded("below-baseline"))
    });
    let changed = rows.checks.iter().map(|change| {
        let tone = if change.is_worse {
            Tone::Bad
        } else {
            Tone::Warning
        };
        let now = change.b.map_or("not there", crate::report::Verdict::word);
        Item::of(
            tone,
            format!("{}: {} in A, {now} in B", change.check, change.a.word()),
        )
    });
    let gone = (!rows.only_in_a.is_empty()).then(|| {
        Item::of(
            Tone::Warning,
            format!("{} only in A", plural(rows.only_in_a.len(), "figure")),
        )
    });
    changed.chain(slower).chain(gone).collect()
}

fn sections(rows: &Rows) -> Option<Section> {
    let mut table = Table::under([
        "check",
        "figure",
        "A",
        "n",
        "B",
        "n",
        "unit",
        "B of A",
        "95% interval",
    ]);
    for row in &rows.figures {
        let Row {
            check,
            what,
            unit,
            a,
            a_n,
            b,
            b_n,
            speed,
            ..
        } = row;
        let interval = speed
            .interval
            .map(|(low, high)| format!("{low:.3}-{high:.3}"));
        table.row([
            check.clone(),
            what.clone(),
            number(*a),
            a_n.to_string(),
            number(*b),
            b_n.to_string(),
            unit.clone(),
            format!("{:.3}", speed.value),
            interval.unwrap_or_else(|| "too few samples".to_owned()),
        ]);
    }
    (!rows.figures.is_empty()).then(|| Section::detail("Figures", vec![Block::Table(table)]))
}
