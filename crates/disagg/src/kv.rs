//! Bytes of keys and values: how many a prompt leaves behind, how many are sent, and in how many pieces.

use tp_plan::ModelFacts;

/// What decides the bytes of keys and values of one model on one layout.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KvShape {
    /// Decoder layers.
    pub layers: u32,
    /// Elements of one token in one layer, keys and values of all heads once; of a latent its own elements.
    pub layer_elements: u64,
    /// Key-value heads; `None` where every rank holds the whole latent (multi-head latent attention).
    pub kv_heads: Option<u32>,
    /// Bytes of one element: 2, or 1 in FP8. Scales of FP8 are not counted.
    pub element_bytes: u32,
    /// Tokens of one block of the engine.
    pub block_tokens: u32,
    /// Layers that keep a window only, and its tokens.
    pub window: Option<(u32, u32)>,
    /// Whether the model may have windows that are not known here, so that bytes are an upper bound.
    pub is_upper_bound: bool,
}

impl KvShape {
    /// The shape of a model, with blocks of this many tokens.
    #[must_use]
    pub fn of(model: &ModelFacts, block_tokens: u32) -> Self {
        let both = 2 * u64::from(model.kv_heads) * u64::from(model.head_dim);
        Self {
            layers: model.layers,
            layer_elements: model.latent_kv.map_or(both, u64::from),
            kv_heads: model.latent_kv.is_none().then_some(model.kv_heads),
            element_bytes: model.kv_cache_bytes,
            block_tokens: block_tokens.max(1),
            window: None,
            is_upper_bound: model.latent_kv.is_none() && !model.keeps_every_token(),
        }
    }

    /// Bytes of one token in one copy of the model, where no layer forgets it.
    #[must_use]
    pub fn token_bytes(&self) -> u64 {
        u64::from(self.layers) * self.layer_elements * u64::from(self.element_bytes)
    }

    /// Blocks of a prompt, the last one whole.
    #[must_use]
    pub fn blocks(&self, tokens: u32) -> u64 {
        u64::from(tokens.div_ceil(self.block_tokens))
    }

    /// Bytes of a prompt in one copy of the model, in whole blocks; of layers with a window the window's.
    #[must_use]
    pub fn prompt_bytes(&self, tokens: u32) -> u64 {
        let whole = |tokens: u32| self.blocks(tokens) * u64::from(self.block_tokens);
        let (windowed, window) = self.window.unwrap_or((0, 0));
        let layer = self.layer_elements * u64::from(self.element_bytes);
        let full = u64::from(self.layers.saturating_sub(windowed)) * whole(tokens);
        layer * (full + u64::from(windowed) * whole(tokens.min(window)))
    }

    /// Copies of each token that `tp` ranks hold together: with fewer key-value heads than ranks each rank keeps a whole head.
    #[must_use]
    pub fn copies(&self, tp: u32) -> f64 {
        let tp = f64::from(tp.max(1));
        match self.kv_heads {
            Some(heads) => (tp / f64::from(heads.max(1))).max(1.0),
            None => tp,
        }
    }

    /// Bytes that `tp` ranks send for a prompt, where the connector sends all that they hold. Both sides have the same width.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53 bytes")]
    pub fn sent_bytes(&self, tokens: u32, tp: u32) -> f64 {
        self.prompt_bytes(tokens) as f64 * self.copies(tp)
    }

    /// Pieces that one rank sends for a prompt: a block of a layer, keys and values apart where they lie apart.
    #[must_use]
    pub fn descriptors(&self, tokens: u32, apart: bool) -> u64 {
        let pieces = if apart && self.kv_heads.is_some() {
            2
        } else {
            1
        };
        self.blocks(tokens) * u64::from(self.layers) * pieces
    }
}
