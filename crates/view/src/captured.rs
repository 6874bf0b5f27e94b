//! What a captured text leaves open, as a line with its code.

use topology::captured::CapturedFinding;

use crate::document::{Item, Tone};

/// Rows that a line names.
const NAMED: usize = 8;

/// The line of a finding.
#[must_use]
pub fn item(finding: &CapturedFinding) -> Item {
    let words = match finding {
        CapturedFinding::RowsMissing { tool, rows } => {
            let more = match rows.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let named = rows[..rows.len().min(NAMED)].join(", ");
            format!("{tool} lacks the rows of {named}{more}.")
        }
        CapturedFinding::EndMissing { tool } => {
            format!("{tool} ends without a line end; its last word may be cut short.")
        }
        CapturedFinding::AffinityUnclear { tool, row, value } => {
            format!("{tool}: {value} in row {row} may be CPUs or a node.")
        }
        CapturedFinding::ClassesCoarse { tool } => {
            format!("{tool} does not distinguish PIX, PXB, PHB and NODE.")
        }
    };
    Item::of(Tone::Warning, words).coded(finding.code())
}
