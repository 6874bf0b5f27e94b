//! `p2p-bw topo`: the matrix of GPUs and NICs with links, slots and nodes, of this machine, a soft box, a copied tree, or a captured
//! text. Nothing is measured, and no vendor library is loaded.

mod args;
mod captured;
mod card;
mod draw;
mod json;
mod read;
mod run;
mod text;

pub(crate) use args::TopoArgs;
pub(crate) use run::run;
