//! A fleet as one HTML page: what is wrong first, then each figure as a picture and in a table.

use report::{Axis, Block, Page, Plot, PlotPoint, PlotSeries, Section, Shape, Stretch, Table};

use super::outcome::{Against, Figure, Group, Outcome, Outlier, Point, Spread};
use super::text::{
    BOX_TO_BOX, HEADS, answer, cells, head, not_searched, place, refused, to_do, without_journal,
};
use super::told::{FOLLOWS, basis, like, meant, no_score};

use crate::plural::plural;

/// Rows of a table that are shown; the JSON has them all.
const MOST_ROWS: usize = 500;
/// Pictures of a group; figures with outliers come first.
const MOST_PICTURES: usize = 8;
/// Points of a picture; with more only outliers and every so many of the others are drawn.
const MOST_POINTS: usize = 2000;

/// The page.
pub(super) fn page(outcome: &Outcome) -> Page {
    let mut sections: Vec<Section> = Vec::new();
    let to_do = to_do(outcome);
    if !to_do.is_empty() {
        sections.push(Section {
            heading: "What to do".to_owned(),
            blocks: vec![Block::List(to_do)],
        });
    }
    let notes = [not_searched(outcome), without_journal(outcome)];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    if !notes.is_empty() {
        sections.push(Section {
            heading: "Reservations".to_owned(),
            blocks: vec![Block::Warnings(notes)],
        });
    }
    if !outcome.without_devices.is_empty() {
        let rows = outcome
            .without_devices
            .iter()
            .map(|file| vec![file.path.clone(), file.why.clone()]);
        sections.push(Section {
            heading: "No device was looked at".to_owned(),
            blocks: table(&["report", "why"], rows.collect()),
        });
    }
    if !outcome.unreadable.is_empty() {
        let rows = outcome
            .unreadable
            .iter()
            .map(|file| vec![file.path.clone(), file.why.clone()]);
        sections.push(Section {
            heading: "Could not be read".to_owned(),
            blocks: table(&["file", "why"], rows.collect()),
        });
    }
    for (index, group) in outcome.groups.iter().enumerate() {
        sections.push(section(
            index,
            outcome.groups.len(),
            group,
            !outcome.simulated.is_empty(),
        ));
    }
    Page {
        title: "fleet of GPU boxes".to_owned(),
        simulated: (!outcome.simulated.is_empty()).then(|| outcome.simulated.join(", ")),
        answer: vec![answer(outcome)],
        sections,
        made_by: format!("accept fleet {}", env!("CARGO_PKG_VERSION")),
    }
}

fn section(index: usize, of: usize, group: &Group, simulated: bool) -> Section {
    let mut blocks = vec![Block::Paragraph(head(group))];
    if !group.not_accepted.is_empty() {
        blocks.push(Block::Warnings(
            group
                .not_accepted
                .iter()
                .take(MOST_ROWS)
                .map(refused)
                .collect(),
        ));
    }
    if !group.outliers.is_empty() {
        let heads = [
            "box",
            "device or pair",
            "figure",
            "is",
            "median of its like",
            "worse by",
            "modified z",
        ];
        blocks.push(Block::Paragraph("Slower than their like".to_owned()));
        blocks.extend(table(&heads, group.outliers.iter().map(row).collect()));
        blocks.extend(no_score(group).map(Block::Paragraph));
    }
    let mut drawn: Vec<&Figure> = group
        .figures
        .iter()
        .filter(|figure| figure.judged > 0)
        .collect();
    drawn.sort_by_key(|figure| figure.outliers == 0);
    blocks.extend(
        drawn
            .into_iter()
            .take(MOST_PICTURES)
            .map(|figure| picture(figure, &group.names, simulated)),
    );
    blocks.extend(table(
        &HEADS,
        group
            .figures
            .iter()
            .map(|figure| cells(figure).to_vec())
            .collect(),
    ));
    if !group.figures.is_empty() {
        blocks.push(Block::Paragraph(BOX_TO_BOX.to_owned()));
    }
    Section {
        heading: format!("Group {} of {of}: {}", index + 1, group.profile),
        blocks,
    }
}

fn row(outlier: &Outlier) -> Vec<String> {
    let number = |value: f64, of: String| format!("{value:.2} {} ({of})", outlier.unit);
    let worse = format!("{:.1}%", outlier.worse_percent);
    vec![
        place(&outlier.node, &outlier.report),
        match outlier.follows_box {
            true => format!("{} ({FOLLOWS})", meant(outlier)),
            false => meant(outlier),
        },
        format!("{}, {}", outlier.check, outlier.what),
        number(outlier.value, basis(outlier)),
        number(outlier.median, like(outlier)),
        match outlier.against {
            Against::OwnBox => format!("{worse} (than the rest of its box)"),
            Against::Boxes | Against::Like => worse,
        },
        match outlier.spread {
            Spread::Measured => format!("{:.1}", outlier.z),
            Spread::Floor => "—".to_owned(),
        },
    ]
}

/// A table, and how many rows it leaves out.
fn table(heads: &[&str], mut rows: Vec<Vec<String>>) -> Vec<Block> {
    let more = rows.len().saturating_sub(MOST_ROWS);
    rows.truncate(MOST_ROWS);
    let table = Block::Table(Table {
        heads: heads.iter().map(|head| (*head).to_owned()).collect(),
        rows,
    });
    let more = (more > 0).then(|| {
        Block::Paragraph(format!(
            "and {}; --json has them all",
            plural(more, "more row")
        ))
    });
    std::iter::once(table).chain(more).collect()
}

/// A figure of every box, each as a part of the median of its like.
fn picture(figure: &Figure, names: &[String], simulated: bool) -> Block {
    let step = figure.points.len().div_ceil(MOST_POINTS).max(1);
    let across = places(&figure.points);
    let series = |name: &str, wanted: bool| PlotSeries {
        name: name.to_owned(),
        shape: Shape::Dots,
        points: figure
            .points
            .iter()
            .zip(&across)
            .enumerate()
            .filter(|(index, (point, _))| {
                point.is_outlier == wanted && (wanted || index % step == 0)
            })
            .map(|(_, (point, x))| PlotPoint {
                x: *x,
                y: point.part * 100.0,
                ..PlotPoint::default()
            })
            .collect(),
    };
    let all =
        [("like the others", false), ("slower", true)].map(|(name, wanted)| series(name, wanted));
    let values = || figure.points.iter().map(|point| point.part * 100.0);
    let (low, high) = (
        values().fold(100.0, f64::min),
        values().fold(100.0, f64::max),
    );
    let room = ((high - low) * 0.1).max(1.0);
    let left_out = if step > 1 {
        format!(", every {step}th of the others")
    } else {
        String::new()
    };
    Block::Plot(Plot {
        title: format!(
            "{}, {} ({}){left_out}",
            figure.check, figure.what, figure.unit
        ),
        across: Axis {
            label: "devices or pairs of each box, by the folders of the reports".to_owned(),
            range: Some((0.0, count(names.len()))),
            stretches: names
                .iter()
                .enumerate()
                .map(|(index, name)| Stretch {
                    name: name.clone(),
                    from: count(index),
                    to: count(index + 1),
                })
                .collect(),
            ..Axis::default()
        },
        up: Axis {
            label: format!(
                "{} as a part of the median of its like (%)",
                quantity(figure)
            ),
            range: Some((low - room, high + room)),
            ..Axis::default()
        },
        series: all
            .into_iter()
            .filter(|series| !series.points.is_empty())
            .collect(),
        simulated,
    })
}

/// Where each value stands: in the stretch of its box, which begins at its index and is as wide as 1, beside the others of that box.
fn places(points: &[Point]) -> Vec<f64> {
    points
        .chunk_by(|one, next| one.member == next.member)
        .flat_map(|of_box| {
            let width = 1.0 / count(of_box.len());
            let each = of_box.iter().enumerate();
            each.map(move |(index, point)| count(point.member) + (count(index) + 0.5) * width)
        })
        .collect()
}

/// What a figure is of: a rate or a time, by its unit.
fn quantity(figure: &Figure) -> &'static str {
    match figure.unit.as_str() {
        "GB/s" => "bandwidth",
        "s" | "ms" | "us" | "ns" => "time",
        _ => "figure",
    }
}

#[expect(clippy::cast_precision_loss, reason = "a number of devices")]
fn count(index: usize) -> f64 {
    index as f64
}
