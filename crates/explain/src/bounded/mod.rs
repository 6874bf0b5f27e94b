//! What a case still tells where it cannot be attributed: bounds by arithmetic, and the one measurement that would settle it.

mod chunk_words;
mod chunks;
mod flight;

use serde::{Deserialize, Serialize};

pub use chunks::{ChunkBound, ChunkReduce, PathBound};
pub use flight::{FlightBound, FlightPoint};

use crate::inputs::Inputs;

/// Something that a case still tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Bounded {
    /// Most steps are chunks of prompts: what their collectives can take.
    PrefillChunks {
        /// The bounds.
        bound: Box<ChunkBound>,
    },
    /// How the time per token grows with the requests in flight, and which link that would need.
    InFlight {
        /// The bounds.
        bound: FlightBound,
    },
}

/// What these inputs still tell of the size under explanation; nothing where they do not tell the class of their steps.
#[must_use]
pub fn bounded(inputs: &Inputs) -> Vec<Bounded> {
    let chunks = chunks::chunks(inputs).map(|bound| Bounded::PrefillChunks {
        bound: Box::new(bound),
    });
    if chunks.is_some() {
        return chunks.into_iter().collect();
    }
    flight::flight(inputs)
        .map(|bound| Bounded::InFlight { bound })
        .into_iter()
        .collect()
}

impl Bounded {
    /// What it says, a sentence each.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        match self {
            Self::PrefillChunks { bound } => bound.sentences(),
            Self::InFlight { bound } => bound.sentences(),
        }
    }
}
