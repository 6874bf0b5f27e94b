//! Two links under the same tensor parallel size, and two sizes of several GPUs: what the difference of their steps is made of.
//!
//! Same size on two links: everything but the link is equal, so the difference needs no model of GEMMs, only the collectives' plan
//! times what the two curves differ by. Without curves nothing is said of the link.

mod compare;
mod measured;
mod modes;
mod needed;
mod pair;
mod result;
mod sent;
mod settle;
mod side;
mod starts;
mod step;
mod verdict;

pub use compare::compare_links;
pub use result::{
    Confounder, Difference, LinkComparison, LinkFigures, LinkNext, LinkOutcome, LinkPrediction,
    LinkVerdict, Needed, NotTold, PhysicalLink, SideFacts, TimeOf,
};
pub use side::LinkSide;
