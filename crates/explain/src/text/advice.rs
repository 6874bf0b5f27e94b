//! Advice and next measurements as lines.

use crate::advise::Advice;
use crate::attribute::Measurement;
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
        if let Some(narrows) = self.narrows {
            return narrows.to_string();
        }
        let words = match (self.is_ablation(), self.share.measurement) {
            (true, _) => {
                "proves whether the step follows the link, for which a curve of this box gets grade B, and gives communication a lower figure; this interval stays as wide"
            }
            (false, Measurement::FirstToken) => {
                "tells what else is in a step; how wide this interval is then, nothing tells beforehand"
            }
            (false, _) if self.is_of_links() => {
                "tells which path the collectives can take; this interval stays as wide"
            }
            (false, _) => "times communication itself, and stands in the place of this interval",
        };
        words.to_owned()
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
