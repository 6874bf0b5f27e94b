//! The counters of Advanced Error Reporting in a tree: none counted, and those of the box's faults counted. A function without a
//! link, as in a guest, shows none.
//!
//! [`super::write_tree`] leaves them out: a tree that nobody loads has no errors to tell of.

use std::path::Path;

use super::{below, put};
use crate::model::Function;
use crate::{BoxError, BoxFile, Fault};

/// Shows counters at 0 at every function that has a link, in a tree that [`super::write_tree`] made.
///
/// # Errors
/// [`BoxError::Io`] with the path.
pub fn show_link_errors(described: &BoxFile, root: &Path) -> Result<(), BoxError> {
    write(described, root, false)
}

/// Counts the errors of the box's faults, as a load does.
///
/// # Errors
/// [`BoxError::Io`] with the path.
pub fn count_link_errors(described: &BoxFile, root: &Path) -> Result<(), BoxError> {
    write(described, root, true)
}

fn write(described: &BoxFile, root: &Path, is_loaded: bool) -> Result<(), BoxError> {
    let counting = described.functions().filter(|function| {
        let (table, _) = function.table;
        table != "nic" && function.link.is_some()
    });
    for Function { address, .. } in counting {
        let mut counts = [0_u64; 3];
        for fault in described.fault.iter().filter(|_| is_loaded) {
            if let Fault::LinkErrors {
                address: of,
                correctable,
                nonfatal,
                fatal,
            } = fault
                && of == address
            {
                for (count, more) in counts.iter_mut().zip([correctable, nonfatal, fatal]) {
                    *count = count.saturating_add(*more);
                }
            }
        }
        let folder = root.join("sys/devices").join(below(described, address)?);
        // The kernel's names of the totals (drivers/pci/pcie/aer.c).
        let kinds = ["correctable", "nonfatal", "fatal"];
        let totals = ["COR", "NONFATAL", "FATAL"];
        for ((kind, total), count) in kinds.into_iter().zip(totals).zip(counts) {
            let text = format!("TOTAL_ERR_{total} {count}");
            put(&folder.join(format!("aer_dev_{kind}")), &text)?;
        }
    }
    Ok(())
}
