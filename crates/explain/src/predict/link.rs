//! What a prediction starts from, and an all-reduce curve from nothing but a link's rate: what NCCL's own tuning model gives, to be widened by a prior.

use import::CurvePoint;
use record::{CallMode, CollectiveKind};

use crate::inputs::Inputs;

/// The library or engine of collective times that a box file states.
pub const DESCRIBED: &str = "described";

/// What a prediction starts from.
#[derive(Debug, Clone)]
pub struct PredictInputs {
    /// Model, engines of every size, collective times, box and priors. Its serving results are of one GPU, where the model was
    /// served on one; `tp` is not read.
    pub base: Inputs,
    /// Tensor parallel sizes that are asked about.
    pub sizes: Vec<u32>,
    /// Sequences that decode at once.
    pub batch: u32,
    /// Prompt tokens of a request.
    pub input_tokens: f64,
    /// Output tokens of a request.
    pub output_tokens: f64,
    /// The slowest link between the GPUs, where it is known and there is no curve.
    pub link: Option<Link>,
}

/// A link between GPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// GB/s one way.
    pub gbps: f64,
    /// Whether it is NVLink or another fabric of the GPUs' own; else it is PCIe.
    pub fabric: bool,
    /// Where the rate comes from.
    pub source: String,
}

/// A protocol of NCCL's ring: us to start, us for each step over a link, and the share of the link's rate that it reaches.
struct Protocol {
    base_us: f64,
    pcie_us: f64,
    fabric_us: f64,
    share: f64,
}

/// NCCL 2.27 `src/graph/tuning.cc` (`baseLat`, `hwLat`): LL carries a flag beside every word of data, so that it reaches half
/// the rate; Simple reaches what a copy does.
const PROTOCOLS: [Protocol; 2] = [
    Protocol {
        base_us: 6.6,
        pcie_us: 1.0,
        fabric_us: 0.6,
        share: 0.5,
    },
    Protocol {
        base_us: 8.4,
        pcie_us: 5.7,
        fabric_us: 3.4,
        share: 1.0,
    },
];

impl Link {
    /// Times at every power of two from 1 KiB to 64 MiB, the faster protocol at each.
    pub(super) fn curve(&self, ranks: u32, eager: bool) -> Vec<CurvePoint> {
        let steps = f64::from(2 * ranks.saturating_sub(1));
        let time = |protocol: &Protocol, power: u32| {
            let step = match self.fabric {
                true => protocol.fabric_us,
                false => protocol.pcie_us,
            };
            // Each rank sends 2 (n - 1) / n of its message; a GB/s is 1000 bytes a us.
            let sent = steps / f64::from(ranks) * 2f64.powi(power.cast_signed());
            protocol.base_us + steps * step + sent / (self.gbps * protocol.share * 1e3)
        };
        let point = |power: u32| CurvePoint {
            kind: CollectiveKind::AllReduce,
            ranks,
            bytes_per_rank: 1 << power,
            us: time(&PROTOCOLS[0], power).min(time(&PROTOCOLS[1], power)),
            low: None,
            high: None,
            n: None,
            // The model's start-up times are of a call, however it is launched: no further factor for the mode.
            mode: Some(match eager {
                true => CallMode::BackToBack,
                false => CallMode::Graph,
            }),
            library: Some("nccl".to_owned()),
            engine: None,
            origin: self.source.clone(),
            simulated: None,
        };
        (10..=26).map(point).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ranks_over_pcie_start_at_the_models_latency_and_end_at_the_links_rate() {
        let link = Link {
            gbps: 25.0,
            fabric: false,
            source: "a test".to_owned(),
        };
        let points = link.curve(2, false);
        // LL at 4 KiB: 6.6 + 2 * 1.0 + 4096 / 12500 = 8.93 us.
        assert!((points[2].us - 8.93).abs() < 0.01, "{}", points[2].us);
        // Simple at 64 MiB: 8.4 + 2 * 5.7 + 67108864 / 25000 = 2704 us.
        assert!((points[16].us - 2704.0).abs() < 1.0, "{}", points[16].us);
    }
}
