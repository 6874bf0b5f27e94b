//! Where the parts of a picture stand: frames in rows, below the name of each a tree that grows down, a column for each leaf.

use report::Anchor;

use super::sheet::{BOLD, Rect, Sheet, count, fitted, width};
use super::{Branch, Drawing, Frame, Kind, Link, groups};

/// Left of all frames: room for the names of lines beside PCI Express.
const LEFT: f64 = 16.0;
const LANE_LABEL: f64 = 64.0;
/// A frame's inner margin, and the room between frames.
const PAD: f64 = 20.0;
const GAP: f64 = 22.0;
/// The widest row of frames; a frame alone may be wider. With the lane labels and both margins it fits a window of 1280.
const ROW: f64 = 1164.0;
const NARROWEST_FRAME: f64 = 190.0;
/// A column of the tree, the box in it, and from the top of a box to the next.
const COLUMN: f64 = 148.0;
const BOX: (f64, f64) = (132.0, 58.0);
const LEVEL: f64 = 112.0;
const LINE: f64 = 16.0;
/// Of a frame's name and lines.
const LONGEST_LINE: f64 = 340.0;
const LANE: f64 = 22.0;
const CELL: (f64, f64) = (44.0, 24.0);

/// The middle of a device's lower edge.
struct Foot<'a> {
    name: &'a str,
    at: (f64, f64),
}

pub(super) fn of(drawing: &Drawing) -> Sheet {
    let mut sheet = Sheet::default();
    let mut y = heads(&mut sheet, drawing);
    let groups = groups::of(&drawing.beside);
    let left = match groups.is_empty() {
        true => LEFT,
        false => LEFT + LANE_LABEL,
    };
    // Where each group's line ended in the rows above, to be joined along the left.
    let mut joints: Vec<Vec<f64>> = groups.iter().map(|_| Vec::new()).collect();
    for row in rows(&drawing.frames) {
        let mut feet = Vec::new();
        let height = row.iter().map(|frame| frame_height(frame));
        let height = height.fold(0.0, f64::max);
        let mut x = left;
        for frame in row {
            draw_frame(&mut sheet, frame, (x, y), height, &mut feet);
            x += frame_width(frame) + GAP;
        }
        y += height + 12.0;
        for (number, (group, joints)) in groups.iter().zip(&mut joints).enumerate() {
            let members: Vec<&Foot<'_>> = feet
                .iter()
                .filter(|foot| group.members.contains(&foot.name))
                .collect();
            let Some(right) = members.iter().map(|foot| foot.at.0).reduce(f64::max) else {
                continue;
            };
            let first = members.iter().map(|foot| foot.at.0).fold(right, f64::min);
            // A line that stays within one row begins at its first device.
            let alone = members.len() == group.members.len();
            let joint = joint(left, number);
            let from = if alone { first } else { joint };
            y += LANE;
            sheet.line("beside", &[(from, y), (right, y)]);
            for foot in &members {
                sheet.line("beside", &[foot.at, (foot.at.0, y)]);
            }
            let label = fitted(group.what, 12.0, LANE_LABEL - 14.0);
            sheet.text("tick", (LEFT, y + 4.0), Anchor::Start, label);
            if alone {
                sheet.line("leader", &[(joint, y), (from, y)]);
            } else {
                joints.push(y);
            }
        }
        y += GAP;
    }
    for (number, joints) in joints.iter().enumerate() {
        let x = joint(left, number);
        if let (Some(first), Some(last)) = (joints.first(), joints.last()) {
            sheet.line("beside", &[(x, *first), (x, *last)]);
        }
    }
    distances(&mut sheet, &drawing.frames, (LEFT, y + 8.0));
    sheet
}

/// Where a group's lines of several rows are joined: side by side, left of all frames.
fn joint(left: f64, group: usize) -> f64 {
    left - 6.0 - 3.0 * count(group % 3)
}

/// The title and the mark of a soft box; gives where the rest begins.
fn heads(sheet: &mut Sheet, drawing: &Drawing) -> f64 {
    let title = fitted(&drawing.title, 16.0, ROW / BOLD);
    sheet.text("head", (LEFT, 28.0), Anchor::Start, title);
    let mut y = 48.0;
    if let Some(name) = &drawing.simulated {
        let mark = format!("SIMULATED: soft box {name}, not a machine that was read");
        sheet.text(
            "warn",
            (LEFT, y),
            Anchor::Start,
            fitted(&mark, 14.0, ROW / BOLD),
        );
        y += 22.0;
    }
    for open in &drawing.open {
        let line = fitted(open, 14.0, ROW);
        sheet.text("legend", (LEFT, y), Anchor::Start, line);
        y += 22.0;
    }
    y
}

/// Frames in rows, in order, as many as fit.
fn rows(frames: &[Frame]) -> Vec<Vec<&Frame>> {
    let mut rows: Vec<Vec<&Frame>> = Vec::new();
    let mut used = f64::INFINITY;
    for frame in frames {
        let wide = frame_width(frame);
        if used + wide > ROW {
            rows.push(Vec::new());
            used = 0.0;
        }
        used += wide + GAP;
        if let Some(row) = rows.last_mut() {
            row.push(frame);
        }
    }
    rows
}

fn columns(branch: &Branch) -> usize {
    branch.below.iter().map(columns).sum::<usize>().max(1)
}

fn levels(branches: &[Branch]) -> usize {
    let below = branches.iter().map(|branch| 1 + levels(&branch.below));
    below.max().unwrap_or(0)
}

fn frame_width(frame: &Frame) -> f64 {
    let tree = COLUMN * count(frame.roots.iter().map(columns).sum());
    let texts = std::iter::once(BOLD * width(&frame.name, 16.0))
        .chain(frame.lines.iter().map(|line| width(line, 12.0)))
        .fold(0.0, f64::max)
        .min(LONGEST_LINE);
    (tree.max(texts) + 2.0 * PAD).max(NARROWEST_FRAME)
}

fn header_height(frame: &Frame) -> f64 {
    30.0 + LINE * count(frame.lines.len())
}

fn frame_height(frame: &Frame) -> f64 {
    let tree = LEVEL * count(levels(&frame.roots));
    header_height(frame) + tree + PAD
}

fn draw_frame<'a>(
    sheet: &mut Sheet,
    frame: &'a Frame,
    (x, y): (f64, f64),
    height: f64,
    feet: &mut Vec<Foot<'a>>,
) {
    let wide = frame_width(frame);
    sheet.frames.push(Rect {
        class: "frame",
        x,
        y,
        w: wide,
        h: height,
    });
    let header = header_height(frame);
    sheet.frames.push(Rect {
        class: "socket",
        x,
        y,
        w: wide,
        h: header,
    });
    let room = wide - 2.0 * PAD;
    let name = fitted(&frame.name, 16.0, room / BOLD);
    sheet.text("head", (x + PAD, y + 21.0), Anchor::Start, name);
    for (number, line) in frame.lines.iter().enumerate() {
        let at = (x + PAD, y + 38.0 + LINE * count(number));
        sheet.text("tick", at, Anchor::Start, fitted(line, 12.0, room));
    }
    let tree = COLUMN * count(frame.roots.iter().map(columns).sum());
    let mut left = x + (wide - tree) / 2.0;
    for root in &frame.roots {
        let wide = COLUMN * count(columns(root));
        let middle = left + wide / 2.0;
        let top = y + header + LEVEL - BOX.1;
        draw_branch(sheet, root, (left, top), (middle, y + header), feet);
        left += wide;
    }
}

/// Draws a branch whose tree begins at `left`, and the link from the one above it, whose lower edge is at `from`.
fn draw_branch<'a>(
    sheet: &mut Sheet,
    branch: &'a Branch,
    (left, top): (f64, f64),
    from: (f64, f64),
    feet: &mut Vec<Foot<'a>>,
) {
    let middle = left + COLUMN * count(columns(branch)) / 2.0;
    let link = branch.link.as_ref();
    draw_link(sheet, link, from, (middle, top));
    let x = middle - BOX.0 / 2.0;
    sheet.boxes.push(Rect {
        class: branch.kind.class(),
        x,
        y: top,
        w: BOX.0,
        h: BOX.1,
    });
    let room = BOX.0 - 10.0;
    let name = fitted(&branch.name, 14.0, room / BOLD);
    let lines: Vec<&String> = branch.lines.iter().take(2).collect();
    // Name and lines stand in the middle of the box.
    let first = top + BOX.1 / 2.0 + 5.0 - 0.5 * LINE * count(lines.len());
    sheet.text("name", (middle, first), Anchor::Middle, name);
    for (number, line) in lines.into_iter().enumerate() {
        let at = (middle, first + LINE * count(number + 1));
        sheet.text("tick", at, Anchor::Middle, fitted(line, 12.0, room));
    }
    if branch.kind != Kind::Bridge {
        feet.push(Foot {
            name: &branch.name,
            at: (middle, top + BOX.1),
        });
    }
    let mut left = left;
    for below in &branch.below {
        draw_branch(
            sheet,
            below,
            (left, top + LEVEL),
            (middle, top + BOX.1),
            feet,
        );
        left += COLUMN * count(columns(below));
    }
}

/// A link with its width right of it, above the lower end.
fn draw_link(sheet: &mut Sheet, link: Option<&Link>, from: (f64, f64), to: (f64, f64)) {
    let narrow = link.is_some_and(|link| link.narrow);
    let class = if narrow { "edge narrow" } else { "edge" };
    let bend = to.1 - (LEVEL - BOX.1) + 10.0;
    sheet.line(class, &[from, (from.0, bend), (to.0, bend), to]);
    let Some(link) = link else { return };
    let class = if narrow { "narrow" } else { "tick" };
    // It ends before the next column's link begins, and for the last column within its frame.
    let room = COLUMN / 2.0 + 10.0;
    let texts = link.could.iter().map(|could| format!("of {could}"));
    let texts = texts.chain([link.is.clone()]);
    for (number, text) in texts.collect::<Vec<_>>().iter().rev().enumerate() {
        let at = (to.0 + 5.0, to.1 - 20.0 + 14.0 * count(number));
        sheet.text(class, at, Anchor::Start, fitted(text, 12.0, room));
    }
}

/// The table of distances between nodes, where there are several.
fn distances(sheet: &mut Sheet, frames: &[Frame], (x, y): (f64, f64)) {
    let known: Vec<&Frame> = frames
        .iter()
        .filter(|frame| !frame.distances.is_empty())
        .collect();
    if known.len() < 2 {
        return;
    }
    let label = known.iter().map(|frame| width(&frame.name, 12.0));
    let label = label.fold(60.0, f64::max).min(LONGEST_LINE);
    let head = "distances of nodes, 10 to itself";
    sheet.text("legend", (x, y + 14.0), Anchor::Start, head);
    let cell = (CELL.0.max(label + 10.0), CELL.1);
    let left = x + label + 14.0;
    for (row, frame) in known.iter().enumerate() {
        let name = fitted(&frame.name, 12.0, label);
        let base = y + 58.0 + cell.1 * count(row);
        let over = left + cell.0 * (count(row) + 0.5);
        sheet.text("tick", (over, y + 36.0), Anchor::Middle, name.clone());
        sheet.text("tick", (x, base), Anchor::Start, name);
        // A frame without distances has no column, so its place among them is passed over.
        let others = frames.iter().zip(&frame.distances);
        let others = others.filter(|(other, _)| !other.distances.is_empty());
        for (column, (_, distance)) in others.enumerate() {
            let at = (left + cell.0 * (count(column) + 0.5), base);
            let text = distance.map_or("\u{2014}".to_owned(), |far| far.to_string());
            sheet.text("tick", at, Anchor::Middle, text);
        }
    }
}
