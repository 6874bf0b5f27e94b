//! What a published result of split engines says of itself: a rate that was not kept up, requests that waited for a slot, and a limit
//! that only the mean keeps.

/// A rate that is below this share of the one that was offered was not kept up.
const SUSTAINED: f64 = 0.9;

/// After the last arrival, engines that keep up take no longer than this many of one request's own length.
const OWN_LENGTHS: f64 = 2.0;

/// A result, with what is known of the engines.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Claim {
    /// Requests that were answered.
    pub requests: f64,
    /// Seconds from the first request to the last reply.
    pub duration_s: f64,
    /// Requests a second that were offered.
    pub offered_per_s: Option<f64>,
    /// Requests that were to be in flight at once; `None` without a limit.
    pub in_flight: Option<f64>,
    /// Seconds of a request after its first token.
    pub decode_s: Option<f64>,
    /// Sequences that the engine runs at once (`--max-num-seqs`).
    pub slots: Option<f64>,
    /// Mean time to first token, ms.
    pub ttft_mean_ms: f64,
    /// A high percentile of it, ms.
    pub ttft_tail_ms: Option<f64>,
    /// The limit of the time to first token, ms.
    pub limit_ms: Option<f64>,
}

/// What is wrong with a claim.
#[derive(Debug, Clone, Copy, PartialEq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Finding {
    /// More was offered than was served: the rate is that of a burst.
    RateNotSustained {
        /// Requests a second that were offered.
        offered: f64,
        /// Requests a second that were served.
        served: f64,
    },
    /// Requests that could not run before others had ended.
    WaitedForSlots {
        /// Requests that waited.
        waited: f64,
        /// All of them.
        of: f64,
    },
    /// The limit is kept by the mean and not by a high percentile.
    #[strum(serialize = "slo-by-mean")]
    LimitByMean {
        /// The mean, ms.
        mean_ms: f64,
        /// The high percentile, ms.
        tail_ms: f64,
    },
}

impl Finding {
    /// Its code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.into()
    }
}

impl Claim {
    /// Whether requests came for at least as long as one lasts, and the last reply was no later than its own length explains.
    fn ends_as_it_must(&self, offered_per_s: f64) -> bool {
        let came_s = self.requests / offered_per_s;
        self.decode_s
            .is_some_and(|own_s| own_s <= came_s && self.duration_s - came_s <= OWN_LENGTHS * own_s)
    }
}

/// What is wrong with a claim; empty where nothing is, or too little is known.
#[must_use]
pub fn check(claim: &Claim) -> Vec<Finding> {
    let mut findings = Vec::new();
    let served = claim.requests / claim.duration_s;
    if let Some(offered) = claim
        .offered_per_s
        .filter(|offered| served < SUSTAINED * offered && !claim.ends_as_it_must(*offered))
    {
        findings.push(Finding::RateNotSustained { offered, served });
    }
    let at_once = claim
        .in_flight
        .map_or(claim.requests, |most| most.min(claim.requests));
    if let Some(slots) = claim.slots.filter(|slots| at_once > *slots)
        // All requests had come before the first one ended.
        && claim.offered_per_s.is_none_or(|rate| claim.requests / rate < 0.5 * claim.duration_s)
    {
        findings.push(Finding::WaitedForSlots {
            waited: claim.requests - slots,
            of: claim.requests,
        });
    }
    if let (Some(limit), Some(tail_ms)) = (claim.limit_ms, claim.ttft_tail_ms)
        && claim.ttft_mean_ms <= limit
        && tail_ms > limit
    {
        findings.push(Finding::LimitByMean {
            mean_ms: claim.ttft_mean_ms,
            tail_ms,
        });
    }
    findings
}
