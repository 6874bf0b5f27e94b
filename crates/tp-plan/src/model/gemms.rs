//! The matrix products of a decoder by the shape of their weights, whole and on one rank.

use super::facts::ModelFacts;

/// One product of a step: activations of `k` elements a token times weights of `k` x `n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gemm {
    /// What it is, such as `gate_up`.
    pub role: &'static str,
    /// Columns of the weights: elements that come out for each token.
    pub n: u32,
    /// Rows of the weights: elements that go in.
    pub k: u32,
    /// How often a step does it.
    pub count: u32,
    /// Whether its weights are stored as [`ModelFacts::weights`] says; the output head's are not.
    pub quantised: bool,
}

impl ModelFacts {
    /// The products of a step on one of `tp` ranks: qkv and gate_up are cut by columns, o and down by rows, as Megatron's
    /// layers and vLLM's `ColumnParallelLinear` and `RowParallelLinear` do; a rank keeps a whole key-value head at least. `None`
    /// for a mixture of experts, whose shapes depend on the routing, and for a latent attention.
    #[must_use]
    pub fn gemms(&self, tp: u32) -> Option<Vec<Gemm>> {
        if self.experts.is_some() || self.latent_kv.is_some() || tp == 0 {
            return None;
        }
        let heads = self.heads.div_ceil(tp);
        let both = 2 * self.kv_heads.div_ceil(tp);
        let width = self.intermediate.div_ceil(tp);
        let of_layer = |role, n, k| Gemm {
            role,
            n,
            k,
            count: self.layers,
            quantised: true,
        };
        Some(vec![
            of_layer("qkv", (heads + both) * self.head_dim, self.hidden),
            of_layer("o", self.hidden, heads * self.head_dim),
            of_layer("gate_up", 2 * width, self.hidden),
            of_layer("down", self.hidden, width),
            Gemm {
                role: "lm_head",
                n: self.vocab.div_ceil(tp),
                k: self.hidden,
                count: 1,
                quantised: false,
            },
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_has_its_part_of_columns_or_rows() {
        let model = ModelFacts::builtin("qwen2.5-72b-fp8").unwrap();
        let shapes = |tp| -> Vec<(u32, u32)> {
            let gemms = model.gemms(tp).unwrap();
            gemms.iter().map(|gemm| (gemm.n, gemm.k)).collect()
        };
        // 64 + 2 * 8 heads of 128 are 10240 columns; two of 29568 are 59136; 152064 words.
        let whole = [
            (10240, 8192),
            (8192, 8192),
            (59136, 8192),
            (8192, 29568),
            (152_064, 8192),
        ];
        let half = [
            (5120, 8192),
            (8192, 4096),
            (29568, 8192),
            (8192, 14784),
            (76032, 8192),
        ];
        assert_eq!((shapes(1), shapes(2)), (whole.to_vec(), half.to_vec()));
        // Of 8 key-value heads each of 16 ranks keeps one: 4 + 2 heads of 128.
        assert_eq!(shapes(16)[0], (768, 8192));
        let moe = ModelFacts::builtin("gpt-oss-120b").unwrap();
        assert_eq!(moe.gemms(2), None);
    }
}
