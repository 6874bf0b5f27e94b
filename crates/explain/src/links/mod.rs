//! Two links under the same tensor parallel size, and two sizes of several GPUs: what the difference of their steps is made of.
//!
//! Same size on two links: everything but the link is equal, so the difference needs no model of GEMMs, only the collectives' plan
//! times what the two curves differ by. Without curves the difference is laid against what bytes over the two links can differ by.

mod compare;
mod lacking;
mod measured;
mod modes;
mod pair;
mod protocol;
mod rate;
mod result;
mod sent;
mod settle;
mod side;
mod sizes;
mod sizes_result;
mod sizes_text;
mod starts;
mod step;
mod text;
mod verdict;
mod wire;

pub use compare::compare_links;
pub(crate) use rate::between;
pub use rate::{Between, SizeRate};
pub use result::{
    Difference, LinkComparison, LinkFigures, LinkOutcome, LinkPrediction, Needed, SideFacts,
    TimeOf, WireDifference, WireTime,
};
pub use side::{LinkSide, PhysicalLink};
pub use sizes::compare_sizes;
pub use sizes_result::{SizeAttribution, SizeBar, SizeCause, SizeComparison, SizeOutcome};
pub use sizes_text::{sizes_answer, sizes_text};
pub use text::{links_answer, links_heading, links_text};
pub use verdict::LinkVerdict;
