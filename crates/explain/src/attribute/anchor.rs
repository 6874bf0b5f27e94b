//! The step on one GPU as an anchor: what is taken as known must leave time to read the weights, and not much more.

use super::deck::Deck;
use super::draws::{Draw, Workload};
use super::work::range;
use crate::inputs::Inputs;
use crate::predict::Peak;
use crate::range::Range;

/// Matrix products that take more than this many times what the slowest known kernels take are not what is taken as known.
const SLOW: f64 = 1.5;

/// What reading the weights takes at least on one GPU, ms: at the whole bandwidth of its memory; 0 where that is not known.
pub(super) fn least_gemm_ms(inputs: &Inputs, bytes: f64) -> f64 {
    let peak = inputs.known.gpu.as_deref().and_then(Peak::of);
    // GB/s are 10^6 bytes a ms.
    peak.map_or(0.0, |peak| bytes / (peak.memory_gbps * 1e6))
}

/// Where the step on one GPU and what is taken as known do not fit, in words.
pub(super) fn off(
    inputs: &Inputs,
    workload: &Workload,
    deck: &Deck,
    all: &[Draw],
) -> Option<String> {
    let measured = range(all, |draw| draw.one)?;
    let others = range(all, |draw| draw.one - draw.gemm_of_one)?;
    let least = workload.least_gemm_ms;
    let left = Range {
        low: measured.mid - others.high,
        mid: measured.mid - others.mid,
        high: measured.mid - others.low,
    };
    let what = format!(
        "on one GPU attention, norms and host as they are taken as known take {} of {:.2} ms",
        others.with_decimals(2),
        measured.mid
    );
    if left.low < least {
        return Some(format!(
            "{what}, and reading the weights at least {least:.2}: ranges are too high for this box, and draws beyond that were dropped ({} and others; give better ones with --prior)",
            deck.prior(super::deck::Knob::Host)
                .map_or("host_ms", |prior| prior.name.as_str())
        ));
    }
    let slowest = inputs.prior("memory_efficiency")?.low;
    let most = SLOW * least / slowest;
    (least > 0.0 && left.low > most).then(|| {
        format!(
            "{what}, and the {} ms that are left are more than 1.5 times what kernels take that read weights at {slowest} of the memory's peak: GEMMs are slow here, or a range is too low for this box, and then what never shards is more than is said",
            left.with_decimals(2)
        )
    })
}
