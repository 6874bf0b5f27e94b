//! The table of a case: a row for each number, with what stands behind it.

use std::collections::{BTreeMap, BTreeSet};

use record::quantity::Quantity;
use record::unit::ByteCount;
use record::{Links, Outcome, Placement, Point, Verification};

use crate::cell::{
    ABSENT, because, fraction, maybe, names, number, or_absent, range, shown, significant, word,
};
use crate::document::{Block, Section, Table};
use crate::ends::direction;
use crate::lines::distinct;

/// Keys in the order in which their first points come.
pub(super) fn keys(links: &Links) -> Vec<&str> {
    distinct(links.points.iter().map(|point| point.case.as_str()))
}

/// The numbers of a case, as a detail.
pub(super) fn section(key: &str, links: &Links) -> Section {
    let points: Vec<&Point> = links.points.iter().filter(|one| one.case == key).collect();
    let mut table = Table::under([
        "",
        "size",
        "median",
        "unit",
        "95% interval",
        "n",
        "limit",
        "of it",
        "memory",
        "notes",
    ]);
    for point in &points {
        if matches!(point.outcome, Outcome::NotApplicable { .. }) {
            continue;
        }
        for name in names(&[point]) {
            table.row(row(point, name, links));
        }
    }
    for sum in sums(&points) {
        table.row(sum);
    }
    let mut blocks = Vec::new();
    if !table.rows.is_empty() {
        blocks.push(Block::Table(table));
    }
    let reasons = distinct(points.iter().filter_map(|point| reason(&point.outcome)));
    blocks.extend(reasons.into_iter().map(Block::Paragraph));
    Section::detail(key, blocks)
}

/// What nvbandwidth prints below a matrix: the sum of its numbers, of each size that has several.
fn sums(points: &[&Point]) -> Vec<[String; 10]> {
    let mut sizes: BTreeMap<u64, Vec<&Quantity>> = BTreeMap::new();
    for point in points {
        let bandwidth = number(point, "bandwidth");
        sizes.entry(point.bytes).or_default().extend(bandwidth);
    }
    sizes.retain(|_, of_size| of_size.len() > 1);
    let row = |(bytes, of_size): (u64, Vec<&Quantity>)| {
        let mut row = std::array::from_fn(|_| ABSENT.to_owned());
        row[0] = "SUM".to_owned();
        row[1] = ByteCount(bytes).to_string();
        row[2] = significant(of_size.iter().map(|one| one.value).sum());
        row[3] = of_size[0].unit.to_string();
        row[9] = format!("of {}", of_size.len());
        row
    };
    sizes.into_iter().map(row).collect()
}

fn row(point: &Point, name: &str, links: &Links) -> [String; 10] {
    let quantity = number(point, name);
    let node = |place: &Placement| match (place.proven, place.wanted) {
        (Some(node), _) => format!("node {node}"),
        (None, Some(node)) => format!("node {node} unproven"),
        (None, None) => "node unknown".to_owned(),
    };
    let (limit, memory) = match &point.outcome {
        Outcome::Measured {
            link, placement, ..
        } => (link.ceiling(name), placement.as_ref().map(node)),
        _ => (None, None),
    };
    let codes: BTreeSet<&str> = point.caveats.iter().map(|caveat| caveat.code()).collect();
    [
        direction(point, name, links),
        ByteCount(point.bytes).to_string(),
        match (quantity, word(point.outcome.unmeasured())) {
            (Some(quantity), "") => significant(quantity.value),
            (_, "") => ABSENT.to_owned(),
            (_, word) => word.to_owned(),
        },
        shown(quantity.map(|quantity| quantity.unit)),
        range(quantity.and_then(|quantity| quantity.interval)),
        shown(quantity.map(|quantity| quantity.n)),
        maybe(limit),
        or_absent(fraction(point, name)),
        or_absent(memory),
        codes.into_iter().collect::<Vec<_>>().join(" "),
    ]
}

/// Why there is no number, or what the limit rests on.
fn reason(outcome: &Outcome) -> Option<String> {
    if let Some(why) = outcome.unmeasured() {
        return Some(because(why));
    }
    Some(match outcome {
        Outcome::Measured {
            verification: Verification::NotAsked,
            ..
        } => "Data was not compared.".to_owned(),
        Outcome::Measured { link, .. } if !link.basis.is_empty() => {
            format!("Limit: {}", link.basis)
        }
        _ => return None,
    })
}
