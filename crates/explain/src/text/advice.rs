//! Advice and next measurements as lines.

use crate::advise::Advice;
use crate::next::NextStep;

impl std::fmt::Display for Advice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}; ", self.what, self.why)?;
        match &self.effect {
            Some(effect) => effect.fmt(f)?,
            None => f.write_str("no gain is worked out")?,
        }
        write!(f, " [{}]", self.based_on)?;
        match &self.prove {
            Some(command) => write!(f, "; to see it: {command}"),
            None => Ok(()),
        }
    }
}

impl NextStep {
    /// What it does to the interval of communication.
    #[must_use]
    pub fn brings(&self) -> String {
        self.narrows.map_or_else(
            || "times communication itself, and stands in the place of this interval".to_owned(),
            |narrows| narrows.to_string(),
        )
    }
}

impl std::fmt::Display for NextStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} ({}", self.what, self.how, self.brings())?;
        if let Some(takes) = self.takes() {
            write!(f, "; {takes}")?;
        }
        f.write_str(")")
    }
}
