//! [`Drawing::of`]: a box that was read, as a picture: its nodes, below each the bridges that lead to its GPUs and network cards.

use topology::{EndKind, NumaNode, PathType, PciAddress, PciTree};

use super::{Beside, Branch, Drawing, Frame, Kind, Link};
use crate::topo::card::Card;
use crate::topo::read::Shown;

impl Drawing {
    /// The picture of a box.
    pub(crate) fn of(shown: &Shown) -> Self {
        let nodes = &shown.machine.nodes;
        let mut frames: Vec<Frame> = nodes.iter().map(|node| frame(node, nodes)).collect();
        let mut elsewhere = Frame {
            name: "no NUMA node is said".to_owned(),
            ..Frame::default()
        };
        for card in &shown.devices {
            let place = nodes.iter().position(|node| Some(node.id) == card.end.node);
            let frame = match place.and_then(|at| frames.get_mut(at)) {
                Some(frame) => frame,
                None => &mut elsewhere,
            };
            hang(frame, card, &shown.tree);
        }
        frames.extend(Some(elsewhere).filter(|frame| !frame.roots.is_empty()));
        let model = shown.machine.cpus.model.as_deref();
        Self {
            title: [Some(shown.source.as_str()), model]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(", "),
            simulated: shown.simulated.clone(),
            open: shown.matrix_open.clone(),
            frames,
            beside: beside(shown),
        }
    }
}

fn frame(node: &NumaNode, nodes: &[NumaNode]) -> Frame {
    let cpus = match node.cpus.is_empty() {
        true => "memory only, no CPUs".to_owned(),
        false => format!("CPUs {}", node.cpus),
    };
    let memory = node
        .memory_bytes
        .map(|bytes| format!("{} memory", measure::unit::ByteCount(bytes)));
    let distances = nodes
        .iter()
        .map(|other| node.distances.get(&other.id).copied());
    Frame {
        name: format!("node {}", node.id),
        lines: std::iter::once(cpus).chain(memory).collect(),
        roots: Vec::new(),
        distances: match node.distances.is_empty() {
            true => Vec::new(),
            false => distances.collect(),
        },
    }
}

/// Hangs a device below its bridges. Of a switch the upstream port is drawn; its downstream ports are the lines below it.
fn hang(frame: &mut Frame, card: &Card, tree: &PciTree) {
    let chain = card.pci.chain_to_card();
    let mut below = &mut frame.roots;
    for (depth, bridge) in chain.iter().enumerate() {
        // Below a root port, upstream and downstream ports take turns.
        if depth > 0 && depth % 2 == 0 {
            continue;
        }
        let address = bridge.to_string();
        let known = below
            .iter()
            .position(|branch| branch.kind == Kind::Bridge && branch.lines.contains(&address));
        let at = known.unwrap_or(below.len());
        if known.is_none() {
            below.push(Branch {
                kind: Kind::Bridge,
                name: if depth == 0 { "root port" } else { "switch" }.to_owned(),
                lines: vec![address],
                // A root port's link is the one below it.
                link: (depth > 0).then(|| link(tree, *bridge)).flatten(),
                below: Vec::new(),
            });
        }
        below = &mut below[at].below;
    }
    let faces = card.faces_slot.unwrap_or(card.pci.address);
    below.push(Branch {
        kind: match card.end.kind {
            EndKind::Gpu => Kind::Gpu,
            EndKind::Nic => Kind::Nic,
            EndKind::Other => Kind::Other,
        },
        name: card.end.name.clone(),
        lines: card
            .end
            .label
            .iter()
            .cloned()
            .chain([card.pci.address.to_string()])
            .collect(),
        link: link(tree, faces),
        below: Vec::new(),
    });
}

/// The link above a function, and what the function itself could do where that is more. A card with sixteen lanes in a slot of
/// eight lacks lanes, a card with eight in a slot of sixteen does not; a lower generation may be a link at rest.
fn link(tree: &PciTree, address: PciAddress) -> Option<Link> {
    let function = tree.at(address)?;
    let now = function.current?;
    let most = function.maximum.unwrap_or(now);
    let could = match (
        now.generation() < most.generation(),
        now.width() < most.width(),
    ) {
        (false, false) => None,
        (true, false) => Some(format!("Gen{}", most.generation())),
        (false, true) => Some(format!("x{}", most.width())),
        (true, true) => Some(most.to_string()),
    };
    Some(Link {
        is: now.to_string(),
        could,
        narrow: now.width() < most.width(),
    })
}

/// The links of the matrix that lie beside PCI Express.
fn beside(shown: &Shown) -> Vec<Beside> {
    let ends = &shown.matrix.ends;
    let mut links = Vec::new();
    for (a, end) in ends.iter().enumerate() {
        for (b, other) in ends.iter().enumerate().skip(a + 1) {
            let class = shown.matrix.class(a, b);
            let class = class
                .filter(|class| matches!(class, PathType::Nv(_) | PathType::Mx | PathType::Xgmi));
            links.extend(class.map(|class| Beside {
                ends: (end.name.clone(), other.name.clone()),
                what: class.to_string(),
            }));
        }
    }
    links
}

#[cfg(test)]
mod tests {
    use boxfile::{BoxFile, builtin_names};
    use topology::Sysfs;

    use super::*;
    use crate::topo::draw::{layout, tests};
    use crate::topo::read::{Origin, Wanted};

    /// A box file's machine as a picture.
    fn drawn(test: &str, name: &str) -> Drawing {
        let folder = format!("tplens-draw-{test}-{name}-{}", std::process::id());
        let root = std::env::temp_dir().join(folder);
        let described = BoxFile::builtin(name).unwrap();
        boxfile::sysfs::write_tree(&described, &root).unwrap();
        let wanted = Wanted {
            gpus: None,
            also: None,
            tools: false,
        };
        let shown = Shown::read(&Sysfs::at(&root), Origin::Soft(name.to_owned()), wanted).unwrap();
        std::fs::remove_dir_all(&root).unwrap();
        Drawing::of(&shown)
    }

    #[test]
    fn nothing_overlaps_on_any_shipped_box() {
        let folder = std::env::var_os("TPLENS_PICTURES").map(std::path::PathBuf::from);
        for name in builtin_names() {
            let drawing = drawn("shipped", name);
            let sheet = layout::of(&drawing);
            tests::check(&sheet);
            // A browser's window of 1280 less the margin shows it unscaled.
            assert!(sheet.size().0 <= 1264.0, "{name}: {:?}", sheet.size());
            if let Some(folder) = &folder {
                std::fs::write(folder.join(format!("{name}.svg")), drawing.svg()).unwrap();
            }
        }
    }

    #[test]
    fn the_l40_box_has_two_gpus_below_root_ports_of_each_node() {
        let drawing = drawn("roots", "l40x4");
        assert_eq!(drawing.frames.len(), 2);
        for (frame, gpus) in drawing
            .frames
            .iter()
            .zip([["GPU0", "GPU1"], ["GPU2", "GPU3"]])
        {
            // Each GPU hangs below a root port of its own; network cards hang below others.
            let names: Vec<&str> = frame
                .roots
                .iter()
                .flat_map(|root| &root.below)
                .filter(|branch| branch.kind == Kind::Gpu)
                .map(|branch| branch.name.as_str())
                .collect();
            assert_eq!(names, gpus);
        }
        // GPU0 is busy, the others rest at generation 1.
        let resting = drawing.frames[0].roots[1].below[0].link.as_ref().unwrap();
        assert_eq!(resting.is, "Gen1 x16");
        assert_eq!(
            (resting.could.as_deref(), resting.narrow),
            (Some("Gen4"), false)
        );
        let gpu = &drawing.frames[0].roots[0].below[0];
        let link = gpu.link.as_ref().unwrap();
        assert_eq!((link.is.as_str(), &link.could), ("Gen4 x16", &None));
        assert!(gpu.lines.contains(&"0000:21:00.0".to_owned()));
        assert_eq!(drawing.frames[0].distances, [Some(10), Some(32)]);
    }

    #[test]
    fn a_card_in_a_slot_with_half_its_lanes_is_narrow() {
        // The card's own switch hides behind it; its upstream port has 8 of 16 lanes.
        let drawing = drawn("narrow", "r9700-x8");
        let gpus: Vec<&Branch> = drawing.frames[0]
            .roots
            .iter()
            .flat_map(|root| &root.below)
            .collect();
        assert!(!gpus.is_empty());
        for gpu in gpus.iter().filter(|gpu| gpu.kind == Kind::Gpu) {
            let link = gpu.link.as_ref().unwrap();
            assert_eq!(
                (link.is.as_str(), link.could.as_deref()),
                ("Gen5 x8", Some("x16"))
            );
            assert!(link.narrow);
        }
    }
}
