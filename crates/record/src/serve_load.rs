//! The load of a serving benchmark: when requests are sent, and what they must keep.

use serde::{Deserialize, Serialize};

/// When requests are sent. Rates are requests per second.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Arrivals {
    /// Each request that ends is followed by the next.
    #[default]
    ClosedLoop,
    /// All at the first instant; a limit of requests in flight holds them back.
    AllAtOnce,
    /// At equal distances.
    Constant {
        /// Requests per second.
        rate: f64,
    },
    /// At exponential distances.
    Poisson {
        /// Requests per second in the mean.
        rate: f64,
    },
    /// At gamma distances with this shape: below 1 in bursts, above 1 more even than Poisson (vLLM's `--burstiness`).
    Gamma {
        /// Requests per second in the mean.
        rate: f64,
        /// Shape of the gamma distribution.
        burstiness: f64,
    },
    /// The rate goes from one value to another over the run, at exponential distances.
    Ramp {
        /// Requests per second at the beginning.
        from: f64,
        /// Requests per second at the end.
        to: f64,
        /// Whether by equal factors instead of equal steps.
        exponential: bool,
    },
    /// At the instants of a trace.
    Trace {
        /// Requests per second in the mean.
        rate: f64,
    },
}

impl Arrivals {
    /// Whether the schedule, not the replies, decides when a request is sent.
    #[must_use]
    pub fn is_open_loop(&self) -> bool {
        !matches!(self, Self::ClosedLoop)
    }

    /// Requests per second in the mean; `None` where no rate was asked for.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        match self {
            Self::ClosedLoop | Self::AllAtOnce => None,
            Self::Constant { rate }
            | Self::Poisson { rate }
            | Self::Gamma { rate, .. }
            | Self::Trace { rate } => Some(*rate),
            Self::Ramp { from, to, .. } => Some(f64::midpoint(*from, *to)),
        }
    }
}

/// Limits that a request keeps to count in the goodput, ms; at least one is there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Goals {
    /// Time to first token at most.
    pub ttft_ms: Option<f64>,
    /// Time per output token at most.
    pub tpot_ms: Option<f64>,
    /// End-to-end latency at most.
    pub e2el_ms: Option<f64>,
}
