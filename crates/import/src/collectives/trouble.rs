//! What went wrong while collectives were measured, as far as a file tells it: the times of the curve do not show it.

use super::curve::CurvePoint;
use super::value::{CallFile, CallTrouble};
use crate::error::ImportError;
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

impl CallFile {
    /// What went wrong while they were measured: wrong data, hangs and failures, and that the file is not whole or the run was broken off;
    /// what did not apply or was not tried is none.
    #[must_use]
    pub fn faults(&self) -> Vec<Trouble> {
        let faults = self.troubles.iter().filter(|one| one.kind.is_fault());
        let trouble = |found: &CallTrouble| Trouble {
            origin: self.origin.clone(),
            found: found.clone(),
        };
        faults.map(trouble).collect()
    }

    /// Its curve; points with wrong data or without a time are left out, which [`CallFile::faults`] tells.
    ///
    /// # Errors
    /// It holds no time.
    pub fn points(&self) -> Result<Vec<CurvePoint>, ImportError> {
        let points = self.curve();
        if !points.is_empty() {
            return Ok(points);
        }
        let first = self.faults().into_iter().next();
        let more = first.map_or_else(String::new, |one| format!(" ({one})"));
        Err(ImportError::Unusable {
            origin: self.origin.clone(),
            why: format!("holds no time of a collective{more}; measure again"),
        })
    }
}
