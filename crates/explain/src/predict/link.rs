//! An all-reduce curve from nothing but a link's rate: what NCCL's own tuning model gives, to be widened by a prior.

use import::CurvePoint;
use record::{CallMode, CollectiveKind};

use super::inputs::Link;
use crate::attribute::TimeSource;

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

/// What such times are.
pub(super) fn source(link: &Link) -> TimeSource {
    TimeSource::Formula {
        gb_per_s: link.gbps,
        source: link.source.clone(),
    }
}

/// Times at every power of two from 4 KiB to 64 MiB, the faster protocol at each.
pub(super) fn curve(link: &Link, ranks: u32, eager: bool) -> Vec<CurvePoint> {
    let steps = f64::from(2 * ranks.saturating_sub(1));
    (12..=26)
        .map(|power: u32| {
            let bytes = 1_u64 << power;
            // Each rank sends 2 (n - 1) / n of its message; a GB/s is 1000 bytes a us.
            let sent = steps / f64::from(ranks) * 2f64.powi(power.cast_signed());
            let time = |protocol: &Protocol| {
                let step = if link.fabric {
                    protocol.fabric_us
                } else {
                    protocol.pcie_us
                };
                protocol.base_us + steps * step + sent / (link.gbps * protocol.share * 1e3)
            };
            CurvePoint {
                kind: CollectiveKind::AllReduce,
                ranks,
                bytes_per_rank: bytes,
                us: PROTOCOLS.iter().map(time).fold(f64::INFINITY, f64::min),
                low: None,
                high: None,
                n: None,
                // The model's start-up times are of a call, however it is launched: no further factor for the mode.
                mode: Some(if eager {
                    CallMode::BackToBack
                } else {
                    CallMode::Graph
                }),
                library: Some("nccl".to_owned()),
                engine: None,
                origin: link.source.clone(),
                simulated: None,
            }
        })
        .collect()
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
        let points = curve(&link, 2, false);
        // LL at 4 KiB: 6.6 + 2 * 1.0 + 4096 / 12500 = 8.93 us.
        assert!((points[0].us - 8.93).abs() < 0.01, "{}", points[0].us);
        // Simple at 64 MiB: 8.4 + 2 * 5.7 + 67108864 / 25000 = 2704 us.
        assert!((points[14].us - 2704.0).abs() < 1.0, "{}", points[14].us);
    }
}
