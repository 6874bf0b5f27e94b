//! Links: our own records, and the JSON and text of nvbandwidth.

mod nvbandwidth;
mod ours;
mod peers;
mod read;
mod value;

pub use peers::PeerState;
pub use read::{is_of_nvbandwidth, of_text, read};
pub use value::{LinkEnds, LinkFacts, LinkFile, LinkTrouble, LinkValue, TroubleKind, renumbered};

pub(crate) use nvbandwidth::table::{TESTS, Test};
