//! `tplens topo`: the matrix of GPUs and NICs with links, slots and nodes, of this machine, a simulated machine, a copied tree, or a captured
//! text. Nothing is measured, and no vendor library is loaded.

mod document;
mod read;
mod run;

pub(crate) use run::{TopoArgs, run};
