//! `nvidia-smi topo -m`: the matrix of GPUs and network cards with their affinities, and the legend that names the cards.

use super::classes;
use super::heading::Heading;
use super::lines::{Lines, malformed};
use super::table::{Table, is_end, numbered};
use super::{Captured, CapturedError};
use crate::{EndKind, PathType};

/// The command.
pub(super) const TOOL: &str = "nvidia-smi topo -m";

pub(super) fn begins(lines: &Lines, _seen: &Heading) -> bool {
    is_header(lines)
}

/// Whether the next line is a header of ends that no title stands above, with a row or nothing below it.
pub(super) fn is_header(lines: &Lines) -> bool {
    let line = lines.peek().unwrap_or_default();
    let mut words = line.split_whitespace();
    let first = words.next().unwrap_or_default();
    let gpu = first.starts_with("GPU") && numbered(first).is_some();
    let second = words.next();
    let second = second.is_none_or(|word| word == "CPU" || is_end(word));
    let below = lines.below().split_whitespace().next();
    let row = match below {
        Some(name) => line.split_whitespace().any(|word| word == name),
        None => classes::header(line).is_ok(),
    };
    gpu && second && (row || classes::has_affinity(line))
}

/// Whether the next line is the first row of a matrix whose header the paste lacks.
pub(super) fn begins_without_header(lines: &Lines, _seen: &Heading) -> bool {
    let mut words = lines.peek().unwrap_or_default().split_whitespace();
    words.next() == Some("GPU0")
        && words.next() == Some("X")
        && words.next().and_then(word).is_some()
}

/// Puts the header above the rows: GPUs in their order, then network cards, then the affinities that are there.
pub(super) fn read_without_header(
    lines: &mut Lines,
    seen: &Heading,
    captured: &mut Captured,
) -> Result<(), CapturedError> {
    let own = |ahead: usize| {
        let mut words = lines.ahead(ahead).unwrap_or_default().split_whitespace();
        (words.next() == Some(format!("GPU{ahead}").as_str())).then(|| words.collect::<Vec<_>>())
    };
    let rows: Vec<Vec<&str>> = (0..).map_while(own).collect();
    let classes = |row: &Vec<&str>| row.iter().take_while(|cell| word(cell).is_some()).count();
    let columns = rows.iter().map(classes).min().unwrap_or_default();
    let gpus = (0..rows.len()).map(|number| format!("GPU{number}"));
    let nics = (0..columns.saturating_sub(rows.len())).map(|number| format!("NIC{number}"));
    let titles = ["CPU Affinity", "NUMA Affinity", "GPU NUMA ID"].map(str::to_owned);
    let beside = rows.iter().map(|row| row.len() - columns).max();
    let titles = titles.into_iter().take(beside.unwrap_or_default());
    let header: Vec<String> = gpus.chain(nics).chain(titles).collect();
    lines.put(header.join("\t"));
    read(lines, seen, captured)
}

pub(super) fn read(
    lines: &mut Lines,
    _seen: &Heading,
    captured: &mut Captured,
) -> Result<(), CapturedError> {
    let line = lines.number();
    let (ends, titles) = classes::header(lines.peek().unwrap_or_default())
        .map_err(|what| malformed(TOOL, line, what))?;
    let table = Table::read(lines, TOOL, ends)?;
    table.closed(lines, TOOL)?;
    let matrix = classes::matrix(&table, TOOL, word)?;
    captured.add_matrix(&table, TOOL, &titles, matrix)
}

/// The class of a word of this tool.
fn word(word: &str) -> Option<PathType> {
    let bonded = || {
        word.parse()
            .ok()
            .filter(|class| matches!(class, PathType::Nv(_)))
    };
    // `SOC` is what drivers before 2017 print for `SYS`.
    let old = (word == "SOC").then_some(PathType::Sys);
    classes::pci_word(word).or(old).or_else(bonded)
}

pub(super) fn begins_legend(lines: &Lines, _seen: &Heading) -> bool {
    legend(lines.peek().unwrap_or_default()).is_some()
}

/// Reads one line `NIC0: mlx5_0`.
pub(super) fn read_legend(
    lines: &mut Lines,
    _seen: &Heading,
    captured: &mut Captured,
) -> Result<(), CapturedError> {
    let line = lines.number();
    let Some((name, label)) = legend(lines.peek().unwrap_or_default()) else {
        return Ok(());
    };
    let refuse = |what: &str| {
        Err(malformed(
            TOOL,
            line,
            format!("{name} of the legend {what}"),
        ))
    };
    let ends = captured
        .matrix
        .iter_mut()
        .flat_map(|matrix| &mut matrix.ends);
    let end = ends
        .filter(|end| end.kind == EndKind::Nic)
        .find(|end| end.name == name);
    match end {
        None => return refuse("is no column of a matrix above"),
        Some(_) if label.is_empty() => return refuse("has no name"),
        Some(end) if end.label.is_some() => return refuse("stands there twice"),
        Some(end) => end.label = Some(label.to_owned()),
    }
    lines.advance();
    Ok(())
}

/// A network card's name in the matrix and in the system.
fn legend(line: &str) -> Option<(&str, &str)> {
    let (name, label) = line.split_once(':')?;
    let nic = name.starts_with("NIC") && numbered(name).is_some();
    nic.then_some((name, label.trim()))
}
