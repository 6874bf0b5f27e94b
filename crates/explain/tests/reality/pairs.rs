//! TP1 against TPn as published: what is predicted from links and peak rates alone, and from the measured step on one GPU.

use explain::{
    Evidence, Inputs, KnownBox, Link, PredictInputs, Predicted, Priors, PublishedAllReduce, Seen,
    predict,
};
use measure::import::{ServeFormat, ServeRun, Spread};
use measure::record::{CollectiveKind, CollectivePath, PeerVerdict};
use tp_plan::{EngineFacts, ModelFacts, Surroundings, Vendor};

use crate::fits::Line;
use std::sync::OnceLock;

const SEED: u64 = 1;
const DRAWS: u32 = 1000;

/// Sizes behind a row's columns.
pub(super) const SIZES: [u32; 3] = [2, 4, 8];

/// A box that somebody measured on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gpu {
    H100,
    H200,
    B200,
    RtxPro6000,
    R9700,
}

/// A load on a number of GPUs.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) gpu: Gpu,
    pub(super) model: &'static str,
    pub(super) tp: u32,
    pub(super) batch: u32,
    pub(super) input: f64,
    pub(super) output: f64,
}

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
    row("vllm", Gpu::H200, "llama-3.1-70b-fp8", 16, [1024.0, 1024.0], [315.8, 24.72], [Some(15.65), Some(10.94), Some(9.71)]),
    row("vllm", Gpu::H200, "llama-3.1-70b-fp8", 64, [1024.0, 1024.0], [729.7, 37.44], [Some(22.71), Some(16.07), Some(12.73)]),
    row("vllm", Gpu::H200, "llama-3.1-70b-fp8", 16, [8192.0, 1024.0], [2163.0, 47.48], [Some(27.47), Some(17.44), Some(13.36)]),
    row("vllm", Gpu::H200, "llama-3.1-70b-fp8", 64, [8192.0, 1024.0], [39807.1, 107.15], [Some(71.80), Some(46.11), Some(29.17)]),
    row("trtllm", Gpu::H200, "llama-3.1-70b-fp8", 16, [1024.0, 1024.0], [710.9, 22.99], [Some(13.39), Some(8.93), Some(7.69)]),
    row("trtllm", Gpu::H200, "llama-3.1-70b-fp8", 64, [1024.0, 1024.0], [1345.1, 32.34], [Some(18.99), Some(13.66), Some(13.51)]),
    row("trtllm", Gpu::H200, "llama-3.1-70b-fp8", 16, [8192.0, 1024.0], [1903.9, 39.32], [Some(22.62), Some(14.83), Some(11.26)]),
    row("trtllm", Gpu::H200, "llama-3.1-70b-fp8", 64, [8192.0, 1024.0], [29676.6, 79.24], [Some(59.12), Some(37.03), Some(27.98)]),
    row("vllm", Gpu::B200, "llama-3.1-70b-fp8", 16, [1024.0, 1024.0], [199.1, 17.67], [Some(11.37), Some(8.98), Some(7.61)]),
    row("vllm", Gpu::B200, "llama-3.1-70b-fp8", 64, [1024.0, 1024.0], [385.2, 23.10], [Some(15.89), Some(13.59), Some(12.54)]),
    row("vllm", Gpu::B200, "llama-3.1-70b-fp8", 16, [8192.0, 1024.0], [1486.0, 27.71], [Some(17.46), Some(12.07), Some(9.77)]),
    row("vllm", Gpu::B200, "llama-3.1-70b-fp8", 64, [8192.0, 1024.0], [7813.8, 70.69], [Some(42.01), Some(27.78), Some(22.28)]),
    row("vllm", Gpu::H200, "gpt-oss-120b", 4, [1024.0, 1024.0], [85.7, 6.33], [Some(4.80), Some(3.93), Some(3.62)]),
    row("vllm", Gpu::H200, "gpt-oss-120b", 4, [8192.0, 1024.0], [407.6, 7.08], [Some(5.31), Some(4.29), Some(3.81)]),
    row("vllm", Gpu::H200, "gpt-oss-120b", 16, [8192.0, 1024.0], [660.7, 15.75], [Some(10.28), Some(7.02), Some(5.62)]),
    row("vllm", Gpu::H200, "gpt-oss-120b", 64, [8192.0, 1024.0], [1530.9, 41.83], [Some(24.94), Some(16.13), None]),
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
        // nvidia/Llama-3.1-70B-Instruct-FP8
        "llama-3.1-70b-fp8",
        r#"{"model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80,
            "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 128256,
            "tie_word_embeddings": false, "torch_dtype": "bfloat16", "quantization_config": {"quant_method": "fp8"}}"#,
    ),
];

pub(super) fn model(name: &str) -> ModelFacts {
    match CONFIGS.iter().find(|(own, _)| *own == name) {
        Some((_, config)) => ModelFacts::from_config_json(config, name).unwrap(),
        None => ModelFacts::builtin(name).unwrap(),
    }
}

impl Gpu {
    fn name(self) -> &'static str {
        match self {
            Self::H100 => "NVIDIA H100 80GB HBM3",
            Self::H200 => "NVIDIA H200",
            Self::B200 => "NVIDIA B200",
            Self::RtxPro6000 => "NVIDIA RTX Pro 6000 Blackwell DC-4-96Q",
            Self::R9700 => "AMD Radeon AI PRO R9700",
        }
    }

    fn around(self) -> Surroundings {
        let (vendor, gib, peers) = match self {
            Self::H100 => (Vendor::Nvidia, 80, true),
            Self::H200 => (Vendor::Nvidia, 141, true),
            Self::B200 => (Vendor::Nvidia, 180, true),
            Self::RtxPro6000 => (Vendor::Nvidia, 96, false),
            Self::R9700 => (Vendor::Amd, 32, true),
        };
        let mig = self == Self::RtxPro6000;
        let mut around =
            Surroundings::of_gpus(vendor, &[self.name()], Some(gib << 30), mig, Some(peers));
        around.full_nvlink = matches!(self, Self::H100 | Self::H200 | Self::B200);
        around
    }

    /// What was published for it and stands in for a curve of the box.
    fn curve(self, custom: bool, ranks: u32) -> Option<PublishedAllReduce> {
        let (key, path) = match (self, custom) {
            (Self::H100, true) => ("h100", "custom"),
            (Self::H100, false) => ("h100", "peer"),
            (Self::H200, true) => ("h200", "custom"),
            (Self::H200, false) => ("h200", "peer"),
            (Self::B200, true) => ("b200", "custom"),
            (Self::B200, false) => ("b200", "peer"),
            (Self::RtxPro6000, _) => ("rtx pro 6000", "staged"),
            (Self::R9700, _) => return None,
        };
        let curves = builtin().published();
        curves
            .into_iter()
            .find(|c| (c.gpu.as_str(), c.path, c.ranks) == (key, path, ranks))
    }
}

impl Case {
    pub(super) fn new(
        gpu: Gpu,
        model: &'static str,
        tp: u32,
        batch: u32,
        input: f64,
        output: f64,
    ) -> Self {
        Self {
            gpu,
            model,
            tp,
            batch,
            input,
            output,
        }
    }
}

/// The priors, read once.
fn builtin() -> &'static Priors {
    static PRIORS: OnceLock<Priors> = OnceLock::new();
    PRIORS.get_or_init(|| Priors::builtin().unwrap())
}

/// What is predicted of a case, from a run on one GPU where one is given.
pub(super) fn predicted(case: &Case, one: Option<ServeRun>) -> Predicted {
    let around = case.gpu.around();
    let mig = case.gpu == Gpu::RtxPro6000;
    let inputs = PredictInputs {
        base: Inputs {
            model: model(case.model),
            tp: case.tp,
            engines: vec![EngineFacts::vllm(case.tp, &around)],
            serve: one.into_iter().map(|run| (1, run)).collect(),
            curve: Vec::new(),
            troubles: Vec::new(),
            around,
            known: KnownBox {
                gpu: Some(case.gpu.name().to_owned()),
                mig,
                peers: if mig {
                    vec![PeerVerdict::Denied; 2]
                } else {
                    Vec::new()
                },
                ..KnownBox::default()
            },
            evidence: Evidence::default(),
            seen: Seen::default(),
            priors: builtin().clone(),
        },
        sizes: vec![case.tp],
        batch: case.batch,
        input_tokens: case.input,
        output_tokens: case.output,
        half: Vec::new(),
        // The owner does not say how wide the slots are: eight lanes of Gen5 or sixteen of Gen4, less the protocol.
        link: (case.gpu == Gpu::R9700).then(|| Link {
            gbps: 26.0,
            fabric: false,
            source: "assumed: 8 lanes of Gen5".to_owned(),
        }),
    };
    predict(&inputs, SEED, DRAWS).unwrap().sizes.remove(0)
}

/// A mean without more.
fn mean(mean: f64) -> Spread {
    Spread {
        n: None,
        mean,
        mean_interval: None,
        median: None,
        min: None,
        max: None,
        p99: None,
    }
}

/// A run of which only means are known.
pub(super) fn run_of_one(
    batch: u32,
    output: f64,
    ttft: Option<f64>,
    tpot: Option<f64>,
    e2el: f64,
) -> ServeRun {
    let waves = 4;
    let completed = u64::from(batch) * waves;
    let duration_s = waves as f64 * e2el / 1e3;
    ServeRun {
        origin: "published".to_owned(),
        format: ServeFormat::Summary,
        simulated: None,
        model: None,
        tp: Some(1),
        streamed: tpot.is_some(),
        concurrency_asked: Some(f64::from(batch)),
        request_rate_asked: None,
        completed,
        failed: None,
        duration_s,
        requests_per_s: completed as f64 / duration_s,
        input_tokens: None,
        output_tokens: Some(completed * output as u64),
        output_tokens_asked: Some(output as u64),
        fixed_output: Some(true),
        e2el_ms: Some(mean(e2el)),
        ttft_ms: ttft.map(mean),
        tpot_ms: tpot.map(mean),
        itl_ms: None,
        decode_gap_ms: None,
    }
}

impl Row {
    pub(super) fn case(&self, tp: u32) -> Case {
        Case::new(
            self.gpu,
            self.model,
            tp,
            self.batch,
            self.input,
            self.output,
        )
    }

    pub(super) fn run_of_one(&self) -> ServeRun {
        let [ttft, tpot] = self.one;
        let e2el = ttft + tpot * (self.output - 1.0);
        run_of_one(self.batch, self.output, Some(ttft), Some(tpot), e2el)
    }
}

/// The prediction if each collective took what latency and bandwidth, fitted to the same curve, say; `None` where there is no
/// published curve.
pub(super) fn hockney(case: &Case, predicted: &Predicted) -> Option<f64> {
    let (mut read, mut fitted) = (0.0, 0.0);
    for cost in &predicted.collectives {
        let curve = case
            .gpu
            .curve(cost.path == CollectivePath::Custom, case.tp)?;
        // An all-gather of a contribution moves as much as an all-reduce of half as many times the ranks.
        let bytes = match cost.kind {
            CollectiveKind::AllReduce => cost.bytes_per_rank,
            _ => cost.bytes_per_rank * u64::from(case.tp) / 2,
        };
        read += f64::from(cost.count) * cost.us;
        fitted += f64::from(cost.count) * Line::of(&curve.points).at(bytes);
    }
    let of = |name| predicted.parts.iter().find(|part| part.name == name);
    let parts = [explain::PartName::AllReduce, explain::PartName::AllGather];
    let ms: f64 = parts
        .into_iter()
        .filter_map(of)
        .map(|part| part.ms.mid)
        .sum();
    Some(predicted.serving.tpot.mid + ms * (fitted / read - 1.0))
}
