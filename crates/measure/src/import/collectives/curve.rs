//! One point of a collective's curve, whoever measured it.

use serde::{Deserialize, Serialize};

use crate::import::error::ImportError;
use crate::record::{CallMode, CollectiveKind};

/// The time of one collective at one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// The operation.
    pub kind: CollectiveKind,
    /// Number of ranks.
    pub ranks: u32,
    /// All-reduce: bytes of each rank's message. All-gather: bytes that each rank contributes, not the gathered whole.
    pub bytes_per_rank: u64,
    /// Time of one call, us.
    pub us: f64,
    /// Lower end of its 95% interval, us; `None` where the file has no samples to make one from.
    pub low: Option<f64>,
    /// Upper end of it, us.
    pub high: Option<f64>,
    /// Samples behind it; `None` where the file does not say. A mean over the calls of one loop is one sample.
    pub n: Option<u64>,
    /// How calls followed each other; `None` where the file does not say.
    pub mode: Option<CallMode>,
    /// The library that did it, such as `nccl`, or `host` for shared host memory; `None` where the file does not say.
    pub library: Option<String>,
    /// The file it came from.
    pub origin: String,
    /// The soft box behind it, where it is simulated.
    pub simulated: Option<String>,
}

/// No call takes longer, us; more is another unit, such as nanoseconds.
const LONGEST_US: f64 = 60e6;

/// No call between two processes is shorter, us: a message and its answer take longer. Less is another unit.
const SHORTEST_US: f64 = 0.1;

/// No box moves more, GB/s of algorithm bandwidth; more is another unit, such as seconds.
const FASTEST_GB_PER_S: f64 = 3000.0;

impl CurvePoint {
    /// Refuses a time that cannot be one in microseconds; `key` says where it stands.
    pub(super) fn plausible(self, key: &str) -> Result<Self, ImportError> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "messages are far below 2^53 bytes"
        )]
        let bytes = match self.kind {
            CollectiveKind::AllReduce => self.bytes_per_rank as f64,
            CollectiveKind::AllGather => self.bytes_per_rank as f64 * f64::from(self.ranks),
        };
        let speed = bytes / (self.us * 1e3);
        let seen = if self.us > LONGEST_US {
            format!("{} us, which is {} s a call", self.us, self.us / 1e6)
        } else if speed > FASTEST_GB_PER_S {
            format!(
                "{} us, which is {speed:.0} GB/s of algorithm bandwidth",
                self.us
            )
        } else if self.us < SHORTEST_US {
            format!("{} us, less than any message takes", self.us)
        } else {
            return Ok(self);
        };
        Err(ImportError::Nonsense {
            origin: self.origin,
            key: key.to_owned(),
            seen,
            want: "the time of one call in us; is it in another unit?".to_owned(),
        })
    }
}
