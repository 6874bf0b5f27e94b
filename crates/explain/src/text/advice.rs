//! Advice and next measurements as lines.

use crate::advise::Advice;
use crate::attribute::Measurement;
use crate::next::{NextStep, Raises};

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
        if self.is_ablation() {
            let proves = "proves whether the step follows the link";
            let figure = "gives communication a lower figure";
            return match &self.raises {
                Some(Raises::ToB) => format!(
                    "{proves}, for which the curve of this box gets grade B, and {figure}; this interval stays as wide"
                ),
                Some(Raises::Not { why }) => format!(
                    "{proves}, and {figure}; it raises no grade {why}; this interval stays as wide"
                ),
                None => format!("{proves}, and {figure}; this interval stays as wide"),
            };
        }
        let words = match self.share.measurement {
            Measurement::FirstToken => {
                "tells what else is in a step; how wide this interval is then, nothing tells beforehand"
            }
            Measurement::HalfModel => {
                "tells which of those that contradict each other holds; this interval stays as wide"
            }
            _ if self.is_of_links() => {
                "tells which path the collectives can take; this interval stays as wide"
            }
            _ => "times communication itself, and stands in the place of this interval",
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
