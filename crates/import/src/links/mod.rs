//! Links: our own records, and the JSON and text of nvbandwidth.

mod nvbandwidth;
mod ours;
mod peers;
mod read;
mod trouble;
mod value;

pub use peers::PeerState;
pub use read::{of_text, read};
pub use trouble::TroubleKind;
pub use value::{LinkEnds, LinkFacts, LinkFile, LinkTrouble, LinkValue};

pub use nvbandwidth::table::{TESTS, Test};
