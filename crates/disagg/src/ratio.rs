//! How many prefill and decode engines a machine's GPUs should run, who limits them, and whether to split at all.

/// Of a prefill engine's rate this much is planned with, as aiconfigurator 0.12 does (picking.py).
pub(crate) const PREFILL_SHARE: f64 = 0.9;

/// Of a decode engine's, and of an aggregated engine's.
pub(crate) const DECODE_SHARE: f64 = 0.92;

/// Below this ratio to the aggregated run nothing is gained: engines differ by as much from run to run.
const WORTH: f64 = 1.05;

/// What one engine of each kind is planned with within the limits of latency, in requests a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capacity {
    /// Prompts of a prefill engine.
    pub prefill_per_s: f64,
    /// Requests of a decode engine.
    pub decode_per_s: f64,
    /// What stops a decode engine from more.
    pub decode_limit: Limit,
    /// Prompts whose keys and values one engine's link carries.
    pub link_per_s: Option<f64>,
    /// GPUs of a prefill engine.
    pub prefill_gpus: u32,
    /// GPUs of a decode engine.
    pub decode_gpus: u32,
}

/// So many engines of each kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// Prefill engines.
    pub prefill: u32,
    /// Decode engines.
    pub decode: u32,
    /// GPUs of all of them.
    pub gpus: u32,
    /// Requests a second within the limits of latency.
    pub per_s: f64,
    /// What stops more.
    pub limit: Limit,
}

/// What stops a plan from serving more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Limit {
    /// Prefill engines.
    Prefill,
    /// Decode engines' steps.
    Decode,
    /// Decode engines' sequences.
    DecodeSlots,
    /// Decode engines' key-value memory.
    DecodeKv,
    /// The link between them.
    Link,
}

impl Limit {
    /// Its code.
    #[must_use]
    pub fn code(self) -> &'static str {
        self.into()
    }
}

/// Whether to split.
#[derive(Debug, Clone, Copy, PartialEq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Verdict {
    /// Split; the ratio of its requests a second and GPU to the aggregated ones, where those keep the limits.
    Split {
        /// The ratio.
        gain: Option<f64>,
    },
    /// Do not split.
    DoNotSplit {
        /// The ratio, where the split engines keep the limits.
        gain: Option<f64>,
    },
    /// Neither keeps the limits.
    Neither,
}

impl Verdict {
    /// Whether split engines are worth more than aggregated ones. Requests a second and GPU, 0 where the limits are not kept.
    #[must_use]
    pub fn of(split: f64, aggregated: f64) -> Self {
        let gain = split / aggregated;
        match (split > 0.0, aggregated > 0.0) {
            (false, false) => Self::Neither,
            (true, false) => Self::Split { gain: None },
            (false, true) => Self::DoNotSplit { gain: None },
            (true, true) if gain >= WORTH => Self::Split { gain: Some(gain) },
            (true, true) => Self::DoNotSplit { gain: Some(gain) },
        }
    }

    /// Its code.
    #[must_use]
    pub fn code(self) -> &'static str {
        self.into()
    }

    /// The ratio to aggregated engines, where both keep the limits.
    #[must_use]
    pub fn gain(self) -> Option<f64> {
        match self {
            Self::Split { gain } | Self::DoNotSplit { gain } => gain,
            Self::Neither => None,
        }
    }
}

/// What was measured of one arrangement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arm {
    /// Requests a second.
    pub per_s: f64,
    /// GPUs.
    pub gpus: u32,
    /// Time to first token, s.
    pub ttft_s: f64,
    /// 99th percentile of the time between tokens, s.
    pub itl_p99_s: f64,
}

/// Limits of latency, s; infinite where there is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slo {
    /// Of the time to first token; of engines on paper of its 99th percentile.
    pub ttft_s: f64,
    /// Of the time per output token, of engines on paper.
    pub tpot_s: f64,
    /// Of the 99th percentile of the time between tokens.
    pub itl_p99_s: f64,
}

impl Capacity {
    /// What so many engines serve together, and what stops more.
    fn of(&self, prefill: u32, decode: u32) -> (f64, Limit) {
        let (x, y) = (f64::from(prefill), f64::from(decode));
        // A prompt leaves through one link and comes in through another.
        let link = self.link_per_s.map(|rate| rate * x.min(y));
        let rates = [
            (x * self.prefill_per_s, Limit::Prefill),
            (y * self.decode_per_s, self.decode_limit),
            (link.unwrap_or(f64::INFINITY), Limit::Link),
        ];
        let least = rates.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
        least.unwrap_or((0.0, Limit::Prefill))
    }

    /// So many engines of each kind.
    #[must_use]
    pub fn plan(&self, prefill: u32, decode: u32) -> Plan {
        let (per_s, limit) = self.of(prefill, decode);
        Plan {
            prefill,
            decode,
            gpus: prefill * self.prefill_gpus + decode * self.decode_gpus,
            per_s,
            limit,
        }
    }
}

/// The numbers of engines that serve the most requests on these GPUs, of equals those with the fewest GPUs. `None` where there is no
/// room for one of each.
#[must_use]
pub fn solve(capacity: &Capacity, gpus: u32) -> Option<Plan> {
    let mut best: Option<Plan> = None;
    let (p, d) = (capacity.prefill_gpus.max(1), capacity.decode_gpus.max(1));
    for prefill in 1..=gpus / p {
        for decode in 1..=(gpus - prefill * p) / d {
            let plan = capacity.plan(prefill, decode);
            let is_better = |best: &Plan| {
                plan.per_s > best.per_s * (1.0 + 1e-9)
                    || (plan.per_s >= best.per_s * (1.0 - 1e-9) && plan.gpus < best.gpus)
            };
            if best.as_ref().is_none_or(is_better) {
                best = Some(plan);
            }
        }
    }
    best
}

/// Whether to split, from runs of both at the same load: who keeps the limits, and of two that do who serves more a GPU.
#[must_use]
pub fn judge(split: &Arm, aggregated: &Arm, slo: &Slo) -> Verdict {
    let keeps = |arm: &Arm| arm.ttft_s <= slo.ttft_s && arm.itl_p99_s <= slo.itl_p99_s;
    let per_gpu = |arm: &Arm| match keeps(arm) {
        true => arm.per_s / f64::from(arm.gpus.max(1)),
        false => 0.0,
    };
    Verdict::of(per_gpu(split), per_gpu(aggregated))
}
