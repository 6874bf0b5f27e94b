//! `amd-smi topology`: tables of access, weight, hops, link type and more over the PCI addresses of GPUs.

use super::heading::Heading;
use super::lines::{Lines, malformed, shown};
use super::table::Table;
use super::{Captured, CapturedError};
use crate::PciAddress;

/// The command.
pub(super) const TOOL: &str = "amd-smi topology";

/// How the title of a table ends.
const TITLE: &str = " TABLE:";

pub(super) fn begins(lines: &Lines, _seen: &Heading) -> bool {
    title(lines.peek().unwrap_or_default()).is_some()
}

/// Reads one table.
pub(super) fn read(
    lines: &mut Lines,
    _seen: &Heading,
    captured: &mut Captured,
) -> Result<(), CapturedError> {
    let about = title(lines.peek().unwrap_or_default())
        .unwrap_or_default()
        .to_lowercase();
    lines.advance();
    let header = lines.skip_empty().unwrap_or_default();
    let ends: Vec<String> = header.split_whitespace().map(str::to_owned).collect();
    let mut addresses = Vec::new();
    for word in &ends {
        addresses.push(word.parse::<PciAddress>().map_err(|_| {
            let what = format!(
                "the header of {about} has {}, which is no PCI address",
                shown(word)
            );
            malformed(TOOL, lines.number(), what)
        })?);
    }
    let table = Table::read(lines, TOOL, ends)?;
    table.closed(lines, TOOL)?;
    for (number, address) in (0..).zip(addresses) {
        let gpu = captured.gpu(number);
        if gpu.address.is_some_and(|known| known != address) {
            let what =
                format!("GPU {number} is at {address} here and elsewhere at another address");
            return Err(malformed(TOOL, table.line, what));
        }
        gpu.address = Some(address);
    }
    captured.add_table(table, TOOL, about)
}

/// What a table is about: capital letters, then `TABLE:`.
fn title(line: &str) -> Option<&str> {
    let about = line.strip_suffix(TITLE)?;
    let capital = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b' ' || b == b'-';
    (!about.is_empty() && about.len() <= 64 && about.bytes().all(capital)).then_some(about)
}
