//! The matrix of a case over pairs: source by row, destination by column.

use std::borrow::Cow;

use super::cell::{ABSENT, fraction, names, number, of_point};
use super::ends::{direction, pair};
use super::header::{indented, numbers_right, table};
use super::record::line;
use crate::record::{Links, Point};

/// Each cell with the path class and the fraction of the ceiling below it; a matrix for each of several numbers.
pub(super) fn matrix(points: &[&Point], links: &Links) -> String {
    let names = names(points);
    if names.contains(&"back") {
        return one(points, links, "forward") + &totals(points, links);
    }
    let mut text = String::new();
    for name in &names {
        if names.len() > 1 {
            line(&mut text, &format!("  {name}"));
        }
        text.push_str(&one(points, links, name));
    }
    text
}

fn one(points: &[&Point], links: &Links, name: &str) -> String {
    let mut table = table();
    let both_ways = name == "forward";
    let corner = if name == "latency" {
        "kernel of \\ memory of"
    } else {
        "from \\ to"
    };
    let labels = || links.devices.iter().map(|device| device.label.clone());
    table.set_header(std::iter::once(corner.to_owned()).chain(labels()));
    for (from, label) in labels().enumerate() {
        let cell = |to: usize| {
            let found = points.iter().find_map(|point| match pair(point) {
                Some(ends) if ends == (from, to) => Some((point, name)),
                Some(ends) if both_ways && ends == (to, from) => Some((point, "back")),
                _ => None,
            });
            found.map_or_else(
                || ABSENT.to_owned(),
                |(point, name)| under(point, name, &links.path(from, to).name()),
            )
        };
        table.add_row(std::iter::once(label).chain((0..links.devices.len()).map(cell)));
    }
    numbers_right(&mut table);
    indented(&table)
}

/// Both directions' totals, a line each.
fn totals(points: &[&Point], links: &Links) -> String {
    let mut text = String::new();
    let total = |point: &&&Point| names(&[point]).contains(&"total");
    for point in points.iter().filter(total) {
        let path = pair(point).map_or(Cow::Borrowed(""), |(a, b)| links.path(a, b).name());
        let total = under(point, "total", &path).replace('\n', ", ");
        line(
            &mut text,
            &format!("  {}: {total}", direction(point, "total", links)),
        );
    }
    text
}

/// A number with path class and fraction on a second line, where it is a number.
fn under(point: &Point, name: &str, path: &str) -> String {
    let value = of_point(point, name);
    let fraction =
        fraction(point, name).map_or_else(String::new, |fraction| format!(" {fraction}"));
    match number(point, name) {
        Some(quantity) => format!("{value}\n{path}{fraction} n={}", quantity.n),
        None => value,
    }
}
