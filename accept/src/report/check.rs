//! One check of a report: what was looked at, against what limit, what came out, and the evidence.
//!
//! A check is made by its constructors only, so that a pass without evidence cannot be made.

use serde::{Deserialize, Serialize};

use super::verdict::{ReasonCode, Verdict};
use crate::checks;

/// One check on one thing: a device, a pair, a node, or the box.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Check {
    /// Kind and thing, such as `h2d_pinned GPU0` or `p2p GPU0->GPU1`; unique in a report.
    pub(crate) id: String,
    /// Its kind: a row of [`crate::checks::KINDS`], such as `h2d_pinned`.
    pub(crate) kind: String,
    /// What it is about: labels of devices, `GPU0->GPU1`, `node 1`, or `box`.
    pub(crate) about: Vec<String>,
    /// Whether a box is not accepted without it.
    pub(crate) required: bool,
    /// What it came to.
    pub(crate) verdict: Verdict,
    /// Why.
    pub(crate) reason: Reason,
    /// What it was compared with; `None` where nothing was.
    pub(crate) limit: Option<Limit>,
    /// What was measured or seen.
    pub(crate) evidence: Vec<Evidence>,
    /// What to do; `None` where nothing is.
    #[serde(default)]
    pub(crate) advice: Option<String>,
}

impl Check {
    /// Whether it came to no result, and should have.
    pub(crate) fn is_open(&self) -> bool {
        match self.verdict {
            Verdict::Inconclusive => true,
            Verdict::Skip => self.reason.code != ReasonCode::NotApplicable,
            Verdict::Pass | Verdict::Warn | Verdict::Fail => false,
        }
    }
}

/// Why a check came to its verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reason {
    /// From the closed list.
    pub(crate) code: ReasonCode,
    /// What evidence and limit do not say, for people; empty where they say all. Nothing looks into it.
    #[serde(alias = "text", default)]
    pub(crate) detail: String,
}

/// What a figure is compared with.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Limit {
    /// On which side a good figure lies.
    pub(crate) good: Side,
    /// Beyond it the check fails; `None` where it only warns.
    pub(crate) fail: Option<f64>,
    /// Beyond it the check warns; `None` where there is no such line.
    pub(crate) warn: Option<f64>,
    /// Unit of both.
    pub(crate) unit: String,
    /// The most that its link carries, in this unit, where the lines are parts of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ceiling: Option<f64>,
    /// The link whose ceiling it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) link: Option<String>,
    /// The link that the profile asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ordered: Option<Ordered>,
    /// How they were worked out, such as `0.80 and 0.88 of 28.81 GB/s, what Gen4 x16 carries at 256 B payload`.
    pub(crate) basis: String,
    /// Where they come from: the profile's source, which says so where they are a choice.
    pub(crate) source: String,
}

/// A link that was ordered, and what it carries at most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ordered {
    pub(crate) link: String,
    /// In GB/s.
    pub(crate) ceiling: f64,
}

/// The good side of a limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Side {
    /// Good is at the limit or above.
    #[default]
    AtLeast,
    /// Good is at the limit or below.
    AtMost,
}

/// What was measured, counted or seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(crate) enum Evidence {
    /// A number with its samples.
    Measured {
        /// What it is, such as `bandwidth of 16 MiB copies`.
        what: String,
        /// The median.
        value: f64,
        /// Its unit: `GB/s`, `us`, `ms`, `1` for a ratio.
        unit: String,
        /// How many samples stand behind it.
        n: usize,
        /// Lower end of the 95% interval; `None` without one.
        low: Option<f64>,
        /// Upper end of it.
        high: Option<f64>,
        /// The samples, in `unit`; empty for a figure that is worked out of others.
        samples: Vec<f64>,
        /// Where it comes from: the record below the result folder, or a file.
        source: String,
    },
    /// A counter before and after.
    Counted {
        /// The counter and the device or bridge, such as `aer correctable of 0000:20:01.1`.
        what: String,
        /// Before the load.
        before: Option<u64>,
        /// After it.
        after: Option<u64>,
        /// Seconds between the readings.
        over_s: f64,
        /// Where it comes from.
        source: String,
    },
    /// A state or setting.
    Seen {
        /// What it is, such as `link at the slot under load`.
        what: String,
        /// As it was seen.
        value: String,
        /// As it was expected; `None` where nothing was.
        expected: Option<String>,
        /// How often it was read; 1 for a setting.
        n: usize,
        /// Whether its words are composed here; those of drivers and kernels are not handed on.
        #[serde(default)]
        own: bool,
        /// Where it comes from.
        source: String,
    },
}

/// A check before its verdict: what it is about, and whether it is required.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    kind: String,
    about: Vec<String>,
    required: bool,
}

/// At least one piece of evidence.
#[derive(Debug, Clone)]
pub(crate) struct Seen(Vec<Evidence>);

impl Seen {
    /// The first, and what else there is.
    pub(crate) fn new(first: Evidence, more: impl IntoIterator<Item = Evidence>) -> Self {
        Self(std::iter::once(first).chain(more).collect())
    }
}

impl From<Seen> for Vec<Evidence> {
    fn from(seen: Seen) -> Self {
        seen.0
    }
}

impl Subject {
    /// A check of this kind about these.
    pub(crate) fn new(kind: &str, about: impl IntoIterator<Item = String>, required: bool) -> Self {
        Self {
            kind: kind.to_owned(),
            about: about.into_iter().collect(),
            required,
        }
    }

    /// A verdict that rests on evidence.
    pub(crate) fn judged(
        self,
        verdict: Verdict,
        code: ReasonCode,
        text: String,
        limit: Option<Limit>,
        seen: Seen,
    ) -> Check {
        let required = self.required || (verdict == Verdict::Fail && code.is_fault());
        Self { required, ..self }.made(verdict, code, text, limit, seen.0)
    }

    /// Looked at and not told; what was seen may be nothing.
    pub(crate) fn open(
        self,
        code: ReasonCode,
        text: &str,
        limit: Option<Limit>,
        evidence: Vec<Evidence>,
    ) -> Check {
        self.made(
            Verdict::Inconclusive,
            code,
            text.to_owned(),
            limit,
            evidence,
        )
    }

    /// Not looked at.
    pub(crate) fn skipped(self, code: ReasonCode, text: &str) -> Check {
        self.made(Verdict::Skip, code, text.to_owned(), None, vec![])
    }

    fn made(
        self,
        verdict: Verdict,
        code: ReasonCode,
        text: String,
        limit: Option<Limit>,
        evidence: Vec<Evidence>,
    ) -> Check {
        let advice = advice(&self.kind, verdict, code);
        Check {
            id: format!("{} {}", self.kind, self.about.join(" ")),
            kind: self.kind,
            about: self.about,
            required: self.required,
            verdict,
            reason: Reason { code, detail: text },
            limit,
            evidence,
            advice,
        }
    }
}

/// What to do: by the check where its figure is bad, else by the code's page.
fn advice(kind: &str, verdict: Verdict, code: ReasonCode) -> Option<String> {
    match verdict {
        Verdict::Pass | Verdict::Skip => None,
        Verdict::Fail | Verdict::Warn if !code.is_fault() => {
            checks::kind(kind).map(|kind| kind.advice.to_owned())
        }
        _ => view::codes::todo(code.code()),
    }
}
