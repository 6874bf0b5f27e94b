//! What went wrong while collectives were measured, as far as a file tells it: the times of the curve do not show it.

use super::value::{CallFile, CallTrouble};
use crate::links::TroubleKind;

/// Something that went wrong while collectives were measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Trouble {
    /// The file.
    pub origin: String,
    /// What.
    pub found: CallTrouble,
}

impl Trouble {
    /// Whether a result was wrong, so that nothing on this machine can be believed until that is fixed.
    #[must_use]
    pub fn is_wrong_data(&self) -> bool {
        self.found.kind == TroubleKind::WrongData
    }
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { origin, found } = self;
        match (&found.series, found.bytes_per_rank) {
            (Some(series), Some(bytes)) => {
                let bytes = record::unit::ByteCount(bytes);
                write!(f, "{} of {bytes}: {found}", series.kind)
            }
            _ => write!(f, "{origin}: {found}"),
        }
    }
}

/// The troubles of a file: wrong data, hangs and failures, and that it is not whole; what did not apply or was not tried is none.
pub(super) fn of(file: &CallFile) -> Vec<Trouble> {
    let faults = file.troubles.iter().filter(|one| one.kind.is_fault());
    let trouble = |found: &CallTrouble| Trouble {
        origin: file.origin.clone(),
        found: found.clone(),
    };
    faults.map(trouble).collect()
}
