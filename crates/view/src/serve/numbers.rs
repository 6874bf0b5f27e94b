//! The numbers of a run in the order in which they are shown.

use record::metric;
use record::{Distribution, Serve, ServeSummary, summarise};

/// The summary; of a run that was broken off that of the requests that ended.
pub(crate) fn summary(serve: &Serve) -> Option<ServeSummary> {
    let goals = serve.load.as_ref().and_then(|load| load.goals.as_ref());
    let streamed = serve.target.as_ref().is_some_and(|target| target.streamed);
    let of_requests = || summarise(&serve.requests, streamed, goals);
    serve.summary.clone().or_else(of_requests)
}

/// vLLM's metrics in its order, then ours.
pub(crate) fn distributions(of: &ServeSummary) -> Vec<(metric::Metric, &Distribution)> {
    let all = [
        (metric::TTFT, &of.ttft_ms),
        (metric::TPOT, &of.tpot_ms),
        (metric::ITL, &of.itl_ms),
        (metric::E2EL, &of.e2el_ms),
        (metric::TTFC, &of.ttfc_ms),
        (metric::ITL_PER_TOKEN, &of.itl_per_token_ms),
        (metric::TPOT_DECODE, &of.tpot_decode_ms),
        (metric::TPOT_MIXED, &of.tpot_mixed_ms),
        (metric::QUEUE_TIME, &of.queue_ms),
        (metric::E2EL_INTENDED, &of.e2el_intended_ms),
        (metric::INPUT_LENGTH, &of.input_lengths),
        (metric::OUTPUT_LENGTH, &of.output_lengths),
    ];
    let known = all.into_iter();
    let known = known.filter_map(|(metric, spread)| Some((metric, spread.as_ref()?)));
    known.collect()
}

/// The same without what says nothing that another does not.
pub(super) fn telling(of: &ServeSummary) -> Vec<(metric::Metric, &Distribution)> {
    let mut all = distributions(of);
    let mean = |of: &Option<Distribution>| of.as_ref().map(|of| of.mean);
    let n = |of: &Option<Distribution>| of.as_ref().map(|of| of.n);
    all.retain(|(metric, spread)| match *metric {
        // Where every first chunk holds a token, this is TTFT again.
        metric::TTFC => mean(&of.ttft_ms).is_none_or(|first| spread.mean < first),
        // Chunks of one token each have the same values twice.
        metric::ITL_PER_TOKEN => n(&of.itl_ms) != Some(spread.n),
        metric::TPOT_DECODE => of.mixed_part.is_some_and(|part| part > 0.0),
        metric::INPUT_LENGTH | metric::OUTPUT_LENGTH => spread.min < spread.max,
        _ => true,
    });
    all
}
