//! The numbers of a run in the order in which they are shown.

use record::metric::{
    Metric, e2el, e2el_intended, itl, itl_per_token, lengths, queue_time, step_class, tpot, ttfc,
    ttft,
};
use record::{Distribution, Serve, ServeSummary, summarise};

/// The summary; of a run that was broken off that of the requests that ended.
pub(crate) fn summary(serve: &Serve) -> Option<ServeSummary> {
    let goals = serve.load.as_ref().and_then(|load| load.goals.as_ref());
    let streamed = serve.target.as_ref().is_some_and(|target| target.streamed);
    let of_requests = || summarise(&serve.requests, streamed, goals);
    serve.summary.clone().or_else(of_requests)
}

/// vLLM's metrics in its order, then ours.
pub(crate) fn distributions(of: &ServeSummary) -> Vec<(Metric, &Distribution)> {
    let all = [
        (ttft::METRIC, &of.ttft_ms),
        (tpot::METRIC, &of.tpot_ms),
        (itl::METRIC, &of.itl_ms),
        (e2el::METRIC, &of.e2el_ms),
        (ttfc::METRIC, &of.ttfc_ms),
        (itl_per_token::METRIC, &of.itl_per_token_ms),
        (step_class::DECODE, &of.tpot_decode_ms),
        (step_class::MIXED, &of.tpot_mixed_ms),
        (queue_time::METRIC, &of.queue_ms),
        (e2el_intended::METRIC, &of.e2el_intended_ms),
        (lengths::INPUT, &of.input_lengths),
        (lengths::OUTPUT, &of.output_lengths),
    ];
    let known = all.into_iter();
    let known = known.filter_map(|(metric, spread)| Some((metric, spread.as_ref()?)));
    known.collect()
}

/// The same without what says nothing that another does not.
pub(super) fn telling(of: &ServeSummary) -> Vec<(Metric, &Distribution)> {
    let mut all = distributions(of);
    let mean = |of: &Option<Distribution>| of.as_ref().map(|of| of.mean);
    let n = |of: &Option<Distribution>| of.as_ref().map(|of| of.n);
    all.retain(|(metric, spread)| match *metric {
        // Where every first chunk holds a token, this is TTFT again.
        ttfc::METRIC => mean(&of.ttft_ms).is_none_or(|first| spread.mean < first),
        // Chunks of one token each have the same values twice.
        itl_per_token::METRIC => n(&of.itl_ms) != Some(spread.n),
        step_class::DECODE => of.mixed_part.is_some_and(|part| part > 0.0),
        lengths::INPUT | lengths::OUTPUT => spread.min < spread.max,
        _ => true,
    });
    all
}
