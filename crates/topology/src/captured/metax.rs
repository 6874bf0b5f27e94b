//! `mx-smi topo -m` and `topo -n`, the matrix without and with network cards, and `mx-smi -L`, names and addresses of GPUs.

use super::classes::{self, Affinity};
use super::heading::Heading;
use super::lines::{Lines, malformed};
use super::nvidia_list::uuid;
use super::nvidia_topo::is_header;
use super::table::{MOST_ENDS, Table};
use super::{Captured, CapturedError, NamedGpu};
use crate::{Matrix, PathType};

/// The command of the matrix.
pub(super) const TOPO: &str = "mx-smi topo";

/// The command of the list.
pub(super) const LIST: &str = "mx-smi -L";

/// The line above the matrix.
const TITLE: &str = "Device link type matrix";

/// Words of the matrix that are no path class of ours; the legend calls the second one "unknown".
const NO_CLASS: [&str; 2] = ["ETH", "NA"];

/// Some pastes lack the title; the line `Attached GPUs` above says whose matrix it is.
pub(super) fn begins_matrix(lines: &Lines, seen: &Heading) -> bool {
    lines.peek() == Some(TITLE) || (seen.attached.is_some() && is_header(lines))
}

pub(super) fn read_matrix(
    lines: &mut Lines,
    seen: &Heading,
    captured: &mut Captured,
) -> Result<(), CapturedError> {
    let (table, titles, matrix) = matrix(lines, seen.attached)?;
    table.closed(lines, TOPO)?;
    captured.add_matrix(&table, TOPO, &titles, matrix)
}

/// Reads from the title on.
fn matrix(
    lines: &mut Lines,
    attached: Option<usize>,
) -> Result<(Table, Vec<Affinity>, Matrix), CapturedError> {
    if lines.peek() == Some(TITLE) {
        lines.advance();
    }
    let line = lines.number();
    let (ends, titles) = classes::header(lines.peek().unwrap_or_default())
        .map_err(|what| malformed(TOPO, line, what))?;
    let gpus = ends.iter().filter(|end| end.starts_with("GPU")).count();
    if gpus == 0 || gpus > MOST_ENDS {
        return Err(malformed(TOPO, line, format!("its header has {gpus} GPUs")));
    }
    if let Some(attached) = attached.filter(|attached| *attached != gpus) {
        let what = format!("{attached} GPUs are attached and the matrix has {gpus}");
        return Err(malformed(TOPO, line, what));
    }
    let table = Table::read(lines, TOPO, ends)?;
    let matrix = classes::matrix(&table, TOPO, word)?;
    Ok((table, titles, matrix))
}

/// The class of a word of this tool.
fn word(word: &str) -> Option<PathType> {
    let metaxlink = (word == PathType::Mx.name()).then_some(PathType::Mx);
    let other = || NO_CLASS.contains(&word).then_some(PathType::Unknown);
    classes::pci_word(word).or(metaxlink).or_else(other)
}

pub(super) fn begins_list(lines: &Lines, _seen: &Heading) -> bool {
    lines.peek().is_some_and(|line| line.starts_with("GPU#"))
}

/// Reads one line of the list.
pub(super) fn read_list(
    lines: &mut Lines,
    _seen: &Heading,
    captured: &mut Captured,
) -> Result<(), CapturedError> {
    let line = lines.number();
    let refuse = |what: String| malformed(LIST, line, what);
    let text = lines.peek().unwrap_or_default();
    let listed = gpu(text).map_err(refuse)?;
    if listed.uuid.is_none() {
        return Err(refuse(format!("GPU#{} has no whole UUID", listed.number)));
    }
    if captured.gpus.len() >= MOST_ENDS {
        return Err(refuse(format!("there are more than {MOST_ENDS} GPUs")));
    }
    let known = captured.gpu(listed.number);
    if known.name.is_some() {
        return Err(CapturedError::Twice {
            tool: LIST,
            line,
            what: format!("GPU#{}", listed.number),
        });
    }
    *known = NamedGpu {
        node: known.node,
        ..listed
    };
    lines.advance();
    Ok(())
}

/// Reads `GPU#0    MXC500    0000:06:00.0    Available (UUID: GPU-...)`; the error says what it lacks.
fn gpu(line: &str) -> Result<NamedGpu, String> {
    let mut words = line.split_whitespace();
    let number = words.next().and_then(|word| word.strip_prefix("GPU#"));
    let Some(number) = number.and_then(|number| number.parse::<u32>().ok()) else {
        return Err("a GPU has no number".to_owned());
    };
    // A name can have several words; an address has colons and is short.
    let mut name: Vec<&str> = Vec::new();
    let mut address = None;
    for word in words {
        address = word.contains(':').then(|| word.parse().ok()).flatten();
        if address.is_some() {
            break;
        }
        name.push(word);
    }
    if address.is_none() || name.is_empty() {
        let lacks = if address.is_none() {
            "PCI address"
        } else {
            "name"
        };
        return Err(format!("GPU#{number} has no {lacks}"));
    }
    Ok(NamedGpu {
        name: Some(name.join(" ")),
        address,
        uuid: uuid(line, "GPU-").map(|(_, uuid)| uuid.to_owned()),
        ..NamedGpu::numbered(number)
    })
}
