//! Records as CSV: one line per number, with everything a spreadsheet needs and nothing it would run.

use super::clean::{clean, simulated};
use crate::record::{Endpoint, Links, Outcome, Payload, Point, Record, Status, Verification};

const COLUMNS: [&str; 21] = [
    "case",
    "quantity",
    "from",
    "to",
    "bytes",
    "outcome",
    "median",
    "unit",
    "low",
    "high",
    "n",
    "copies_per_sample",
    "clock",
    "gate",
    "path",
    "ceiling_gb_per_s",
    "fraction",
    "verification",
    "basis_or_reason",
    "run",
    "simulated",
];

/// The numbers of a `p2p-bw` record, a header line first.
#[must_use]
pub fn links(record: &Record) -> String {
    let record = &clean(record);
    let Payload::Links(links) = &record.payload;
    let simulated = simulated(record).unwrap_or_default();
    let run = match &record.status {
        Status::Complete => "complete",
        Status::Interrupted { .. } => "interrupted",
        Status::Broken => "broken off",
        Status::Refused { .. } => "refused",
    };
    let mut text = COLUMNS.join(",") + "\n";
    for point in &links.points {
        for row in rows(point, links, run, &simulated) {
            let cells: Vec<String> = row.iter().map(|cell| escape(cell)).collect();
            text.push_str(&cells.join(","));
            text.push('\n');
        }
    }
    text
}

fn rows(point: &Point, links: &Links, run: &str, simulated: &str) -> Vec<[String; 21]> {
    let end = |end| match end {
        Endpoint::Host => "host".to_owned(),
        Endpoint::Device(position) => links
            .devices
            .get(position)
            .map_or_else(String::new, |device| device.label.clone()),
    };
    let mut base: [String; 21] = std::array::from_fn(|_| String::new());
    base[0].clone_from(&point.case);
    base[2] = end(point.from);
    base[3] = end(point.to);
    base[4] = point.bytes.to_string();
    run.clone_into(&mut base[19]);
    simulated.clone_into(&mut base[20]);
    let (word, reason) = match &point.outcome {
        Outcome::Measured { .. } => ("measured", ""),
        Outcome::NotApplicable { reason } => ("not_applicable", reason.as_str()),
        Outcome::Skipped { reason } => ("skipped", reason.as_str()),
        Outcome::Failed { reason } => ("failed", reason.as_str()),
        Outcome::Hang { doing } => ("hang", doing.as_str()),
    };
    word.clone_into(&mut base[5]);
    reason.clone_into(&mut base[18]);
    let Outcome::Measured {
        quantities,
        verification,
        link,
        ..
    } = &point.outcome
    else {
        return vec![base];
    };
    let number = |value: f64| format!("{value}");
    let row = |named: &crate::record::NamedQuantity| {
        let mut row = base.clone();
        let quantity = &named.quantity;
        row[1].clone_from(&named.name);
        if named.name == "back" {
            row.swap(2, 3);
        }
        // A number that belongs to wrong data stands for nothing and is not written.
        if !matches!(verification, Verification::WrongData { .. }) {
            row[6] = number(quantity.value);
            row[8] = quantity
                .interval
                .map_or_else(String::new, |interval| number(interval.low));
            row[9] = quantity
                .interval
                .map_or_else(String::new, |interval| number(interval.high));
            row[16] = link
                .fraction
                .get(&named.name)
                .map_or_else(String::new, |fraction| number(*fraction));
        }
        row[7] = quantity.unit.to_string();
        row[10] = quantity.n.to_string();
        row[11] = quantity.timing.copies_per_sample.to_string();
        row[12] = word_of(&quantity.timing.source);
        row[13] = word_of(&quantity.timing.gate);
        row[14] = link
            .path
            .map_or_else(String::new, |path| path.name().to_owned());
        let doubled = if named.name == "total" { 2.0 } else { 1.0 };
        row[15] = link
            .ceiling_gb_per_s
            .map_or_else(String::new, |ceiling| number(ceiling * doubled));
        row[17] = match verification {
            Verification::Passed => "passed",
            Verification::WrongData { .. } => "WRONG DATA",
            Verification::NotAsked => "not asked",
        }
        .to_owned();
        row[18].clone_from(&link.basis);
        row
    };
    quantities.iter().map(row).collect()
}

/// The word that the JSON has for a value.
fn word_of(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// Quoted where needed; a leading character that a spreadsheet takes for a formula gets an apostrophe.
fn escape(cell: &str) -> String {
    let numeric = cell.parse::<f64>().is_ok();
    let text = if cell.starts_with(['=', '+', '-', '@']) && !numeric {
        format!("'{cell}")
    } else {
        cell.to_owned()
    };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_and_formulas_disarmed() {
        assert_eq!(escape("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(escape("=1+1"), "'=1+1");
        assert_eq!(escape("-1.5"), "-1.5");
    }
}
