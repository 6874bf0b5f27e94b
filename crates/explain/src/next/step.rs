//! A measurement that would narrow an interval, with what it brings and takes. Which there are, and their order, stand elsewhere.

use serde::{Deserialize, Serialize};

use crate::attribute::VarianceShare;

/// How the command of an ablation begins.
const ABLATE: &str = "serve-bench ablate";

/// How the command that measures links begins.
const LINKS: &str = "p2p-bw";

/// A measurement that would narrow an interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NextStep {
    /// What would be measured, and what of the variance it explains to first order; of what only replaces the interval, at most.
    pub share: VarianceShare,
    /// What to measure.
    pub what: String,
    /// How.
    pub how: String,
    /// What it does to the interval of communication that is reported; `None` where it would give another figure instead.
    #[serde(default)]
    pub narrows: Option<Narrowing>,
    /// What it takes, minutes: a server's start is taken for 5, on a soft box for a few seconds.
    #[serde(default)]
    pub minutes: Option<f64>,
    /// What an ablation would do to a grade; `None` of other measurements, and in explanations from before it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raises: Option<Raises>,
}

/// What an ablation would do to a grade if the step followed the link and nothing contradicted that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Raises {
    /// The all-reduces by this box's curve would be graded B.
    ToB,
    /// None would be raised.
    Not {
        /// Why, or before what, to stand behind `it raises no grade`.
        why: String,
    },
}

impl NextStep {
    /// What it takes, in words.
    #[must_use]
    pub fn takes(&self) -> Option<String> {
        self.minutes.map(|minutes| match minutes < 1.5 {
            true => format!("about {:.0} s", minutes * 60.0),
            false => format!("about {minutes:.0} minutes"),
        })
    }

    /// Whether it is the slope test of an ablation.
    pub(crate) fn is_ablation(&self) -> bool {
        self.how.starts_with(ABLATE)
    }

    /// Whether it is a look at the links themselves.
    pub(crate) fn is_of_links(&self) -> bool {
        self.how.starts_with(LINKS)
    }
}

/// How a measurement would narrow the interval of communication that is reported.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Narrowing {
    /// Share of its variance that goes: one less the square of the widths' ratio, 0 to 1.
    pub share: f64,
    /// Its width now, 5% to 95%, ms.
    pub now_ms: f64,
    /// The width that is expected after, ms.
    pub after_ms: f64,
}

impl std::fmt::Display for Narrowing {
    /// With as many digits as tell the two widths apart.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = |decimals: &usize| {
            let text = |ms: f64| format!("{ms:.decimals$}");
            text(self.now_ms) != text(self.after_ms)
        };
        let decimals = (1..=3).find(digits).unwrap_or(3);
        write!(
            f,
            "settles {:.0}% of the variance of communication as reported: from {:.decimals$} to about {:.decimals$} ms between 5% and 95%",
            self.share * 100.0,
            self.now_ms,
            self.after_ms
        )
    }
}
