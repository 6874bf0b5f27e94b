//! What a library of collectives says of itself where there may be no device: what it is, and how far a communicator
//! comes.
//!
//! Whoever calls this with a vendor's library does so in a process of its own: what a library does without its driver is its
//! own matter.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Collectives, CollectivesFacts, IdShape};
use crate::error::Result;
use crate::{Built, VisitCollectives};

/// What a library says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inspection {
    /// Its name, version and file.
    pub facts: CollectivesFacts,
    /// An id that it made, or its words where it made none.
    pub id: std::result::Result<IdShape, String>,
    /// Whether it made a communicator of one rank and ended it, or its words, such as that there is no driver.
    pub communicator: std::result::Result<(), String>,
}

/// Asks the library of a backend's collectives: the given file or folder and no other, or the first that is found.
///
/// # Errors
/// The library, or the function that tells its version, is missing.
pub fn inspect(built: Built, file: Option<&Path>) -> Result<Inspection> {
    built.visit_collectives(Inspect(file))
}

/// The path that was named.
struct Inspect<'a>(Option<&'a Path>);

impl VisitCollectives for Inspect<'_> {
    type Output = Result<Inspection>;

    fn visit<C: Collectives>(self) -> Result<Inspection> {
        let library = C::open(self.0)?;
        Ok(Inspection {
            facts: library.facts().clone(),
            id: library
                .unique_id()
                .map(|id| id.shape())
                .map_err(|error| error.to_string()),
            communicator: library.try_alone().map_err(|error| error.to_string()),
        })
    }
}
