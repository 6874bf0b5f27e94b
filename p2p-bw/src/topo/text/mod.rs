//! What is shown as text: the matrix first, then what stands behind each of its ends.

mod cards;
mod host;
mod legend;
mod matrix;
mod nics;
mod page;

pub(super) use host::nodes;
pub(super) use legend::{NOT_TOLD, legend};
pub(super) use matrix::matrix;
pub(super) use page::{ABSENT, Page, or_absent};

use super::read::Shown;
use legend::NO_NODE;

/// A box.
pub(super) fn of(shown: &Shown) -> String {
    let mut page = Page::default();
    if let Some(soft) = &shown.simulated {
        page.line(&format!(
            "SIMULATED: soft box {soft} as its file describes it, not a machine that was read"
        ));
    }
    page.line(&format!("Topology of {}", shown.source));
    host::platform(&mut page, shown);
    if shown.machine.gpus.is_empty() {
        page.line("no GPU found on PCI Express");
    }
    if !shown.matrix.ends.is_empty() {
        page.title(
            "Paths as nvidia-smi topo -m names them; GPUs and NICs are numbered by PCI address",
        );
        matrix(&mut page, &shown.matrix, None);
        for open in &shown.matrix_open {
            page.line(&format!("  {open}"));
        }
    }
    if shown.matrix.ends.len() > 1 {
        page.title("Paths as NCCL 2.30 computes them; * where the class is another one");
        matrix(&mut page, &shown.nccl, Some(&shown.matrix));
        legend(&mut page, &[&shown.matrix, &shown.nccl], NO_NODE);
    }
    cards::gpus(&mut page, shown);
    nics::nics(&mut page, shown);
    cards::others(&mut page, shown);
    nodes(&mut page, &shown.machine.nodes);
    cards::bridges(&mut page, shown);
    cards::errors(&mut page, shown);
    host::kfd(&mut page, shown);
    host::mig(&mut page, shown);
    page.notes(&shown.open);
    page.finish()
}
