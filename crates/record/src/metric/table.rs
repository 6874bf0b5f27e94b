//! What each metric is, said once for renderings and readers: a row with name, unit and formula. Where a definition is from stands
//! above its row.

/// The definition of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Its short name in the field, such as `TTFT`.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// How it is worked out.
    pub formula: &'static str,
}

const fn row(name: &'static str, unit: &'static str, formula: &'static str) -> Metric {
    Metric {
        name,
        unit,
        formula,
    }
}

#[rustfmt::skip]
mod rows {
    use super::{Metric, row};

    /// vLLM benchmarks/lib/endpoint_request_func.py (0.33), where a chunk with the role alone does not count either.
    pub const TTFT: Metric = row("TTFT", "ms", "first chunk that carries tokens - sent");
    /// tplens; what clients that take a role chunk for a token call TTFT (vLLM 0.13 and vllm-rs 0.33, chat).
    pub const TTFC: Metric = row("Time to any chunk", "ms", "first bytes of a streamed reply's body - sent, also where they hold a role, a comment or progress and no token");
    /// vLLM benchmarks/serve.py: (latency - ttft) / (output_len - 1), its latency ending at the last chunk with choices.
    pub const TPOT: Metric = row("TPOT", "ms", "(last chunk that carries tokens - first one) / (output tokens - 1), one value a request");
    /// tplens.
    pub const TPOT_DECODE: Metric = row("TPOT, decode steps", "ms", "sum of a request's gaps without another one's prefill / tokens that came with them, one value a request");
    /// tplens; as seen by the client, so waiting in the server's queue is taken for prefill.
    pub const TPOT_MIXED: Metric = row("TPOT, mixed with prefill", "ms", "the same over gaps with it: another request was sent by the first tenth of the gap and had no token by its middle");
    /// vLLM benchmarks/lib/endpoint_request_func.py.
    pub const ITL: Metric = row("ITL", "ms", "gap between successive chunks that carry tokens, all requests pooled; a chunk may carry several tokens");
    /// SGLang bench_serving.py shares a gap among the new tokens likewise; ITL is the gap per chunk.
    pub const ITL_PER_TOKEN: Metric = row("ITL per token", "ms", "gap between successive chunks / tokens in the later one, one value a token; where the tokens of each chunk are known");
    /// vLLM benchmarks/lib/endpoint_request_func.py: latency; waiting for a free place in the client is not in it.
    pub const E2EL: Metric = row("E2EL", "ms", "last chunk that carries tokens - sent; end of the reply - sent where it was not streamed");
    /// vLLM benchmarks/serve.py (0.33): client_queue_time.
    pub const QUEUE_TIME: Metric = row("Queue time", "ms", "sent - the instant that the schedule wanted; in an open loop only");
    /// vLLM benchmarks/serve.py (0.33): e2el_including_client_queue; a client that leaves it out hides its queue (coordinated omission).
    pub const E2EL_INTENDED: Metric = row("E2EL from intended", "ms", "E2EL + queue time; in an open loop only");
    /// usage.prompt_tokens of the OpenAI interface; lengths that were asked for stand with the load.
    pub const INPUT_LENGTH: Metric = row("Input length", "tokens", "prompt tokens by the server's count, one value a completed request");
    /// usage.completion_tokens of the OpenAI interface, else token ids, else chunks.
    pub const OUTPUT_LENGTH: Metric = row("Output length", "tokens", "output tokens, one value a completed request");
    /// vLLM benchmarks/serve.py; lead-in and tail are inside the duration.
    pub const REQUEST_THROUGHPUT: Metric = row("Request throughput", "req/s", "completed requests / (last end - first send)");
    /// vLLM benchmarks/serve.py (--goodput), after DistServe (Zhong et al., 2024); a reply of one token keeps any TPOT; vLLM counts from
    /// sending, which leaves the client's queue out.
    pub const GOODPUT: Metric = row("Request goodput", "req/s", "completed requests with TTFT, TPOT and E2EL at most as the goals say / (last end - first send); in an open loop TTFT and E2EL from the intended instant");
    /// vLLM benchmarks/serve.py; tokens of failed requests do not count.
    pub const OUTPUT_THROUGHPUT: Metric = row("Output token throughput", "tok/s", "output tokens of completed requests / (last end - first send)");
    /// vLLM benchmarks/serve.py; prompt tokens from a cache count, too.
    pub const TOTAL_THROUGHPUT: Metric = row("Total token throughput", "tok/s", "(prompt + output tokens of completed requests) / (last end - first send)");
    /// vLLM benchmarks/serve.py has it with fixed windows and counts chunks, so that speculative decoding lowers it.
    pub const PEAK_OUTPUT: Metric = row("Peak output token throughput", "tok/s", "most tokens of completed requests in any window of 1 s that slides; a chunk counts with its tokens, where these are not known with an equal share of its reply's");
    /// Little, A Proof for the Queuing Formula L = lambda W, 1961.
    pub const IN_FLIGHT: Metric = row("Requests in flight", "requests", "sum over all requests, failed ones too, of (end of the reply - sent) / (last end - first send)");
    /// tplens; counting those that touch a second (vLLM 0.13 to 0.33) gives up to twice as many.
    pub const PEAK_IN_FLIGHT: Metric = row("Peak requests in flight", "requests", "most requests, failed ones too, that were sent and whose reply had not ended; one that ends leaves before one that is sent at that instant");
}

pub use rows::*;
