//! `nvidia-smi topo -p2p r|w|n|a|p`: for each two GPUs whether the driver allows peer access.

use super::classes;
use super::heading::Heading;
use super::lines::{Lines, malformed, shown};
use super::nvidia_topo::is_header;
use super::table::{Table, is_end};
use super::{Captured, CapturedError};

/// The command.
pub(super) const TOOL: &str = "nvidia-smi topo -p2p";

/// The words of its cells and what its legend says of them.
const WORDS: [&str; 9] = ["X", "OK", "CNS", "GNS", "TNS", "NS", "DR", "U", "N/A"];

/// What can be asked for.
const QUESTIONS: [(&str, &str); 6] = [
    ("r", "read"),
    ("w", "write"),
    ("rw", "read and write"),
    ("n", "NVLink"),
    ("a", "atomics"),
    ("p", "PCIe"),
];

/// It has the same header as the matrix, but no affinities; with one GPU the tables are distinguished by nothing else.
pub(super) fn begins(lines: &Lines, seen: &Heading) -> bool {
    let row = lines.below();
    let bonded = |word: &str| {
        word.strip_prefix("NV")
            .is_some_and(|links| links.parse::<u32>().is_ok())
    };
    let class = |word| bonded(word) || (classes::pci_word(word).is_some() && word != "X");
    is_header(lines)
        && !classes::has_affinity(lines.peek().unwrap_or_default())
        && !seen.command.contains("topo -m")
        && !row.split_whitespace().any(class)
}

pub(super) fn read(
    lines: &mut Lines,
    seen: &Heading,
    captured: &mut Captured,
) -> Result<(), CapturedError> {
    let header = lines.peek().unwrap_or_default();
    let ends: Vec<String> = header.split_whitespace().map(str::to_owned).collect();
    if let Some(word) = ends.iter().find(|word| !is_end(word)) {
        let what = format!("the header has {}, which names no GPU", shown(word));
        return Err(malformed(TOOL, lines.number(), what));
    }
    let table = Table::read(lines, TOOL, ends)?;
    table.closed(lines, TOOL)?;
    for (row, name) in table.rows.iter().zip(&table.ends) {
        let Some(row) = row else { continue };
        let unknown = row
            .cells
            .iter()
            .position(|word| !WORDS.contains(&word.as_str()));
        if let Some(at) = unknown {
            let what = format!(
                "row {name} has {} in column {}, which is no peer status",
                shown(&row.cells[at]),
                table.ends[at]
            );
            return Err(malformed(TOOL, row.line, what));
        }
    }
    captured.add_table(table, TOOL, about(&seen.command))
}

/// The peer status of what was asked for, where the command stands above the output.
fn about(command: &str) -> String {
    let mut words = command.split_whitespace();
    let asked = words
        .find(|word| *word == "-p2p")
        .and_then(|_| words.next())
        .and_then(|word| QUESTIONS.iter().find(|(letter, _)| *letter == word));
    match asked {
        Some((_, asked)) => format!("peer status ({asked})"),
        None => "peer status".to_owned(),
    }
}
