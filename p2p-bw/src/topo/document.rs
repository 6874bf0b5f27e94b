//! What is where as a document: which pairs are how far apart and which NIC is nearest, then the matrix.

use std::collections::BTreeMap;

use record::unit::ByteCount;
use topology::captured::{Captured, PairTable};
use topology::{EndKind, Fact, Matrix, NumaNode, PathType};
use view::{Block, Document, Item, Section, Table, Tone};

use super::read::Shown;

/// What stands where nothing is known.
const ABSENT: &str = "—";

/// Pairs and devices that a sentence names.
const NAMED: usize = 3;

/// A machine.
pub(super) fn of_machine(shown: &Shown) -> Document {
    let open = [shown.matrix_open.as_slice(), &shown.open].concat();
    let sections = [
        matrix(&shown.matrix),
        affinity(&shown.matrix),
        cards(shown),
        nodes(&shown.machine.nodes),
        (!open.is_empty()).then(|| Section::detail("Open", vec![Block::list(open)])),
    ];
    let unknown =
        |text: &String| Item::of(Tone::Warning, format!("{text}.")).coded("fabric-unknown");
    let findings = shown.matrix_open.iter().map(unknown).collect();
    let mut answer = meaning(&shown.matrix);
    if shown.machine.gpus.is_empty() {
        answer.insert(0, "No GPU on PCI Express.".to_owned());
    }
    if shown.platform.is_guest == Some(true) {
        answer.push(
            "A virtual machine: links and bridges above its devices are the host's.".to_owned(),
        );
    }
    if !shown.mig.is_empty() {
        answer.push("GPUs are divided by MIG: instances have no P2P.".to_owned());
    }
    Document {
        title: format!("Topology of {}", shown.source),
        simulated: shown.simulated.clone(),
        answer,
        findings,
        sections: sections.into_iter().flatten().collect(),
        ..Document::default()
    }
}

/// A captured text, which is not printed again.
pub(super) fn of_captured(captured: &Captured) -> Document {
    let mut answer = captured.matrix.as_ref().map(meaning).unwrap_or_default();
    answer.extend(captured.tables.iter().filter_map(peers));
    if answer.is_empty() {
        let (gpus, nodes) = (captured.gpus.len(), captured.nodes.len());
        answer.push(match gpus {
            0 => format!("{nodes} NUMA nodes, no GPU."),
            _ => format!("{gpus} GPUs; the text does not say how they are joined."),
        });
    }
    let mut sections = Vec::new();
    if let Some(found) = &captured.matrix {
        sections.extend(matrix(found).into_iter().map(|section| Section {
            detail: true,
            ..section
        }));
        sections.extend(affinity(found));
    }
    sections.extend(captured.tables.iter().map(pairs));
    let gpus = captured.gpus.iter().flat_map(|gpu| {
        let own = [
            format!("GPU{}", gpu.number),
            shown(gpu.address),
            shown(gpu.name.as_ref()),
            shown(gpu.uuid.as_ref()),
        ];
        let instances = gpu.mig.iter().map(|mig| {
            let name = format!("MIG {}", mig.number);
            [name, String::new(), mig.profile.clone(), mig.uuid.clone()]
        });
        std::iter::once(own).chain(instances)
    });
    sections.extend(detail("GPUs", ["", "address", "what", "UUID"], gpus));
    sections.extend(nodes(&captured.nodes));
    Document {
        title: format!("From {}", captured.sources.join(", ")),
        answer,
        findings: captured.open.iter().map(view::captured::item).collect(),
        sections,
        ..Document::default()
    }
}

/// How pairs of GPUs are joined, and which NIC is nearest: a sentence each.
fn meaning(matrix: &Matrix) -> Vec<String> {
    let of_kind = |kind| {
        let ends = matrix.ends.iter().enumerate();
        let ends = ends.filter(move |(_, end)| end.kind == kind);
        ends.map(|(at, end)| (at, end.name.as_str()))
            .collect::<Vec<_>>()
    };
    let (gpus, nics) = (of_kind(EndKind::Gpu), of_kind(EndKind::Nic));
    let mut by_class: BTreeMap<PathType, Vec<String>> = BTreeMap::new();
    for (at, (a, name)) in gpus.iter().enumerate() {
        for (b, other) in &gpus[at + 1..] {
            if let Some(class) = matrix.class(*a, *b) {
                let pairs = by_class.entry(class).or_default();
                pairs.push(format!("{name}-{other}"));
            }
        }
    }
    let total: usize = by_class.values().map(Vec::len).sum();
    let clause = |(class, pairs): (&PathType, &Vec<String>)| {
        let pairs = match pairs.len() {
            all if all == total && all > 1 => format!("all {all} GPU pairs"),
            few if few <= NAMED => pairs.join(", "),
            many => format!("{many} pairs"),
        };
        format!("{pairs} {} ({class})", way(*class))
    };
    let clauses: Vec<String> = by_class.iter().map(clause).collect();
    let mut sentences = Vec::new();
    if !clauses.is_empty() {
        sentences.push(format!("{}.", clauses.join("; ")));
    } else if let [(_, only)] = gpus.as_slice() {
        sentences.push(format!("{only} is the only GPU."));
    }
    let mut nearest: BTreeMap<(Vec<&str>, PathType), Vec<&str>> = BTreeMap::new();
    for (gpu, name) in &gpus {
        let class = |nic: &usize| matrix.class(*gpu, *nic);
        let Some(best) = nics.iter().filter_map(|(nic, _)| class(nic)).min() else {
            continue;
        };
        let near = nics.iter().filter(|(nic, _)| class(nic) == Some(best));
        let near = (near.map(|(_, nic)| *nic).collect(), best);
        nearest.entry(near).or_default().push(name);
    }
    let some = |names: &[&str]| match names.len() {
        few if few <= NAMED => names.join(", "),
        many => format!("{} and {} more", names[..2].join(", "), many - 2),
    };
    let mut nearest: Vec<_> = nearest.into_iter().collect();
    nearest.sort_by_key(|(_, of)| gpus.iter().position(|(_, name)| *name == of[0]));
    let nearest = nearest.iter();
    let clauses =
        nearest.map(|((near, class), gpus)| format!("{} for {} ({class})", some(near), some(gpus)));
    let clauses: Vec<String> = clauses.collect();
    if !clauses.is_empty() {
        sentences.push(format!("Nearest NIC: {}.", clauses.join("; ")));
    }
    sentences
}

/// How a class joins two devices.
fn way(class: PathType) -> &'static str {
    match class {
        PathType::Nv(_) => "by NVLink",
        PathType::Pix => "below one PCIe switch",
        PathType::Pxb => "through several PCIe switches",
        PathType::Phb => "through a host bridge",
        PathType::Node => "within a NUMA node",
        PathType::Sys => "across sockets",
        PathType::Unknown => "by an unknown path",
        _ => "beside PCI Express",
    }
}

/// What a table of peer access says: where it is not the same for all pairs, how many have what.
fn peers(table: &PairTable) -> Option<String> {
    let about = &table.about;
    let mut words: BTreeMap<&str, usize> = BTreeMap::new();
    for (a, row) in table.cells.iter().enumerate() {
        let others = row.iter().enumerate().filter(|(b, _)| a != *b);
        for cell in others.filter_map(|(_, cell)| cell.as_deref()) {
            *words.entry(cell).or_default() += 1;
        }
    }
    let words = words.iter().map(|(word, count)| format!("{word} {count}"));
    let words: Vec<String> = words.collect();
    let is_access = about.contains("peer") || about.contains("access");
    (is_access && !words.is_empty())
        .then(|| format!("{about} by ordered pairs: {}.", words.join(", ")))
}

/// The matrix of classes; wide ones are details.
fn matrix(matrix: &Matrix) -> Option<Section> {
    let names: Vec<String> = matrix.ends.iter().map(|end| end.name.clone()).collect();
    let grid = grid(&names, |a, b| match a == b {
        true => "X".to_owned(),
        false => shown(matrix.class(a, b)),
    });
    let heading = format!("Paths as {} names them", matrix.source);
    let section = Section {
        detail: names.len() > 12,
        ..Section::new(heading, vec![grid])
    };
    (!names.is_empty()).then_some(section)
}

/// A cell for each two names.
fn grid(names: &[String], cell: impl Fn(usize, usize) -> String) -> Block {
    let row = |(a, name): (usize, &String)| {
        let cells = (0..names.len()).map(|b| cell(a, b));
        std::iter::once(name.clone()).chain(cells).collect()
    };
    Block::Table(Table {
        heads: [&[String::new()], names].concat(),
        rows: names.iter().enumerate().map(row).collect(),
    })
}

/// A cell.
fn shown<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| ABSENT.to_owned(), |value| value.to_string())
}

/// A table that -v shows, where it has rows.
fn detail<const N: usize>(
    heading: &str,
    heads: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> Option<Section> {
    let mut table = Table::under(heads);
    rows.into_iter().for_each(|row| table.row(row));
    let is_empty = table.rows.is_empty();
    (!is_empty).then(|| Section::detail(heading, vec![Block::Table(table)]))
}

/// Each GPU and NIC with its slot, and how much of a GPU's memory its window shows.
fn cards(of: &Shown) -> Option<Section> {
    let heads = ["", "driver", "link now", "at most", "IOMMU", "BAR1"];
    let rows = of.devices.iter().map(|card| {
        let (now, most) = match &card.slot_link {
            Fact::Known(slot) => (slot.current.to_string(), slot.maximum),
            Fact::Unknown(why) => (format!("unknown, {why}"), None),
        };
        [
            card.end.name.clone(),
            shown(card.driver.as_ref()),
            now,
            shown(most),
            card.iommu.to_string(),
            shown(card.bar.as_ref()),
        ]
    });
    detail("Slots", heads, rows)
}

/// Node, CPUs, address and name of each end.
fn affinity(matrix: &Matrix) -> Option<Section> {
    let rows = matrix.ends.iter().map(|end| {
        [
            end.name.clone(),
            shown(end.node),
            shown(end.cpus.as_ref()),
            shown(end.address),
            shown(end.label.as_ref()),
        ]
    });
    detail("Affinity", ["", "node", "CPUs", "address", "what"], rows)
}

fn pairs(table: &PairTable) -> Section {
    let cell = |a, b| table.cell(a, b).unwrap_or(ABSENT).to_owned();
    let heading = format!("{} ({})", table.about, table.source);
    Section::detail(heading, vec![grid(&table.ends, cell)])
}

/// NUMA nodes with their distances.
fn nodes(nodes: &[NumaNode]) -> Option<Section> {
    let mut table = Table::under(["node", "memory", "CPUs"]);
    let to = nodes.iter().map(|node| format!("to {}", node.id));
    table.heads.extend(to);
    table.rows.extend(nodes.iter().map(|node| {
        let memory = shown(node.memory_bytes.map(ByteCount));
        let own = [node.id.to_string(), memory, node.cpus.to_string()];
        let distances = nodes.iter().map(|to| shown(node.distances.get(&to.id)));
        own.into_iter().chain(distances).collect()
    }));
    (!nodes.is_empty()).then(|| Section::detail("NUMA nodes", vec![Block::Table(table)]))
}
