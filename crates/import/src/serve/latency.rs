//! The four latency metrics by their names in the field, and their statistics.

use serde::Serialize;

use crate::number::counted;

use record::metric::{e2el, itl, tpot, ttft};
use record::{Distribution, ServeRequest};
use stats::{distribution, distribution_pooled};

/// A latency metric, by its name in the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Latency {
    /// Time to first token.
    Ttft,
    /// Time per output token after the first.
    Tpot,
    /// Gap between chunks that carry tokens.
    Itl,
    /// End-to-end latency.
    E2el,
}

/// A statistic of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Statistic {
    Mean,
    Min,
    /// In tenths of a percent.
    Percentile(u16),
    Max,
}

impl Statistic {
    pub(super) const MEDIAN: Self = Self::Percentile(500);

    /// By its name: `mean`, `median`, `min`, `max`, `p99` or `p99.9`.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "mean" => Self::Mean,
            "median" => Self::MEDIAN,
            "min" => Self::Min,
            "max" => Self::Max,
            _ => {
                let percent: f64 = name.strip_prefix('p')?.parse().ok()?;
                let tenths = counted(percent * 10.0).filter(|tenths| *tenths <= 1000)?;
                Self::Percentile(tenths.try_into().ok()?)
            }
        })
    }
}

impl Latency {
    /// All, in the order of vLLM's block.
    pub const ALL: [Self; 4] = [Self::Ttft, Self::Tpot, Self::Itl, Self::E2el];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ttft => "TTFT",
            Self::Tpot => "TPOT",
            Self::Itl => "ITL",
            Self::E2el => "E2EL",
        }
    }

    /// The values of one request, ms: one, or for ITL one a gap.
    pub(super) fn of(self, request: &ServeRequest) -> Vec<f64> {
        let one = |value: Option<f64>| value.into_iter().collect();
        match self {
            Self::Ttft => one(ttft(request)),
            Self::Tpot => one(tpot(request)),
            Self::Itl => itl(request),
            Self::E2el => vec![e2el(request)],
        }
    }

    /// The distribution over requests that succeeded; `None` where they have no such value.
    pub(super) fn over(self, requests: &[ServeRequest]) -> Option<Distribution> {
        let succeeded = requests.iter().filter(|request| request.error.is_none());
        let groups: Vec<Vec<f64>> = succeeded.map(|request| self.of(request)).collect();
        match self {
            Self::Itl => distribution_pooled(&groups),
            _ => distribution(&groups.concat()),
        }
    }
}
