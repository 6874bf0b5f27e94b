//! From a tool's words for links to path classes and the ends' affinities.

use super::lines::{malformed, shown};
use super::table::{Table, numbered};
use super::{Captured, CapturedError, CapturedFinding};
use crate::{CpuSet, End, EndKind, Matrix, PathType};

/// The most CPUs of an affinity; Linux is built for at most 8192.
const MOST_CPUS: usize = 8192;

/// The class of a tool's word, `None` where the tool has no such word.
pub(super) type Words = fn(&str) -> Option<PathType>;

/// The classes of the PCI tree, which NVIDIA's and MetaX's tools name alike.
const PCI_WORDS: [PathType; 6] = [
    PathType::Same,
    PathType::Pix,
    PathType::Pxb,
    PathType::Phb,
    PathType::Node,
    PathType::Sys,
];

/// The class of a word that both tools have.
pub(super) fn pci_word(word: &str) -> Option<PathType> {
    PCI_WORDS.into_iter().find(|class| class.name() == word)
}

/// A column beside the classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Affinity {
    Cpus,
    Node,
    /// The node of the GPU's own memory, which only coherent GPUs have; nothing of ours asks for it.
    GpuNode,
}

/// The titles of these columns.
const TITLES: [(&str, Affinity); 4] = [
    ("CPU Affinity", Affinity::Cpus),
    ("NUMA Affinity", Affinity::Node),
    ("Node Affinity", Affinity::Node),
    ("GPU NUMA ID", Affinity::GpuNode),
];

/// Splits a header into the ends and the columns beside them; the error says what is wrong.
pub(super) fn header(line: &str) -> Result<(Vec<String>, Vec<Affinity>), String> {
    let from = TITLES.iter().filter_map(|(title, _)| line.find(title));
    let from = from.min().unwrap_or(line.len());
    let ends: Vec<String> = line[..from].split_whitespace().map(str::to_owned).collect();
    if let Some(word) = ends.iter().find(|word| !super::table::is_end(word)) {
        return Err(format!(
            "the header has {}, which names no end",
            shown(word)
        ));
    }
    let mut titles = Vec::new();
    let mut rest = line[from..].trim();
    while !rest.is_empty() {
        let known = TITLES
            .iter()
            .find_map(|(title, kind)| Some((rest.strip_prefix(title)?, *kind)));
        let Some((after, kind)) = known.filter(|_| titles.len() < TITLES.len()) else {
            return Err(format!(
                "the header has {}, which is no column that is known",
                shown(rest)
            ));
        };
        titles.push(kind);
        rest = after.trim_start();
    }
    Ok((ends, titles))
}

/// Whether a header has a column beside the classes.
pub(super) fn has_affinity(line: &str) -> bool {
    TITLES.iter().any(|(title, _)| line.contains(title))
}

/// The classes of a table; pairs that no row tells are unknown.
pub(super) fn matrix(
    table: &Table,
    tool: &'static str,
    words: Words,
) -> Result<Matrix, CapturedError> {
    let count = table.ends.len();
    let mut told: Vec<Vec<Option<PathType>>> = vec![vec![None; count]; count];
    for (a, row) in table.rows.iter().enumerate() {
        let Some(row) = row else { continue };
        let name = |at: usize| &table.ends[at];
        for (b, word) in row.cells.iter().enumerate() {
            let class = words(word).ok_or_else(|| {
                let what = format!(
                    "row {} has {} in column {}, which is no link type",
                    name(a),
                    shown(word),
                    name(b)
                );
                malformed(tool, row.line, what)
            })?;
            let itself = (a == b) == (class == PathType::Same);
            if !itself || told[b][a].is_some_and(|other| other != class) {
                let what = format!(
                    "{} and {} contradict each other in {} and its mirror cell",
                    name(a),
                    name(b),
                    shown(word)
                );
                return Err(malformed(tool, row.line, what));
            }
            told[a][b] = Some(class);
        }
    }
    let class = |a: usize, b: usize| match told[a][b].or(told[b][a]) {
        Some(class) => class,
        None if a == b => PathType::Same,
        None => PathType::Unknown,
    };
    Ok(Matrix {
        source: tool.to_owned(),
        ends: table.ends.iter().map(|name| end(name)).collect(),
        classes: (0..count)
            .map(|a| (0..count).map(|b| class(a, b)).collect())
            .collect(),
    })
}

/// Gives the ends of a matrix the affinities of the table's rows; gives what is not clear.
pub(super) fn affinities(
    table: &Table,
    tool: &'static str,
    titles: &[Affinity],
    matrix: &mut Matrix,
) -> Result<Vec<CapturedFinding>, CapturedError> {
    let mut open = Vec::new();
    // Network cards have no affinity; rows of GPUs have as many words as those above them.
    let mut usual = titles.len();
    for (end, row) in matrix.ends.iter_mut().zip(&table.rows) {
        let Some(row) = row else { continue };
        let refuse = |what: String| malformed(tool, row.line, format!("row {} {what}", end.name));
        let absent = row.rest.iter().all(|word| is_absent(word));
        if let Some(word) = row.rest.get(titles.len()) {
            return Err(refuse(format!("has {} after its last column", shown(word))));
        }
        if end.kind == EndKind::Gpu {
            let cut = row.last && row.rest.len() < usual;
            if cut && (!absent || row.rest.is_empty()) {
                let what = format!(
                    "is cut short, it has {} of {usual} affinities",
                    row.rest.len()
                );
                return Err(refuse(what));
            }
            usual = row.rest.len();
        }
        // With an empty cell among them it is unknown whose a single number is; a list with a dash is of CPUs.
        let lacking = row.rest.len() < titles.len() && !absent;
        if lacking && !row.rest[0].contains(['-', ',']) {
            open.push(CapturedFinding::AffinityUnclear {
                tool: tool.to_owned(),
                row: end.name.clone(),
                value: row.rest[0].clone(),
            });
            continue;
        }
        for (word, kind) in row.rest.iter().zip(titles) {
            if is_absent(word) {
                continue;
            }
            let list = word.parse::<CpuSet>().ok();
            let list = list.filter(|list| !list.is_empty() && list.len() <= MOST_CPUS);
            let Some(list) = list else {
                return Err(refuse(format!("has {}, which is no list", shown(word))));
            };
            match kind {
                Affinity::Cpus => end.cpus = Some(list),
                // A GPU near several nodes has a list; none of them is its own.
                Affinity::Node => end.node = word.parse().ok(),
                Affinity::GpuNode => {}
            }
        }
    }
    Ok(open)
}

/// Makes the matrix from the link types of AMD's tools where no tool printed classes.
///
/// `XGMI` is a class. `PCIE` is one only between NUMA nodes: where the nodes are told and differ, or where the kernel counts three
/// hops or more (one from each GPU to its node, the rest between nodes); else the tools do not tell PIX to NODE apart.
pub(super) fn from_link_types(captured: &mut Captured, tools: &[&'static str]) {
    let of = |tool: &str, about: &str| {
        let mut tables = captured.tables.iter();
        tables.find(|table| table.source == tool && table.about == about)
    };
    let Some((tool, types)) = tools
        .iter()
        .find_map(|tool| Some((*tool, of(tool, "link type")?)))
        .filter(|_| captured.matrix.is_none())
    else {
        return;
    };
    let hops = of(tool, "hops").filter(|hops| hops.ends == types.ends);
    let node = |at: usize| {
        let gpu = captured
            .gpus
            .binary_search_by_key(&u32::try_from(at).ok(), |gpu| Some(gpu.number))
            .ok()?;
        captured.gpus[gpu].node
    };
    let far = |a: usize, b: usize| {
        let nodes = node(a).zip(node(b)).is_some_and(|(a, b)| a != b);
        let hops = hops.and_then(|hops| hops.cell(a, b)?.parse::<u32>().ok());
        nodes || hops.is_some_and(|hops| hops >= 3)
    };
    let count = types.ends.len();
    let class = |a: usize, b: usize| {
        // One order for both cells of a pair, so that they are equal whatever the text says.
        let (a, b) = (a.min(b), a.max(b));
        let word = types.cell(a, b).or_else(|| types.cell(b, a));
        match word {
            _ if a == b => PathType::Same,
            Some("XGMI") => PathType::Xgmi,
            Some("PCIE") if far(a, b) => PathType::Sys,
            _ => PathType::Unknown,
        }
    };
    let classes: Vec<Vec<PathType>> = (0..count)
        .map(|a| (0..count).map(|b| class(a, b)).collect())
        .collect();
    let unknown = classes.iter().flatten().any(|c| *c == PathType::Unknown);
    let ends = (0..count).map(|at| end(&format!("GPU{at}"))).collect();
    let source = tool.to_owned();
    if unknown {
        let tool = source.clone();
        captured.open.push(CapturedFinding::ClassesCoarse { tool });
    }
    captured.matrix = Some(Matrix {
        source,
        ends,
        classes,
    });
}

fn is_absent(word: &str) -> bool {
    word == "N/A" || word == "NA"
}

fn end(name: &str) -> End {
    let gpu = name.starts_with("GPU");
    End {
        name: name.to_owned(),
        kind: if gpu { EndKind::Gpu } else { EndKind::Nic },
        address: None,
        // Older drivers print a network card under the system's name for it.
        label: (!gpu && numbered(name).is_none()).then(|| name.to_owned()),
        cpus: None,
        node: None,
    }
}
