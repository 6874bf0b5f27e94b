//! TP1 against TPn as published: what is predicted from links and peak rates alone, and from the measured step on one GPU.

use explain::{
    Evidence, Inputs, KnownBox, Link, PredictError, PredictInputs, Predicted, Priors,
    PublishedCurve, PublishedPath, Seen, predict,
};
use import::serve::Conditions;
use import::{CurvePoint, ServeFormat, ServeRun, Spread};
use record::{CollectiveKind, CollectivePath, PeerVerdict};
use tp_plan::{EngineFacts, Surroundings, Vendor};

use crate::reality::fits::Line;
use crate::reality::kernels::{points, times};
use crate::reality::rows::model;
use std::sync::OnceLock;

pub(super) const SEED: u64 = 1;
pub(super) const DRAWS: u32 = 1000;

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
    /// Whether all-reduces are TensorRT-LLM's.
    pub(super) fused: bool,
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
    fn curve(self, custom: bool, ranks: u32) -> Option<PublishedCurve> {
        let (key, path) = match (self, custom) {
            (Self::H100, true) => ("h100", PublishedPath::Custom),
            (Self::H100, false) => ("h100", PublishedPath::Peer),
            (Self::H200, true) => ("h200", PublishedPath::Custom),
            (Self::H200, false) => ("h200", PublishedPath::Peer),
            (Self::B200, true) => ("b200", PublishedPath::Custom),
            (Self::B200, false) => ("b200", PublishedPath::Peer),
            (Self::RtxPro6000, _) => ("rtx pro 6000", PublishedPath::Staged),
            (Self::R9700, _) => return None,
        };
        let curves = builtin();
        let mut all = curves.all_curves().iter();
        all.find(|c| (c.gpu.as_str(), c.path, c.ranks) == (key, path, ranks))
            .cloned()
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
            fused: false,
        }
    }

    /// Bytes and us of the curve that stands in for one of the box.
    fn curve(&self, custom: bool) -> Option<Vec<(u64, f64)>> {
        if custom && self.fused {
            return Some(times(self.gpu, self.tp));
        }
        Some(self.gpu.curve(custom, self.tp)?.points)
    }

    /// What is known of the box's all-reduces: where they are another engine's, that engine's, and the library's.
    fn points(&self) -> Vec<CurvePoint> {
        if !self.fused || self.tp == 1 {
            return Vec::new();
        }
        let of = |custom: bool, engine| {
            let curve = self.curve(custom).unwrap();
            points(&curve, self.tp, engine)
        };
        [of(true, Some("tensorrt-llm 1.3.0rc20")), of(false, None)].concat()
    }
}

/// The priors, read once.
fn builtin() -> &'static Priors {
    static PRIORS: OnceLock<Priors> = OnceLock::new();
    PRIORS.get_or_init(|| Priors::builtin().unwrap())
}

/// What is predicted of a case, from a run on one GPU where one is given.
pub(super) fn predicted(case: &Case, one: Option<ServeRun>) -> Predicted {
    held(case, one).unwrap()
}

/// The same; `None` where the GPUs' memory does not hold the load.
pub(super) fn held(case: &Case, one: Option<ServeRun>) -> Option<Predicted> {
    let inputs = inputs(case, one);
    match predict(&inputs, SEED, DRAWS) {
        Err(PredictError::NoneFits(_)) => None,
        prediction => Some(prediction.unwrap().sizes.remove(0)),
    }
}

/// What a prediction of that case starts from.
pub(super) fn inputs(case: &Case, one: Option<ServeRun>) -> PredictInputs {
    let around = case.gpu.around();
    let mig = case.gpu == Gpu::RtxPro6000;
    PredictInputs {
        base: Inputs {
            model: model(case.model),
            tp: case.tp,
            engines: vec![EngineFacts::vllm(case.tp, &around)],
            serve: one.into_iter().map(|run| (1, run)).collect(),
            curve: case.points(),
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
    }
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
        output_tokens: Some((completed as f64 * output) as u64),
        output_tokens_asked: Some(output as u64),
        fixed_output: Some(true),
        e2el_ms: Some(mean(e2el)),
        ttft_ms: ttft.map(mean),
        tpot_ms: tpot.map(mean),
        itl_ms: None,
        decode_gap_ms: None,
        conditions: Conditions::default(),
    }
}

/// The prediction if each collective took what latency and bandwidth, fitted to the same curve, say; `None` where there is no
/// published curve.
pub(super) fn hockney(case: &Case, predicted: &Predicted) -> Option<f64> {
    let (mut read, mut fitted) = (0.0, 0.0);
    for cost in &predicted.collectives {
        let curve = case.curve(cost.path == CollectivePath::Custom)?;
        // An all-gather of a contribution moves as much as an all-reduce of half as many times the ranks.
        let bytes = match cost.kind {
            CollectiveKind::AllReduce => cost.bytes_per_rank,
            _ => cost.bytes_per_rank * u64::from(case.tp) / 2,
        };
        read += f64::from(cost.count) * cost.us;
        fitted += f64::from(cost.count) * Line::of(&curve).at(bytes);
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
