//! One check of a report: what was looked at, against what limit, what came out, and the evidence.
//!
//! A check is made of a [`Came`] only, which makes no pass without evidence.

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
        let is_skipped = self.verdict == Verdict::Skip;
        let applies = self.reason.code != ReasonCode::NotApplicable;
        self.verdict == Verdict::Inconclusive || is_skipped && applies
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
    Measured(Measured),
    /// A counter before and after.
    Counted(Counted),
    /// A state or setting.
    Seen(Seen),
}

/// A figure with what is known of it. How figures are worked out of others stands in `judge::three_way`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measured {
    /// What it is, such as `bandwidth of 16 MiB copies`.
    pub(crate) what: String,
    /// The median, or what was worked out of medians.
    pub(crate) value: f64,
    /// Its unit: `GB/s`, `us`, `ms`, `1` for a ratio.
    pub(crate) unit: String,
    /// How many samples stand behind it; of a figure that is worked out of several, those of the one that has fewest.
    pub(crate) n: usize,
    /// Lower end of the 95% interval; `None` without one.
    pub(crate) low: Option<f64>,
    /// Upper end of it.
    pub(crate) high: Option<f64>,
    /// The samples, in `unit`; empty for a figure that is worked out of others.
    pub(crate) samples: Vec<f64>,
    /// Where it comes from: the record below the result folder, or a file.
    pub(crate) source: String,
}

/// A counter before and after.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counted {
    /// The counter and the device or bridge, such as `aer correctable of 0000:20:01.1`.
    pub(crate) what: String,
    /// Before the load.
    pub(crate) before: Option<u64>,
    /// After it.
    pub(crate) after: Option<u64>,
    /// Seconds between the readings.
    pub(crate) over_s: f64,
    /// Where it comes from.
    pub(crate) source: String,
}

/// A state or setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Seen {
    /// What it is, such as `link at the slot under load`.
    pub(crate) what: String,
    /// As it was seen.
    pub(crate) value: String,
    /// As it was expected; `None` where nothing was.
    pub(crate) expected: Option<String>,
    /// How often it was read; 1 for a setting.
    pub(crate) n: usize,
    /// Whether its words are composed here; those of drivers and kernels are not handed on.
    #[serde(default)]
    pub(crate) own: bool,
    /// Where it comes from.
    pub(crate) source: String,
}

/// What a check came to, before it is said what it is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Came {
    pub(crate) verdict: Verdict,
    pub(crate) code: ReasonCode,
    /// What evidence and limit do not say.
    pub(crate) detail: String,
    pub(crate) limit: Option<Limit>,
    /// What decides stands first.
    pub(crate) evidence: Vec<Evidence>,
}

impl Came {
    /// A verdict without anything that was measured or seen.
    pub(crate) fn new(verdict: Verdict, code: ReasonCode) -> Self {
        Self {
            verdict,
            code,
            detail: String::new(),
            limit: None,
            evidence: Vec::new(),
        }
    }

    /// Seen as it should be.
    pub(crate) fn pass(evidence: impl Into<Evidence>) -> Self {
        Self::new(Verdict::Pass, ReasonCode::AsExpected).with([evidence])
    }

    /// A fault that was seen.
    pub(crate) fn fail(code: ReasonCode, evidence: impl Into<Evidence>) -> Self {
        Self::new(Verdict::Fail, code).with([evidence])
    }

    /// Seen as it should be, or a fault of this code.
    pub(crate) fn seen(is_good: bool, code: ReasonCode, evidence: impl Into<Evidence>) -> Self {
        match is_good {
            true => Self::pass(evidence),
            false => Self::fail(code, evidence),
        }
    }

    /// Looked at and not told.
    pub(crate) fn open(code: ReasonCode) -> Self {
        Self::new(Verdict::Inconclusive, code)
    }

    /// Not looked at.
    pub(crate) fn skip(code: ReasonCode) -> Self {
        Self::new(Verdict::Skip, code)
    }

    /// The verdict that a reason by itself leaves to what has no evidence; never a pass.
    pub(crate) fn without(code: ReasonCode) -> Self {
        match code {
            ReasonCode::NotApplicable | ReasonCode::LeftOut => Self::skip(code),
            code if code.is_fault() => Self::new(Verdict::Fail, code),
            _ => Self::open(code),
        }
    }

    /// The same with a detail.
    pub(crate) fn saying(self, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self { detail, ..self }
    }

    /// The same with more evidence.
    pub(crate) fn with<E: Into<Evidence>>(mut self, more: impl IntoIterator<Item = E>) -> Self {
        self.evidence.extend(more.into_iter().map(Into::into));
        self
    }

    /// The same against a limit.
    pub(crate) fn by(self, limit: Option<Limit>) -> Self {
        Self { limit, ..self }
    }

    /// The worst of several, with the details of all that are not good and the evidence of all.
    pub(crate) fn worst(mut all: Vec<Self>) -> Option<Self> {
        all.sort_by_key(|one| std::cmp::Reverse(one.verdict.severity()));
        let bad = all.iter().filter(|one| one.verdict != Verdict::Pass);
        let details = bad.map(|one| one.detail.as_str());
        let details: Vec<&str> = details.filter(|detail| !detail.is_empty()).collect();
        let detail = details.join("; ");
        let mut all = all.into_iter();
        let first = all.next()?.saying(detail);
        Some(first.with(all.flat_map(|one| one.evidence)))
    }

    /// Whether it condemns what it is about, whatever other runs of the same gave.
    pub(crate) fn is_fault(&self) -> bool {
        self.verdict == Verdict::Fail
    }

    /// The check of a kind about these. A pass without evidence is none; what sees faults rejects though nobody requires it.
    pub(crate) fn check(self, kind: &str, about: &[&str], is_required: bool) -> Check {
        let (verdict, code) = match self.verdict {
            Verdict::Pass if self.evidence.is_empty() => {
                (Verdict::Inconclusive, ReasonCode::Unreadable)
            }
            verdict => (verdict, self.code),
        };
        let share = self.limit.as_ref().and_then(|limit| limit.ceiling);
        // What to do: by the check where its figure is bad, else by the code's page. From which share of a link on it warns is assumed.
        let advice = match (verdict, share) {
            (Verdict::Pass | Verdict::Skip, _) => None,
            (Verdict::Fail, _) | (Verdict::Warn, None) if !code.is_fault() => {
                checks::kind(kind).map(|kind| kind.advice.to_owned())
            }
            _ => view::codes::todo(code.code()),
        };
        let sees_fault = verdict == Verdict::Fail && (code.is_fault() || checks::sees_faults(kind));
        Check {
            id: format!("{kind} {}", about.join(" ")),
            kind: kind.to_owned(),
            about: about.iter().map(|about| (*about).to_owned()).collect(),
            required: is_required || sees_fault,
            verdict,
            reason: Reason {
                code,
                detail: self.detail,
            },
            limit: self.limit,
            evidence: self.evidence,
            advice,
        }
    }
}

impl Evidence {
    /// The figure, where it is one.
    pub(crate) fn measured(&self) -> Option<&Measured> {
        match self {
            Self::Measured(measured) => Some(measured),
            _ => None,
        }
    }

    /// What was looked at.
    pub(crate) fn what(&self) -> &str {
        match self {
            Self::Measured(Measured { what, .. })
            | Self::Counted(Counted { what, .. })
            | Self::Seen(Seen { what, .. }) => what,
        }
    }
}

impl Counted {
    /// A counter that was read twice.
    pub(crate) fn of(what: &str, (before, after): (u64, u64), source: &str) -> Self {
        Self {
            what: what.to_owned(),
            before: Some(before),
            after: Some(after),
            over_s: 0.0,
            source: source.to_owned(),
        }
    }
}

impl Seen {
    /// Something that was looked at once, in words composed here.
    pub(crate) fn of(what: &str, value: impl ToString, source: &str) -> Self {
        Self {
            what: what.to_owned(),
            value: value.to_string(),
            expected: None,
            n: 1,
            own: true,
            source: source.to_owned(),
        }
    }

    /// The same, looked at so many times.
    pub(crate) fn times(self, n: usize) -> Self {
        Self { n, ..self }
    }

    /// The same beside what was expected.
    pub(crate) fn expecting(self, what: impl ToString) -> Self {
        let expected = Some(what.to_string());
        Self { expected, ..self }
    }

    /// The same in words of drivers, kernels or other programs, which are not handed on.
    pub(crate) fn quoted(self) -> Self {
        Self { own: false, ..self }
    }
}

macro_rules! is_evidence {
    ($($of:ident),+) => {
        $(impl From<$of> for Evidence {
            fn from(it: $of) -> Self {
                Self::$of(it)
            }
        })+
    };
}

is_evidence!(Measured, Counted, Seen);
