//! Loads of published tables, typed in.

use tp_plan::ModelFacts;

use crate::reality::pairs::{Case, Gpu, run_of_one};
use import::ServeRun;

/// One load of a published table: engine, GPU, model, sequences in flight, prompt and output tokens, TTFT and TPOT on one GPU,
/// and TPOT on 2, 4 and 8, all in ms.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) engine: &'static str,
    pub(super) gpu: Gpu,
    pub(super) model: &'static str,
    pub(super) batch: u32,
    pub(super) input: f64,
    pub(super) output: f64,
    pub(super) one: [f64; 2],
    pub(super) several: [Option<f64>; 3],
    /// The shortest request by the longest, which the load is named after; lengths are spread evenly between the two.
    pub(super) shortest: f64,
}

/// github.com/ai-dynamo/aiconfigurator 095f58a, aic-core/src/aiconfigurator_core/systems/silicon_sample.csv: served on real GPUs.
/// Chosen before a figure was looked at: 16 and 64 in flight of the shortest and the longest load of each set with one GPU in it.
#[rustfmt::skip]
pub(super) const ROWS: [Row; 24] = [
    row("trtllm", Gpu::H100, "qwen3-32b-fp8", 16, [1024.0, 256.0], [309.6, 20.03], [Some(12.91), Some(9.18), Some(7.88)]),
    row("trtllm", Gpu::H100, "qwen3-32b-fp8", 64, [1024.0, 256.0], [457.1, 38.53], [Some(23.85), Some(17.13), Some(16.43)]),
    row("trtllm", Gpu::H100, "qwen3-32b-fp8", 16, [4096.0, 512.0], [1158.3, 25.88], [Some(16.12), Some(10.88), Some(8.51)]),
    row("trtllm", Gpu::H100, "qwen3-32b-fp8", 64, [4096.0, 512.0], [3825.9, 62.00], [Some(38.70), Some(24.86), Some(19.48)]),
    row("trtllm", Gpu::H100, "llama-3.1-8b", 16, [1024.0, 256.0], [194.9, 8.77], [Some(5.85), Some(4.52), Some(3.38)]),
    row("trtllm", Gpu::H100, "llama-3.1-8b", 64, [1024.0, 256.0], [196.0, 15.20], [Some(10.11), Some(8.02), Some(7.40)]),
    row("trtllm", Gpu::H100, "llama-3.1-8b", 16, [4096.0, 512.0], [627.3, 12.40], [Some(8.10), Some(5.37), Some(4.06)]),
    row("trtllm", Gpu::H100, "llama-3.1-8b", 64, [4096.0, 512.0], [705.7, 30.09], [Some(17.78), Some(11.25), Some(8.53)]),
    inference_max(row("vllm", Gpu::H200, "llama-3.1-70b-fp8", 16, [1024.0, 1024.0], [315.8, 24.72], [Some(15.65), Some(10.94), Some(9.71)])),
    inference_max(row("vllm", Gpu::H200, "llama-3.1-70b-fp8", 64, [1024.0, 1024.0], [729.7, 37.44], [Some(22.71), Some(16.07), Some(12.73)])),
    inference_max(row("vllm", Gpu::H200, "llama-3.1-70b-fp8", 16, [8192.0, 1024.0], [2163.0, 47.48], [Some(27.47), Some(17.44), Some(13.36)])),
    inference_max(row("vllm", Gpu::H200, "llama-3.1-70b-fp8", 64, [8192.0, 1024.0], [39807.1, 107.15], [Some(71.80), Some(46.11), Some(29.17)])),
    inference_max(row("trtllm", Gpu::H200, "llama-3.1-70b-fp8", 16, [1024.0, 1024.0], [710.9, 22.99], [Some(13.39), Some(8.93), Some(7.69)])),
    inference_max(row("trtllm", Gpu::H200, "llama-3.1-70b-fp8", 64, [1024.0, 1024.0], [1345.1, 32.34], [Some(18.99), Some(13.66), Some(13.51)])),
    inference_max(row("trtllm", Gpu::H200, "llama-3.1-70b-fp8", 16, [8192.0, 1024.0], [1903.9, 39.32], [Some(22.62), Some(14.83), Some(11.26)])),
    inference_max(row("trtllm", Gpu::H200, "llama-3.1-70b-fp8", 64, [8192.0, 1024.0], [29676.6, 79.24], [Some(59.12), Some(37.03), Some(27.98)])),
    inference_max(row("vllm", Gpu::B200, "llama-3.1-70b-fp8", 16, [1024.0, 1024.0], [199.1, 17.67], [Some(11.37), Some(8.98), Some(7.61)])),
    inference_max(row("vllm", Gpu::B200, "llama-3.1-70b-fp8", 64, [1024.0, 1024.0], [385.2, 23.10], [Some(15.89), Some(13.59), Some(12.54)])),
    inference_max(row("vllm", Gpu::B200, "llama-3.1-70b-fp8", 16, [8192.0, 1024.0], [1486.0, 27.71], [Some(17.46), Some(12.07), Some(9.77)])),
    inference_max(row("vllm", Gpu::B200, "llama-3.1-70b-fp8", 64, [8192.0, 1024.0], [7813.8, 70.69], [Some(42.01), Some(27.78), Some(22.28)])),
    inference_max(row("vllm", Gpu::H200, "gpt-oss-120b", 4, [1024.0, 1024.0], [85.7, 6.33], [Some(4.80), Some(3.93), Some(3.62)])),
    inference_max(row("vllm", Gpu::H200, "gpt-oss-120b", 4, [8192.0, 1024.0], [407.6, 7.08], [Some(5.31), Some(4.29), Some(3.81)])),
    inference_max(row("vllm", Gpu::H200, "gpt-oss-120b", 16, [8192.0, 1024.0], [660.7, 15.75], [Some(10.28), Some(7.02), Some(5.62)])),
    inference_max(row("vllm", Gpu::H200, "gpt-oss-120b", 64, [8192.0, 1024.0], [1530.9, 41.83], [Some(24.94), Some(16.13), None])),
];

/// The same table, chosen by rule after the model had been changed and before it was asked: 8 and 32 in flight of the same loads of
/// every dense set with one GPU in it, TensorRT-LLM on B200 besides.
#[rustfmt::skip]
pub(super) const HELD_OUT: [Row; 24] = [
    row("trtllm", Gpu::H100, "qwen3-32b-fp8", 8, [1024.0, 256.0], [272.8, 16.99], [Some(10.86), Some(7.86), Some(6.48)]),
    row("trtllm", Gpu::H100, "qwen3-32b-fp8", 32, [1024.0, 256.0], [356.7, 27.39], [Some(17.43), Some(12.47), Some(10.78)]),
    row("trtllm", Gpu::H100, "qwen3-32b-fp8", 8, [4096.0, 512.0], [1057.6, 19.44], [Some(12.42), Some(8.49), Some(6.79)]),
    row("trtllm", Gpu::H100, "qwen3-32b-fp8", 32, [4096.0, 512.0], [1202.6, 40.48], [None, Some(16.13), Some(12.39)]),
    row("trtllm", Gpu::H100, "llama-3.1-8b", 8, [1024.0, 256.0], [318.0, 7.55], [Some(4.93), Some(3.48), Some(2.89)]),
    row("trtllm", Gpu::H100, "llama-3.1-8b", 32, [1024.0, 256.0], [159.9, 10.92], [Some(7.35), Some(6.18), Some(5.54)]),
    row("trtllm", Gpu::H100, "llama-3.1-8b", 8, [4096.0, 512.0], [856.9, 9.65], [Some(6.00), Some(3.98), Some(3.00)]),
    row("trtllm", Gpu::H100, "llama-3.1-8b", 32, [4096.0, 512.0], [635.1, 18.15], [Some(11.24), Some(7.45), Some(5.64)]),
    inference_max(row("vllm", Gpu::H200, "llama-3.1-70b-fp8", 8, [1024.0, 1024.0], [255.5, 22.56], [Some(14.36), Some(10.14), Some(8.52)])),
    inference_max(row("vllm", Gpu::H200, "llama-3.1-70b-fp8", 32, [1024.0, 1024.0], [465.7, 33.19], [Some(20.35), Some(14.38), Some(11.01)])),
    inference_max(row("vllm", Gpu::H200, "llama-3.1-70b-fp8", 8, [8192.0, 1024.0], [1660.2, 33.08], [Some(19.67), Some(13.19), Some(10.08)])),
    inference_max(row("vllm", Gpu::H200, "llama-3.1-70b-fp8", 32, [8192.0, 1024.0], [3132.1, 75.74], [Some(46.07), Some(28.62), Some(18.64)])),
    inference_max(row("trtllm", Gpu::H200, "llama-3.1-70b-fp8", 8, [1024.0, 1024.0], [634.0, 21.12], [Some(12.42), Some(8.24), Some(6.72)])),
    inference_max(row("trtllm", Gpu::H200, "llama-3.1-70b-fp8", 32, [1024.0, 1024.0], [924.1, 25.80], [Some(15.43), Some(10.63), Some(9.30)])),
    inference_max(row("trtllm", Gpu::H200, "llama-3.1-70b-fp8", 8, [8192.0, 1024.0], [1439.4, 29.02], [Some(16.85), Some(10.98), Some(8.43)])),
    inference_max(row("trtllm", Gpu::H200, "llama-3.1-70b-fp8", 32, [8192.0, 1024.0], [2676.3, 58.71], [Some(34.62), Some(22.14), Some(16.67)])),
    inference_max(row("vllm", Gpu::B200, "llama-3.1-70b-fp8", 8, [1024.0, 1024.0], [152.6, 16.63], [Some(10.73), Some(8.18), Some(6.90)])),
    inference_max(row("vllm", Gpu::B200, "llama-3.1-70b-fp8", 32, [1024.0, 1024.0], [262.4, 19.56], [Some(13.02), Some(11.43), Some(9.23)])),
    inference_max(row("vllm", Gpu::B200, "llama-3.1-70b-fp8", 8, [8192.0, 1024.0], [940.5, 21.08], [Some(13.56), Some(9.75), Some(7.69)])),
    inference_max(row("vllm", Gpu::B200, "llama-3.1-70b-fp8", 32, [8192.0, 1024.0], [1740.9, 40.88], [Some(25.38), Some(17.23), Some(13.69)])),
    inference_max(row("trtllm", Gpu::B200, "llama-3.1-70b-fp8", 8, [1024.0, 1024.0], [409.5, 14.91], [Some(9.78), Some(6.99), Some(5.68)])),
    inference_max(row("trtllm", Gpu::B200, "llama-3.1-70b-fp8", 32, [1024.0, 1024.0], [531.5, 17.86], [Some(10.91), Some(7.95), Some(7.36)])),
    inference_max(row("trtllm", Gpu::B200, "llama-3.1-70b-fp8", 8, [8192.0, 1024.0], [735.9, 19.29], [Some(12.38), Some(8.52), Some(7.07)])),
    inference_max(row("trtllm", Gpu::B200, "llama-3.1-70b-fp8", 32, [8192.0, 1024.0], [1371.3, 36.73], [Some(22.13), Some(14.78), Some(12.14)])),
];

const fn row(
    engine: &'static str,
    gpu: Gpu,
    model: &'static str,
    batch: u32,
    lengths: [f64; 2],
    one: [f64; 2],
    several: [Option<f64>; 3],
) -> Row {
    Row {
        engine,
        gpu,
        model,
        batch,
        input: lengths[0],
        output: lengths[1],
        one,
        several,
        shortest: 1.0,
    }
}

/// A row of InferenceMAX (github.com/SemiAnalysisAI/InferenceX, benchmarks/): ten times as many requests as are in flight, prompts
/// and outputs of 0.8 to 1 times the named lengths (`random-range-ratio` in .github/workflows/benchmark-tmpl.yml), and for
/// Llama-3.1-70B a cache in FP8 (`kv-cache-dtype: fp8` and `kv_cache_config: dtype: fp8`).
const fn inference_max(row: Row) -> Row {
    Row {
        shortest: 0.8,
        ..row
    }
}

/// Models that are not shipped, with the sizes of their config.json on huggingface.co.
const CONFIGS: [(&str, &str); 2] = [
    (
        // Qwen/Qwen3-32B-FP8
        "qwen3-32b-fp8",
        r#"{"model_type": "qwen3", "hidden_size": 5120, "intermediate_size": 25600, "num_hidden_layers": 64,
            "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
            "tie_word_embeddings": false, "torch_dtype": "bfloat16", "quantization_config": {"quant_method": "fp8"}}"#,
    ),
    (
        // nvidia/Llama-3.3-70B-Instruct-FP8, of the same sizes as 3.1, which the table names
        "llama-3.1-70b-fp8",
        r#"{"model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80,
            "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 128256,
            "tie_word_embeddings": false, "torch_dtype": "bfloat16", "quantization_config": {"quant_method": "modelopt",
            "quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}}"#,
    ),
];

pub(super) fn model(name: &str) -> ModelFacts {
    match CONFIGS.iter().find(|(own, _)| *own == name) {
        Some((_, config)) => ModelFacts::from_config_json(config, name).unwrap(),
        None => ModelFacts::builtin(name).unwrap(),
    }
}

impl Row {
    /// Prompt and output tokens of the mean request.
    pub(super) fn lengths(&self) -> (f64, f64) {
        let mean = f64::midpoint(self.shortest, 1.0);
        (self.input * mean, self.output * mean)
    }

    pub(super) fn case(&self, tp: u32) -> Case {
        let (input, output) = self.lengths();
        Case {
            fused: self.fused(),
            ..Case::new(self.gpu, self.model, tp, self.batch, input, output)
        }
    }

    /// vLLM was told to use the fused all-reduce on B200 (`enable_fi_allreduce_fusion` in benchmarks/70b_fp8_b200_docker.sh).
    fn fused(&self) -> bool {
        self.engine == "trtllm" || self.gpu == Gpu::B200
    }

    pub(super) fn run_of_one(&self) -> ServeRun {
        let [ttft, tpot] = self.one;
        let (_, output) = self.lengths();
        let e2el = ttft + tpot * (output - 1.0);
        run_of_one(self.batch, output, Some(ttft), Some(tpot), e2el)
    }
}
