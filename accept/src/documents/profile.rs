//! What a profile asks for, and which came with the program, as documents.

use view::{Block, Document, Section, Table};

use super::words::plural;
use crate::profile::{LimitRow, LimitUnit, Loaded, shipped};
use crate::report::Side;

/// The profiles that came with the program.
pub(crate) fn list() -> Document {
    let mut table = Table::under(["profile", "for"]);
    for loaded in shipped() {
        table.row([loaded.profile.name.clone(), loaded.profile.title.clone()]);
    }
    Document {
        title: "Profiles".to_owned(),
        answer: vec![format!(
            "{} came with this program.",
            plural(table.rows.len(), "profile")
        )],
        sections: vec![Section::new("", vec![Block::Table(table)])],
        ..Document::default()
    }
}

/// What a profile asks for.
pub(crate) fn document(loaded: &Loaded) -> Document {
    let profile = &loaded.profile;
    let any = |value: Option<u8>| value.map_or("any".to_owned(), |value| value.to_string());
    let mut table = Table::under(["asks for", "", "source"]);
    let mut row = |what: &str, value: String, source: &str| {
        table.row([what.to_owned(), value, source.to_owned()]);
    };
    if let Some(matches) = &profile.matches {
        let more = if matches.more == Some(true) {
            " or more"
        } else {
            ""
        };
        let value = format!(
            "{}{more} of {}, {}",
            matches.count,
            matches.names.join(" or "),
            matches.backend
        );
        row("devices", value, "");
    }
    let link = &profile.link;
    row(
        "link",
        format!("Gen{} x{}", any(link.generation), any(link.width)),
        &link.source,
    );
    row(
        "link changes",
        format!("{} at most", link.transitions_at_most),
        &link.source,
    );
    if let Some(expected) = profile.peer.expect {
        row(
            "peer access",
            expected.word().to_owned(),
            &profile.peer.source,
        );
    }
    if let Some(numa) = &profile.numa {
        row("NUMA nodes", format!("{:?}", numa.nodes), &numa.source);
    }
    let sampling = profile.sampling;
    row(
        "samples",
        format!(
            "{} a figure, up to {}",
            sampling.repeats, sampling.max_repeats
        ),
        "",
    );
    for limit in &profile.limit {
        row(&named(limit), lines(limit), &limit.source);
    }
    for (level, kinds) in &profile.required {
        row(&format!("{level} decides"), kinds.join(", "), "");
    }
    Document {
        title: format!("{}: {}", profile.name, profile.title),
        answer: vec![
            format!("{}: {}.", profile.name, profile.title),
            format!("sha256 {}, of {}.", loaded.sha256, loaded.files.join(", ")),
        ],
        sections: vec![Section::new("", vec![Block::Table(table)])],
        ..Document::default()
    }
}

fn named(row: &LimitRow) -> String {
    match &row.of {
        Some(of) => format!("{} {of}", row.check),
        None => row.check.clone(),
    }
}

fn lines(row: &LimitRow) -> String {
    let beyond = match row.good {
        Side::AtLeast => "below",
        Side::AtMost => "above",
    };
    let unit = match row.unit {
        LimitUnit::OfCeiling => " of the link",
        LimitUnit::Ratio => "",
        unit => unit.word(),
    };
    let line = |word: &str, value: Option<f64>| {
        value.map(|value| format!("{word} {beyond} {value} {unit}"))
    };
    let all = [line("fails", row.fail), line("warns", row.warn)];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
