//! Pictures of a record of links: a heat map for each case between devices, a curve for each case with several sizes.
//!
//! What is drawn how is the `report` crate's; here the numbers are picked from the record.

use std::collections::BTreeSet;

use measure::control::file_word;
use measure::quantity::Quantity;
use measure::record::{Endpoint, Links, Outcome, Payload, Point, Record, Verification};
use measure::render::text::direction;
use measure::unit::ByteCount;
use report::{DISTINCT_CURVES, HeatCell, HeatMap, Sweep, SweepPoint, SweepSeries};

/// A picture with the name of its file.
#[derive(Debug)]
pub(crate) struct Picture {
    pub(crate) file: String,
    pub(crate) svg: String,
}

/// The pictures of a record.
pub(crate) fn of(record: &Record) -> Vec<Picture> {
    let Payload::Links(links) = &record.payload else {
        return Vec::new();
    };
    let soft = record.soft_box();
    let mut keys: Vec<&str> = Vec::new();
    for point in &links.points {
        if !keys.contains(&point.case.as_str()) {
            keys.push(&point.case);
        }
    }
    let mut pictures = Vec::new();
    for key in keys {
        let points: Vec<&Point> = links.points.iter().filter(|p| p.case == key).collect();
        let heat = heat_map(key, &points, links, soft.clone());
        let sweep = sweep(key, &points, links, soft.clone());
        for (kind, svg) in [
            ("heat", heat.map(|map| map.svg_file())),
            ("sweep", sweep.map(|sweep| sweep.svg_file())),
        ] {
            if let Some(svg) = svg.filter(|svg| !svg.is_empty()) {
                let file = format!("{kind}-{}.svg", file_word(key, 80));
                pictures.push(Picture { file, svg });
            }
        }
    }
    pictures
}

/// The number of small copies that a heat map shows.
const PACE: &str = "pace";

/// What a picture of all pairs at once has to say.
const AT_ONCE: [&str; 3] = [
    "all pairs at once: each cell is a stream over its own window,",
    "not to be added up (the tables have the total); streams of a device",
    "queue for its copy engines, or kernels share its multiprocessors",
];

/// The numbers of a case between devices at its largest size.
fn heat_map(
    key: &str,
    points: &[&Point],
    links: &Links,
    simulated: Option<String>,
) -> Option<HeatMap> {
    let largest = points.iter().map(|point| point.bytes).max()?;
    let of_size = || points.iter().filter(|point| point.bytes == largest);
    let count = links.devices.len();
    let mut cells = vec![vec![HeatCell::Absent; count]; count];
    let mut unit = None;
    let mut samples = BTreeSet::new();
    let mut is_pace = false;
    for point in of_size() {
        for (from, to, name) in between(point, count) {
            is_pace |= name == PACE;
            if let Some(quantity) = number(point, &name) {
                unit = Some(quantity.unit);
                samples.insert(quantity.n);
            }
            if let Some(cell) = cells.get_mut(from).and_then(|row| row.get_mut(to)) {
                *cell = heat_cell(point, &name);
            }
        }
    }
    if cells.iter().flatten().all(|cell| *cell == HeatCell::Absent) {
        return None;
    }
    let labels: Vec<String> = links.devices.iter().map(|d| d.label.clone()).collect();
    let is_chase = key.contains("chase");
    let mut notes = vec![format!(
        "{}; medians{}",
        if is_chase {
            "the row's device loads from the column's memory"
        } else {
            "from row to column"
        },
        counts(&samples)
    )];
    let mut title = format!("{key}, {}", ByteCount(largest));
    if is_pace {
        title.push_str(", pace");
        notes.push("pace: the time from one copy to the next; issue is in the tables".to_owned());
    }
    if of_size().any(|point| point.from == Endpoint::All && point.to == Endpoint::All) {
        notes.extend(AT_ONCE.map(str::to_owned));
    }
    Some(HeatMap {
        title,
        notes,
        unit: unit.map_or_else(String::new, |unit| unit.to_string()),
        simulated,
        row_axis: if is_chase { "by" } else { "from" }.to_owned(),
        column_axis: if is_chase { "of" } else { "to" }.to_owned(),
        rows: labels.clone(),
        columns: labels,
        cells,
    })
}

/// `, n=6` or `, n=6..20`.
fn counts(samples: &BTreeSet<usize>) -> String {
    match (samples.first(), samples.last()) {
        (Some(least), Some(most)) if least == most => format!(", n={least}"),
        (Some(least), Some(most)) => format!(", n={least}..{most}"),
        _ => String::new(),
    }
}

/// The cells that a point fills: source, destination, and the number's name.
fn between(point: &Point, devices: usize) -> Vec<(usize, usize, String)> {
    match (point.from, point.to) {
        (Endpoint::Device(from), Endpoint::Device(to)) if from != to => {
            let has = |name: &str| number(point, name).is_some();
            if has("back") {
                return vec![
                    (from, to, "forward".to_owned()),
                    (to, from, "back".to_owned()),
                ];
            }
            let names = ["bandwidth", "latency", PACE];
            let name = names.into_iter().find(|name| has(name));
            vec![(from, to, name.unwrap_or("bandwidth").to_owned())]
        }
        (Endpoint::All, Endpoint::All) => (0..devices)
            .flat_map(|from| (0..devices).map(move |to| (from, to)))
            .map(|(from, to)| (from, to, format!("share_{from}_{to}")))
            .filter(|(_, _, name)| number(point, name).is_some())
            .collect(),
        _ => Vec::new(),
    }
}

fn heat_cell(point: &Point, name: &str) -> HeatCell {
    let word = |word: &str| HeatCell::Word(word.to_owned());
    match &point.outcome {
        Outcome::Measured {
            verification: Verification::WrongData { .. },
            ..
        } => word("WRONG DATA"),
        Outcome::Measured { .. } => {
            number(point, name).map_or(HeatCell::Absent, |quantity| HeatCell::Value(quantity.value))
        }
        Outcome::NotApplicable { .. } => HeatCell::Absent,
        Outcome::Skipped { .. } => word("skipped"),
        Outcome::Failed { .. } => word("FAILED"),
        Outcome::Hang { .. } => word("HANG"),
    }
}

/// A number of a point that stands for something.
fn number<'a>(point: &'a Point, name: &str) -> Option<&'a Quantity> {
    numbers(point).find_map(|(known, quantity)| (known == name).then_some(quantity))
}

/// The numbers of a point, none where its data was wrong.
fn numbers(point: &Point) -> impl Iterator<Item = (&str, &Quantity)> {
    let quantities = match &point.outcome {
        Outcome::Measured {
            quantities,
            verification: Verification::Passed | Verification::NotAsked,
            ..
        } => quantities.as_slice(),
        _ => &[],
    };
    quantities
        .iter()
        .map(|named| (named.name.as_str(), &named.quantity))
}

/// What a curve is of: both ends and the number's name.
type Series<'a> = (Endpoint, Endpoint, &'a str);

/// A case's numbers over its sizes; `None` where it has one size.
fn sweep(key: &str, points: &[&Point], links: &Links, simulated: Option<String>) -> Option<Sweep> {
    let measured = |point: &&&Point| numbers(point).next().is_some();
    let sizes: BTreeSet<u64> = points.iter().filter(measured).map(|p| p.bytes).collect();
    if sizes.len() < 2 {
        return None;
    }
    let mut unit = String::new();
    let mut all: Vec<(Series<'_>, Vec<SweepPoint>)> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for point in points {
        for (name, quantity) in numbers(point) {
            unit = quantity.unit.to_string();
            let point_of = SweepPoint {
                bytes: point.bytes,
                value: quantity.value,
                interval: quantity.interval.map(|i| (i.low, i.high)),
            };
            let series = (point.from, point.to, name);
            match all.iter_mut().find(|(known, _)| *known == series) {
                Some((_, points)) => points.push(point_of),
                None => {
                    all.push((series, vec![point_of]));
                    names.push(direction(point, name, links));
                }
            }
        }
    }
    for (_, points) in &mut all {
        points.sort_unstable_by_key(|point| point.bytes);
    }
    let mut notes = vec!["medians, bars are 95% intervals".to_owned()];
    let named = worth_a_name(&all);
    if named.len() < all.len() {
        notes.push(format!(
            "named are the lowest and the highest at the largest size; {} thin lines are the others",
            all.len() - named.len()
        ));
    }
    let series = all.into_iter().zip(names).enumerate();
    let series = series.map(|(index, ((_, points), name))| SweepSeries {
        name: named.contains(&index).then_some(name),
        points,
    });
    Some(Sweep {
        title: format!("{key} over size"),
        notes,
        unit,
        axis: "bytes of one copy".to_owned(),
        simulated,
        series: series.collect(),
        marks: Vec::new(),
    })
}

/// The series that get a name: all where they can be told apart, else those at both ends.
fn worth_a_name<S>(all: &[(S, Vec<SweepPoint>)]) -> BTreeSet<usize> {
    let mut order: Vec<usize> = (0..all.len()).collect();
    let last = |index: &usize| all[*index].1.last().map_or(0.0, |point| point.value);
    order.sort_by(|a, b| last(a).total_cmp(&last(b)));
    if order.len() > DISTINCT_CURVES {
        // Three of the lowest, the rest of the highest.
        order.drain(3..order.len() - (DISTINCT_CURVES - 3));
    }
    order.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::plan::StopReason;
    use measure::quantity::{Gate, TimeSource, Timing, Unit};
    use measure::record::NamedQuantity;
    use measure::record::{LinkUse, Verification};

    fn point(case: &str, ends: (usize, usize), bytes: u64, numbers: &[(&str, f64)]) -> Point {
        let timing = Timing {
            source: TimeSource::DeviceEvent,
            gate: Gate::None,
            copies_per_sample: 1,
            warmup_copies: 1,
        };
        let quantity = |value: f64| {
            Quantity::from_samples(vec![value; 6], Unit::GbPerS, timing, StopReason::Budget)
        };
        let named = |(name, value): &(&str, f64)| NamedQuantity {
            name: (*name).to_owned(),
            quantity: quantity(*value).unwrap(),
        };
        Point {
            case: case.to_owned(),
            from: Endpoint::Device(ends.0),
            to: Endpoint::Device(ends.1),
            bytes,
            outcome: Outcome::Measured {
                quantities: numbers.iter().map(named).collect(),
                verification: Verification::Passed,
                link: LinkUse::default(),
                placement: None,
            },
            caveats: Vec::new(),
        }
    }

    #[test]
    fn both_ways_fill_both_cells_of_a_pair() {
        let both = point(
            "b",
            (0, 1),
            1,
            &[("forward", 3.0), ("back", 4.0), ("total", 7.0)],
        );
        let expected = [(0, 1, "forward".to_owned()), (1, 0, "back".to_owned())];
        assert_eq!(between(&both, 2), expected);
        assert_eq!(heat_cell(&both, "back"), HeatCell::Value(4.0));
    }

    #[test]
    fn the_largest_size_is_mapped_and_several_are_swept() {
        let points = [1, 2].map(|bytes| point("w", (0, 1), bytes, &[("bandwidth", 5.0)]));
        let points: Vec<&Point> = points.iter().collect();
        let links = Links::default();
        // A record may name devices that it does not list: no cell of theirs, and no panic.
        assert_eq!(heat_map("w", &points, &links, None), None);
        let sweep = sweep("w", &points, &links, None).unwrap();
        let sizes: Vec<u64> = sweep.series[0].points.iter().map(|p| p.bytes).collect();
        assert_eq!(sizes, [1, 2]);
        assert_eq!(sweep.series[0].name.as_deref(), Some("? to ?"));
    }

    #[test]
    fn of_many_curves_those_at_both_ends_have_names() {
        let value = |value| SweepPoint {
            bytes: 1,
            value,
            interval: None,
        };
        // Ten curves of 0 to 9: three of the lowest, three of the highest.
        let all: Vec<((), Vec<SweepPoint>)> =
            (0..10).map(|n| ((), vec![value(f64::from(n))])).collect();
        assert_eq!(worth_a_name(&all), BTreeSet::from([0, 1, 2, 7, 8, 9]));
    }
}
