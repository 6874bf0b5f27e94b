//! A step in parts, on any number of ranks: what a prediction evaluates and an attribution inverts.
//!
//! Times of collectives are another module's, and so is what is not known of the costs: whoever asks draws them. Milliseconds, bytes,
//! and operations of a multiplication or an addition.

use crate::model::ModelFacts;

/// Linear layers of a decoder layer as engines run them: query, key and value; output; gate and up; down.
const GEMMS_PER_LAYER: f64 = 4.0;

/// The first two of them, which a layer with experts has too.
const GEMMS_BESIDE_EXPERTS: f64 = 2.0;

/// Times that norms, residuals, rotary embeddings and casts of a layer read or write a token's hidden state, on every rank.
const HIDDEN_MOVED: f64 = 10.0;

/// Times that the activation between two GEMMs reads or writes a token's feed-forward width, a share of it on each rank.
const WIDTH_MOVED: f64 = 4.0;

/// A step of so many sequences.
#[derive(Debug, Clone, Copy)]
pub struct StepModel<'a> {
    /// What is served.
    pub model: &'a ModelFacts,
    /// Sequences that decode in it.
    pub batch: u32,
    /// Tokens that a sequence has in the cache, half way through its output.
    pub context: f64,
}

/// What a step costs beside the bytes that it reads.
#[derive(Debug, Clone, Copy)]
pub struct Costs {
    /// Attention of a layer, whatever it reads, us.
    pub attention_us: f64,
    /// Norms and residuals of a layer, us.
    pub elementwise_us: f64,
    /// Scheduling and sampling, ms.
    pub host_ms: f64,
    /// Reading a byte of the cache, over reading one of weights.
    pub cache_factor: f64,
    /// Milliseconds for a byte of the cache, where attention was timed on this GPU.
    pub cache_ms_per_byte: Option<f64>,
    /// What of the GEMMs does not get shorter with more ranks, ms: see [`StepModel::gemm_starts`].
    pub gemm_starts_ms: f64,
}

/// How fast a step reads, and its GEMMs on some ranks.
#[derive(Debug, Clone, Copy)]
pub struct Rates {
    /// The ranks.
    pub ranks: u32,
    /// GEMMs on them, ms; below zero where the other parts take more than the step.
    pub gemm_ms: f64,
    /// Bytes of weights read in a ms by each.
    pub bytes_per_ms: f64,
}

/// The parts of a step, ms.
#[derive(Debug, Clone, Copy)]
pub struct Parts {
    /// Matrix products.
    pub gemm: f64,
    /// Attention.
    pub attention: f64,
    /// Norms and residuals.
    pub elementwise: f64,
    /// The host.
    pub host: f64,
}

#[expect(clippy::cast_precision_loss, reason = "bytes are far below 2^53")]
impl StepModel<'_> {
    fn layers(&self) -> f64 {
        f64::from(self.model.layers)
    }

    /// Bytes of the cache that a step reads on each rank.
    #[must_use]
    pub fn cache(&self, ranks: u32) -> f64 {
        let token = self.model.kv_bytes_per_token_on_rank(ranks) as f64;
        f64::from(self.batch) * self.model.tokens_read(self.context) * token
    }

    /// Bytes of weights that a step reads: of what every token uses, and of routed experts.
    #[must_use]
    pub fn weights(&self) -> (f64, f64) {
        let read = self.model.weight_bytes_read(self.batch);
        let experts = self.model.experts.map_or(0.0, |experts| {
            let missed = 1.0 - f64::from(experts.per_token) / f64::from(experts.count);
            let hit = f64::from(experts.count) * (1.0 - missed.powf(f64::from(self.batch)));
            f64::from(experts.layers) * hit * experts.expert_bytes as f64
        });
        ((read - experts).max(0.0), experts)
    }

    /// What all GEMMs of a step take whatever they read, ms, by what one and a layer's experts take, us.
    #[must_use]
    pub fn gemm_starts(&self, gemm_us: f64, experts_us: f64) -> f64 {
        let routed = f64::from(self.model.experts.map_or(0, |experts| experts.layers));
        let gemms = self.layers() * GEMMS_BESIDE_EXPERTS
            + (self.layers() - routed) * (GEMMS_PER_LAYER - GEMMS_BESIDE_EXPERTS)
            + 1.0;
        (gemms * gemm_us + routed * experts_us) / 1e3
    }

    /// What a step without its collectives on so many ranks tells. Weights and cache come from the same memory: what is left after the
    /// starts of GEMMs and the work that reads little tells its rate.
    #[must_use]
    pub fn invert(&self, costs: &Costs, step_ms: f64, ranks: u32) -> Rates {
        let weights = self.model.weight_bytes_read(self.batch) / f64::from(ranks);
        let read = weights + self.cache(ranks) * costs.cache_factor;
        let whole = self.elementwise(costs) + costs.host_ms;
        let reading = (step_ms - costs.gemm_starts_ms - whole).max(step_ms / 4.0);
        let bytes_per_ms = read.max(1.0) / reading;
        Rates {
            ranks,
            gemm_ms: step_ms - self.attention(costs, bytes_per_ms, ranks) - whole,
            bytes_per_ms,
        }
    }

    /// The parts of a step on so many ranks.
    #[must_use]
    pub fn parts(&self, costs: &Costs, rates: &Rates, ranks: u32) -> Parts {
        let times = f64::from(ranks) / f64::from(rates.ranks);
        let gemm = rates.gemm_ms.max(0.0);
        let starts = costs.gemm_starts_ms.min(gemm);
        Parts {
            gemm: starts + (gemm - starts) / times,
            attention: self.attention(costs, rates.bytes_per_ms, ranks),
            elementwise: self.elementwise(costs),
            host: costs.host_ms,
        }
    }

    fn elementwise(&self, costs: &Costs) -> f64 {
        self.layers() * costs.elementwise_us / 1e3
    }

    /// Kernels start, and then read the cache: rotary embedding, the cache's write and launch gaps hide no reading.
    fn attention(&self, costs: &Costs, bytes_per_ms: f64, ranks: u32) -> f64 {
        let each = costs
            .cache_ms_per_byte
            .unwrap_or(costs.cache_factor / bytes_per_ms);
        self.layers() * costs.attention_us / 1e3 + self.cache(ranks) * each
    }

    /// Operations of so many tokens: two for each weight that a token uses.
    #[must_use]
    pub fn flops(&self, tokens: f64) -> f64 {
        2.0 * self.model.active_parameters() * tokens
    }

    /// Operations of a prompt's GEMMs; the output head has one row for all of it.
    #[must_use]
    pub fn prompt_flops(&self, tokens: f64) -> f64 {
        let head = 2.0 * f64::from(self.model.vocab) * f64::from(self.model.hidden);
        self.flops(tokens) - (tokens - 1.0).max(0.0) * head
    }

    /// Operations of a prompt's attention: each token meets half of the prompt in the mean, in two products.
    #[must_use]
    pub fn prompt_attention_flops(&self, tokens: f64) -> f64 {
        let width = f64::from(self.model.heads) * f64::from(self.model.head_dim);
        4.0 * tokens * self.model.tokens_read(tokens / 2.0) * width * self.layers()
    }

    /// Bytes that a prompt's elementwise work moves on a rank.
    #[must_use]
    pub fn prompt_bytes_moved(&self, tokens: f64, ranks: u32) -> f64 {
        let width = match self.model.experts {
            Some(experts) => experts.per_token * experts.intermediate,
            None => self.model.intermediate,
        };
        let of_token = HIDDEN_MOVED * f64::from(self.model.hidden)
            + WIDTH_MOVED * f64::from(width) / f64::from(ranks);
        tokens * self.layers() * f64::from(self.model.activation_bytes) * of_token
    }
}
