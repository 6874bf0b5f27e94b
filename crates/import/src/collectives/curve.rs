//! One point of a collective's curve, whoever measured it.

use serde::{Deserialize, Serialize};

use record::quantity::is_above_zero;
use record::{CallMode, CollectiveKind};

/// The time of one collective at one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// The operation.
    pub kind: CollectiveKind,
    /// Number of ranks.
    pub ranks: u32,
    /// As [`record::CollectivePoint::bytes_per_rank`]: of an all-gather what each rank contributes, not the gathered whole.
    pub bytes_per_rank: u64,
    /// Time of one call, us.
    pub us: f64,
    /// Lower end of its 95% interval, us; `None` where the file has no samples to make one from.
    pub low: Option<f64>,
    /// Upper end of it, us.
    pub high: Option<f64>,
    /// Samples behind it; `None` where the file does not say. A mean over the calls of
    /// one loop is one sample.
    pub n: Option<u64>,
    /// How calls followed each other; `None` where the file does not say.
    pub mode: Option<CallMode>,
    /// The library that did it, such as `nccl`, or `host` for shared host memory; `None` where the file does not say.
    pub library: Option<String>,
    /// The engine's own code that did it; `None` for the library.
    pub engine: Option<String>,
    /// The file it came from.
    pub origin: String,
    /// The simulated machine behind it, where it is simulated.
    pub simulated: Option<String>,
}

impl CurvePoint {
    /// Whether its time is told from none at all, as [`is_above_zero`] has it.
    #[must_use]
    pub fn is_above_zero(&self) -> bool {
        is_above_zero(self.us, self.low)
    }
}
