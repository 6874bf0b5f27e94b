//! `rocm-smi --showtopo`: weight, hops and link type of each two GPUs, and the NUMA node of each GPU.

use super::heading::Heading;
use super::lines::{Lines, malformed, shown};
use super::table::{MOST_ENDS, Table, is_end};
use super::{Captured, CapturedError};

/// The command.
pub(super) const TOOL: &str = "rocm-smi --showtopo";

/// How the title of a table ends; what stands before is what its words are.
const TITLE: &str = " between two GPUs";

/// The line of a GPU's node, without the GPU.
const NODE: &str = "(Topology) Numa Node:";

/// Another line of a GPU, which says the same of the memory that the driver would take.
const AFFINITY: &str = "(Topology) Numa Affinity:";

pub(super) fn begins(lines: &Lines, _seen: &Heading) -> bool {
    let line = lines.peek().unwrap_or_default();
    title(line).is_some() || line.contains("(Topology)")
}

/// Reads one table, or one line of a GPU's node.
pub(super) fn read(
    lines: &mut Lines,
    _seen: &Heading,
    captured: &mut Captured,
) -> Result<(), CapturedError> {
    let number = lines.number();
    let line = lines.peek().unwrap_or_default();
    let Some(about) = title(line) else {
        let line = line.to_owned();
        lines.advance();
        return node(&line, captured).map_err(|what| malformed(TOOL, number, what));
    };
    let about = about.to_lowercase();
    lines.advance();
    let header = lines.skip_empty().unwrap_or_default();
    let ends: Vec<String> = header.split_whitespace().map(str::to_owned).collect();
    if let Some(word) = ends.iter().find(|word| !is_end(word)) {
        let what = format!(
            "the header of {about} has {}, which names no GPU",
            shown(word)
        );
        return Err(malformed(TOOL, lines.number(), what));
    }
    let table = Table::read(lines, TOOL, ends)?;
    table.closed(lines, TOOL)?;
    captured.add_table(table, TOOL, about)
}

/// What a table is about by its title, around which `=` fills the line.
fn title(line: &str) -> Option<&str> {
    let about = line.trim_matches(['=', ' ']).strip_suffix(TITLE)?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b' ';
    (!about.is_empty() && about.len() <= 64 && about.bytes().all(plain)).then_some(about)
}

/// Reads `GPU[0] : (Topology) Numa Node: 0`, or as older versions print it, `GPU 0 : ...`.
fn node(line: &str, captured: &mut Captured) -> Result<(), String> {
    if line.contains(AFFINITY) {
        return Ok(());
    }
    let split = line.split_once(NODE).and_then(|(gpu, node)| {
        let gpu = gpu.strip_prefix("GPU")?;
        let gpu = gpu.trim_matches(|c: char| "[]: \t".contains(c));
        Some((gpu.parse::<u32>().ok()?, node.trim().parse::<i64>().ok()?))
    });
    let Some((number, node)) = split else {
        return Err(format!("{} is no whole line of a GPU's node", shown(line)));
    };
    if captured.gpus.len() >= MOST_ENDS {
        return Err(format!("GPU[{number}] is more than {MOST_ENDS} GPUs"));
    }
    let gpu = captured.gpu(number);
    // The kernel says -1 where it knows no node.
    let node = u32::try_from(node).ok();
    if gpu.node.is_some() && gpu.node != node {
        return Err(format!("GPU[{number}] has two nodes"));
    }
    gpu.node = node;
    Ok(())
}
