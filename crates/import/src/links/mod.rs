//! Links: our own records, and the JSON and text of nvbandwidth.

mod nvbandwidth;
mod ours;
mod read;
mod value;

pub use read::{of_text, read};
pub use value::{LinkEnds, LinkFacts, LinkFile, LinkTrouble, LinkValue, PeerState, TroubleKind};
