//! The numbers of a `tplens p2p` record.

use super::cell::{number, run_word, table, verification_word, word_of};
use record::{
    Endpoint, Links, NamedQuantity, Outcome, Point, Record, Unmeasured, Verification, stream,
};

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

/// One line for each number, a header line first.
pub(super) fn lines(record: &Record, links: &Links) -> String {
    let simulated = record.soft_box().unwrap_or_default();
    let run = run_word(&record.status);
    let rows = links
        .points
        .iter()
        .flat_map(|point| rows(point, links, run, &simulated));
    table(COLUMNS, rows)
}

fn rows(point: &Point, links: &Links, run: &str, simulated: &str) -> Vec<[String; 21]> {
    let end = |end| match end {
        Endpoint::Host => "host".to_owned(),
        Endpoint::All => "all".to_owned(),
        Endpoint::Device(position) => links
            .devices
            .get(position)
            .map_or_else(String::new, |device| device.label.clone()),
    };
    let name = |name: &str| match stream(name, point.from, point.to, links.devices.len()) {
        Some((from, to)) => format!("share {} to {}", end(from), end(to)),
        None => name.to_owned(),
    };
    let mut base: [String; 21] = std::array::from_fn(|_| String::new());
    base[0].clone_from(&point.case);
    base[2] = end(point.from);
    base[3] = end(point.to);
    base[4] = point.bytes.to_string();
    run.clone_into(&mut base[19]);
    simulated.clone_into(&mut base[20]);
    let (word, reason) = match point.outcome.unmeasured() {
        None | Some((Unmeasured::WrongData, _)) => ("measured", ""),
        Some((why, seen)) => (why.into(), seen),
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
    let row = |named: &NamedQuantity| {
        let mut row = base.clone();
        let quantity = &named.quantity;
        row[1] = name(&named.name);
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
            .map_or_else(String::new, |path| path.name().into_owned());
        row[15] = link.ceiling(&named.name).map_or_else(String::new, number);
        verification_word(verification).clone_into(&mut row[17]);
        row[18].clone_from(&link.basis);
        row
    };
    quantities.iter().map(row).collect()
}
