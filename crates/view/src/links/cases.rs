//! The table of a case: a row for each number, with what stands behind it.

use std::collections::{BTreeMap, BTreeSet};

use record::quantity::Quantity;
use record::unit::ByteCount;
use record::{Links, Outcome, Point, Verification};

use crate::cell::{ABSENT, because, fraction, names, number, range, significant, word};
use crate::document::{Block, Section, Table};
use crate::ends::direction;

/// Keys in the order in which their first points come.
pub(super) fn keys(links: &Links) -> Vec<&str> {
    let mut keys: Vec<&str> = Vec::new();
    for point in &links.points {
        if !keys.contains(&point.case.as_str()) {
            keys.push(&point.case);
        }
    }
    keys
}

/// The numbers of a case, as a detail.
pub(super) fn section(key: &str, links: &Links) -> Section {
    let points: Vec<&Point> = links.points.iter().filter(|one| one.case == key).collect();
    let mut reasons: Vec<String> = Vec::new();
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
        if let Some(reason) = reason(&point.outcome)
            && !reasons.contains(&reason)
        {
            reasons.push(reason);
        }
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
    let of = |text: Option<String>| text.unwrap_or_else(|| ABSENT.to_owned());
    let (limit, memory) = match &point.outcome {
        Outcome::Measured {
            link, placement, ..
        } => (
            link.ceiling(name).map(significant),
            placement
                .as_ref()
                .map(|place| match (place.proven, place.wanted) {
                    (Some(node), _) => format!("node {node}"),
                    (None, Some(node)) => format!("node {node} unproven"),
                    (None, None) => "node unknown".to_owned(),
                }),
        ),
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
        of(quantity.map(|quantity| quantity.unit.to_string())),
        range(quantity.and_then(|quantity| quantity.interval)),
        of(quantity.map(|quantity| quantity.n.to_string())),
        of(limit),
        of(fraction(point, name)),
        of(memory),
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
