//! Path classes of two ends: of the matrices of NVIDIA's and MetaX's tools, with the affinities beside them, and of AMD's link types.

use super::model::{Captured, CapturedError, CapturedFinding, malformed};
use super::text::{Table, is_end, numbered, shown, words};
use crate::{CpuSet, End, EndKind, Matrix, PathType};

/// The most CPUs of an affinity; Linux is built for at most 8192.
const MOST_CPUS: usize = 8192;

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

/// The class of a word of a matrix; `None` where no tool has such a word.
pub(super) fn class(word: &str) -> Option<PathType> {
    match word {
        // What drivers before 2017 print for `SYS`.
        "SOC" => Some(PathType::Sys),
        // Of `mx-smi`; its legend calls the second one "unknown".
        "ETH" | "NA" => Some(PathType::Unknown),
        "XGMI" | "UNKNOWN" => None,
        word => word.parse().ok(),
    }
}

/// Whether a header has a column beside the classes.
pub(super) fn has_affinity(line: &str) -> bool {
    TITLES.iter().any(|(title, _)| line.contains(title))
}

/// Splits a header into the ends and the columns beside them; the error says what is wrong.
pub(super) fn header(line: &str) -> Result<(Vec<String>, Vec<Affinity>), String> {
    let from = TITLES.iter().filter_map(|(title, _)| line.find(title));
    let (ends, beside) = line.split_at(from.min().unwrap_or(line.len()));
    let ends = words(ends);
    let mut titles = Vec::new();
    let mut rest = beside.trim();
    let known = |rest: &str| {
        let known =
            |(title, kind): &(&str, Affinity)| Some((rest.strip_prefix(title)?.len(), *kind));
        TITLES.iter().find_map(known)
    };
    while let Some((left, kind)) = known(rest) {
        titles.push(kind);
        rest = rest[rest.len() - left..].trim_start();
    }
    let wrong = ends.iter().map(String::as_str).find(|end| !is_end(end));
    match wrong.or((!rest.is_empty()).then_some(rest)) {
        None => Ok((ends, titles)),
        Some(wrong) => Err(format!(
            "the header has {}, which names no end and no column",
            shown(wrong)
        )),
    }
}

/// The classes of a table; pairs that no row tells are unknown.
pub(super) fn classes(table: &Table) -> Result<Matrix, CapturedError> {
    let count = table.ends.len();
    let mut told: Vec<Vec<Option<PathType>>> = vec![vec![None; count]; count];
    for (a, row) in table.rows.iter().enumerate() {
        let Some(row) = row else { continue };
        for (b, word) in row.cells.iter().enumerate() {
            let refuse = |what: &str| {
                let (a, b, word) = (&table.ends[a], &table.ends[b], shown(word));
                let what = format!("row {a} has {word} in column {b}, {what}");
                Err(malformed(table.tool, row.line, what))
            };
            let Some(class) = class(word) else {
                return refuse("which is no link type");
            };
            let is_itself = (a == b) == (class == PathType::Same);
            if !is_itself || told[b][a].is_some_and(|other| other != class) {
                return refuse("which contradicts its mirror cell");
            }
            told[a][b] = Some(class);
        }
    }
    Ok(matrix(table.tool, &table.ends, |a, b| {
        told[a][b].or(told[b][a]).unwrap_or(PathType::Unknown)
    }))
}

/// A matrix of ends by their names.
fn matrix(tool: &str, names: &[String], class: impl Fn(usize, usize) -> PathType) -> Matrix {
    let all = 0..names.len();
    let class = |a, b| if a == b { PathType::Same } else { class(a, b) };
    let row = |a| all.clone().map(|b| class(a, b)).collect();
    Matrix {
        source: tool.to_owned(),
        ends: names.iter().map(|name| end(name)).collect(),
        classes: all.clone().map(row).collect(),
    }
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

/// Gives the ends of a matrix the affinities of the table's rows; gives what is not clear.
pub(super) fn affinities(
    table: &Table,
    titles: &[Affinity],
    matrix: &mut Matrix,
) -> Result<Vec<CapturedFinding>, CapturedError> {
    let mut open = Vec::new();
    // Network cards have no affinity; rows of GPUs have as many words as those above them.
    let mut usual = titles.len();
    for (end, row) in matrix.ends.iter_mut().zip(&table.rows) {
        let Some(row) = row else { continue };
        let refuse = |what: String| {
            let what = format!("row {} {what}", end.name);
            Err(malformed(table.tool, row.line, what))
        };
        let absent = row.rest.iter().all(|word| is_absent(word));
        if let Some(word) = row.rest.get(titles.len()) {
            return refuse(format!("has {} after its last column", shown(word)));
        }
        if end.kind == EndKind::Gpu {
            let count = row.rest.len();
            if row.last && count < usual && (!absent || count == 0) {
                return refuse(format!(
                    "is cut short, it has {count} of {usual} affinities"
                ));
            }
            usual = count;
        }
        // With an empty cell among them it is unknown whose a single number is; a list with a dash is of CPUs.
        if row.rest.len() < titles.len() && !absent && !row.rest[0].contains(['-', ',']) {
            open.push(CapturedFinding::AffinityUnclear {
                tool: table.tool.to_owned(),
                row: end.name.clone(),
                value: row.rest[0].clone(),
            });
            continue;
        }
        for (word, kind) in row
            .rest
            .iter()
            .zip(titles)
            .filter(|(word, _)| !is_absent(word))
        {
            let list = word.parse::<CpuSet>().ok();
            let Some(list) = list.filter(|list| (1..=MOST_CPUS).contains(&list.len())) else {
                return refuse(format!("has {}, which is no list", shown(word)));
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

fn is_absent(word: &str) -> bool {
    matches!(word, "N/A" | "NA")
}

/// Makes the matrix from the link types of one of AMD's tools where no tool printed classes.
///
/// `XGMI` is a class. `PCIE` is one only between NUMA nodes: where the nodes are told and differ, or where the kernel counts three
/// hops or more (one from each GPU to its node, the rest between nodes); else the tools do not tell PIX to NODE apart.
pub(super) fn of_link_types(captured: &Captured, tool: &str) -> Option<Matrix> {
    let of = |about: &str| {
        let mut tables = captured.tables.iter();
        tables.find(|table| table.source == tool && table.about == about)
    };
    let types = of("link type")?;
    let hops = of("hops").filter(|hops| hops.ends == types.ends);
    let node = |at: usize| {
        let mut gpus = captured.gpus.iter();
        gpus.find(|gpu| gpu.number as usize == at)?.node
    };
    let is_far = |a: usize, b: usize| {
        let hops = hops.and_then(|hops| hops.cell(a, b)?.parse::<u32>().ok());
        node(a).zip(node(b)).is_some_and(|(a, b)| a != b) || hops.is_some_and(|hops| hops >= 3)
    };
    let class = |a: usize, b: usize| {
        // One order for both cells of a pair, so that they are equal whatever the text says.
        let (a, b) = (a.min(b), a.max(b));
        match types.cell(a, b).or_else(|| types.cell(b, a)) {
            Some("XGMI") => PathType::Xgmi,
            Some("PCIE") if is_far(a, b) => PathType::Sys,
            _ => PathType::Unknown,
        }
    };
    let names: Vec<String> = (0..types.ends.len()).map(|at| format!("GPU{at}")).collect();
    Some(matrix(tool, &names, class))
}
