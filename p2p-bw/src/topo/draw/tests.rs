//! Nothing overlaps: boxes of two, four and eight GPUs with network cards, on one to eight nodes.

use super::layout;
use super::sheet::{Rect, Sheet};
use super::{Beside, Branch, Drawing, Frame, Kind, Link};

fn device(kind: Kind, name: String, narrow: bool) -> Branch {
    Branch {
        kind,
        name,
        lines: vec![
            "NVIDIA RTX PRO 6000 Blackwell Server Edition".to_owned(),
            "0000:21:00.0".to_owned(),
        ],
        link: Some(Link {
            is: "Gen5 x16".to_owned(),
            could: narrow.then(|| "Gen5 x16".to_owned()),
            narrow,
        }),
        below: Vec::new(),
    }
}

fn bridge(name: &str, below: Vec<Branch>) -> Branch {
    Branch {
        kind: Kind::Bridge,
        lines: vec!["0000:20:01.1".to_owned()],
        below,
        ..device(Kind::Bridge, name.to_owned(), false)
    }
}

/// GPUs dealt to nodes in turn, two network cards behind one switch on the first node, links beside PCIe in `islands`.
fn a_box(gpus: usize, nodes: usize, switches: bool, islands: usize) -> Drawing {
    let mut frames: Vec<Frame> = (0..nodes)
        .map(|node| Frame {
            name: format!("node {node}"),
            lines: vec![
                "CPUs 0-15,128-143,256-271,384-399,512-527,640-655".to_owned(),
                "384 GiB".to_owned(),
            ],
            roots: Vec::new(),
            distances: (0..nodes)
                .map(|other| Some(if other == node { 10 } else { 32 }))
                .collect(),
        })
        .collect();
    for gpu in 0..gpus {
        let device = device(Kind::Gpu, format!("GPU{gpu}"), gpu % 3 == 1);
        let below = match switches {
            true => vec![bridge("switch", vec![bridge("switch", vec![device])])],
            false => vec![device],
        };
        frames[gpu * nodes / gpus]
            .roots
            .push(bridge("root port", below));
    }
    let cards = (0..2).map(|nic| device(Kind::Nic, format!("NIC{nic}"), nic == 1));
    frames[0]
        .roots
        .push(bridge("root port", vec![bridge("switch", cards.collect())]));
    let mut beside = Vec::new();
    for a in 0..gpus {
        for b in a + 1..gpus {
            if islands > 0 && a * islands / gpus == b * islands / gpus {
                let ends = (format!("GPU{a}"), format!("GPU{b}"));
                beside.push(Beside {
                    ends,
                    what: "NV18".to_owned(),
                });
            }
        }
    }
    Drawing {
        title: format!("{gpus} GPUs on {nodes} nodes"),
        simulated: Some("drawn".to_owned()),
        open: vec!["NVLink is in no file".to_owned()],
        frames,
        beside,
    }
}

fn all() -> Vec<Drawing> {
    let mut boxes = vec![Drawing::default(), a_box(1, 1, false, 0)];
    for gpus in [2, 4, 8] {
        for nodes in [1, 2, 3, 4, 8] {
            for (switches, islands) in [(false, 0), (true, 1), (false, 2)] {
                boxes.push(a_box(gpus, nodes, switches, islands));
            }
        }
    }
    boxes
}

fn overlap(a: &Rect, b: &Rect) -> bool {
    a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h
}

fn holds(outer: &Rect, inner: &Rect) -> bool {
    let right = inner.x + inner.w <= outer.x + outer.w;
    let lower = inner.y + inner.h <= outer.y + outer.h;
    outer.x <= inner.x && outer.y <= inner.y && right && lower
}

/// Every two of these are apart.
fn apart(of: &[(Rect, String)]) {
    for (number, (a, name)) in of.iter().enumerate() {
        for (b, other) in &of[..number] {
            assert!(!overlap(a, b), "{name} {a:?} and {other} {b:?}");
        }
    }
}

pub(super) fn check(sheet: &Sheet) {
    let texts: Vec<(Rect, String)> = sheet
        .texts
        .iter()
        .map(|text| (text.rect(), text.text.clone()))
        .collect();
    apart(&texts);
    let boxes: Vec<(Rect, String)> = sheet
        .boxes
        .iter()
        .map(|rect| (rect.clone(), rect.class.to_owned()))
        .collect();
    apart(&boxes);
    let frames = || sheet.frames.iter().filter(|frame| frame.class == "frame");
    apart(
        &frames()
            .map(|frame| (frame.clone(), "frame".to_owned()))
            .collect::<Vec<_>>(),
    );
    for (rect, class) in &boxes {
        assert!(
            frames().any(|frame| holds(frame, rect)),
            "{class} {rect:?} is in no frame"
        );
        // A text stands in a box or outside of it.
        for (text, what) in &texts {
            assert!(
                !overlap(rect, text) || holds(rect, text),
                "`{what}` leaves its box"
            );
        }
    }
    // Steps of a link go down or across, and across no box that is not its end.
    for line in &sheet.lines {
        for step in line.points.windows(2) {
            let (a, b) = (step[0], step[1]);
            let stroke = Rect {
                class: line.class,
                x: a.0.min(b.0),
                y: a.1.min(b.1) + 0.01,
                w: (a.0 - b.0).abs(),
                h: ((a.1 - b.1).abs() - 0.02).max(0.0),
            };
            for (rect, class) in &boxes {
                assert!(
                    !overlap(rect, &stroke),
                    "a line goes through a {class}: {stroke:?} {rect:?}"
                );
            }
            for (text, what) in &texts {
                assert!(
                    !overlap(text, &stroke),
                    "a line goes through `{what}`: {stroke:?} {text:?}"
                );
            }
        }
    }
}

/// `TPLENS_PICTURES` names a folder that the pictures are written to, to be looked at.
#[test]
fn nothing_overlaps_for_two_to_eight_gpus_on_one_to_eight_nodes() {
    let folder = std::env::var_os("TPLENS_PICTURES").map(std::path::PathBuf::from);
    for (number, drawing) in all().iter().enumerate() {
        check(&layout::of(drawing));
        if let Some(folder) = &folder {
            std::fs::write(folder.join(format!("box{number}.svg")), drawing.svg()).unwrap();
        }
    }
}

#[test]
fn each_device_and_link_is_there_and_narrow_ones_are_red() {
    let svg = a_box(4, 2, false, 1).svg();
    for name in [
        "GPU0",
        "GPU3",
        "NIC0",
        "NIC1",
        "node 1",
        "384 GiB",
        "NV18",
        "SIMULATED: soft box drawn",
    ] {
        assert!(svg.contains(&format!(">{name}")), "{name}");
    }
    // GPU1 of GPUs 0 to 3, and NIC1: a line and two texts each.
    assert_eq!(svg.matches("class=\"edge narrow\"").count(), 2);
    assert_eq!(svg.matches("class=\"narrow\"").count(), 4);
    assert_eq!(svg.matches("class=\"gpu\"").count(), 4);
}

#[test]
fn a_text_of_the_machine_cannot_become_an_element() {
    let mut drawing = a_box(2, 1, false, 0);
    drawing.frames[0].name = "<script>".to_owned();
    drawing.title = "a & b".to_owned();
    let svg = drawing.svg();
    assert!(svg.contains("&lt;script&gt;") && svg.contains("a &amp; b"));
    for never in ["<script", "href", "@import", "url(http"] {
        assert!(!svg.contains(never), "{never}");
    }
}

#[test]
fn devices_that_are_all_linked_are_one_group() {
    let two_groups = a_box(8, 2, false, 2).beside;
    let groups = super::groups::of(&two_groups);
    // GPUs 0 to 3 and 4 to 7, with 4 * 3 / 2 = 6 links each.
    assert_eq!(two_groups.len(), 12);
    let members: Vec<_> = groups.iter().map(|group| group.members.clone()).collect();
    assert_eq!(
        members,
        [
            ["GPU0", "GPU1", "GPU2", "GPU3"],
            ["GPU4", "GPU5", "GPU6", "GPU7"]
        ]
    );
    // A ring of four is four groups of two.
    let ring: Vec<Beside> = (0..4)
        .map(|gpu| Beside {
            ends: (format!("GPU{gpu}"), format!("GPU{}", (gpu + 1) % 4)),
            what: "NV4".to_owned(),
        })
        .collect();
    assert_eq!(super::groups::of(&ring).len(), 4);
}
