//! Boxes that users benchmarked by hand, as inputs: the figures as they reported them.

use explain::{Evidence, Inputs, KnownBox, Priors, Seen};
use import::serve::Conditions;
use import::{CurvePoint, ServeFormat, ServeRun, Spread};
use record::{CallMode, CollectiveKind, PeerVerdict};
use tp_plan::{EngineFacts, ModelFacts, Surroundings, Vendor};

/// Bytes that each of two ranks contributes to the logits of 16 sequences: 16 rows * 152064 / 2 columns * 2 bytes.
pub(crate) const GRAPH_ALL_GATHER: u64 = 16 * 152_064;

/// A serving result without metrics.
pub(crate) fn run(tp: u32, completed: u64, duration_s: f64) -> ServeRun {
    ServeRun {
        origin: format!("tp{tp}.json"),
        format: ServeFormat::Summary,
        simulated: None,
        model: Some("Qwen2.5-VL-72B-Instruct-FP8".to_owned()),
        tp: Some(tp),
        streamed: false,
        concurrency_asked: None,
        request_rate_asked: None,
        completed,
        failed: Some(0),
        duration_s,
        requests_per_s: completed as f64 / duration_s,
        input_tokens: None,
        output_tokens: None,
        output_tokens_asked: None,
        fixed_output: None,
        e2el_ms: None,
        ttft_ms: None,
        tpot_ms: None,
        itl_ms: None,
        decode_gap_ms: None,
        conditions: Conditions::default(),
    }
}

/// A metric of which only the mean is known.
pub(crate) fn mean(mean: f64) -> Spread {
    Spread {
        n: None,
        mean,
        mean_interval: None,
        median: None,
        min: None,
        max: None,
        p90: None,
        p99: None,
    }
}

pub(crate) fn nvidia(peer_access: Option<bool>, reason: &str, memory_gib: u64) -> Surroundings {
    Surroundings {
        vendor: Vendor::Nvidia,
        architecture: Some("sm_120".to_owned()),
        peer_access,
        no_peer_reason: reason.to_owned(),
        full_nvlink: false,
        memory_bytes: Some(memory_gib << 30),
    }
}

/// Two RTX Pro 6000 under MIG, Qwen2.5-VL-72B in FP8, 64 requests, 16 in flight, 89 in and 256 out, no stream.
pub(crate) fn rtxpro6000_mig() -> Inputs {
    let around = nvidia(Some(false), "MIG", 96);
    let of = |tp, seconds, mean_s: f64, p50_s: f64, min_s: f64, max_s: f64| {
        let mut run = run(tp, 64, seconds);
        run.concurrency_asked = Some(16.0);
        run.input_tokens = Some(64 * 89);
        run.output_tokens = Some(64 * 256);
        run.output_tokens_asked = Some(256);
        run.e2el_ms = Some(Spread {
            n: Some(64),
            median: Some(p50_s * 1e3),
            min: Some(min_s * 1e3),
            max: Some(max_s * 1e3),
            ..mean(mean_s * 1e3)
        });
        (tp, run)
    };
    Inputs {
        model: ModelFacts::builtin("qwen2.5-vl-72b-fp8").unwrap(),
        tp: 2,
        engines: vec![EngineFacts::vllm(1, &around), EngineFacts::vllm(2, &around)],
        serve: vec![
            of(1, 62.9261, 15.7242, 15.6923, 15.6644, 15.8615),
            of(2, 47.0797, 11.7622, 11.7613, 11.7284, 11.7997),
        ],
        curve: vec![],
        troubles: vec![],
        around,
        known: KnownBox {
            name: Some("rtxpro6000-mig".to_owned()),
            gpu: Some("NVIDIA RTX Pro 6000 Blackwell DC-4-96Q".to_owned()),
            mig: true,
            guest: Some(true),
            peers: vec![PeerVerdict::Denied; 2],
            links_of: Some("measured".to_owned()),
            origins: vec!["links/record.json".to_owned()],
        },
        evidence: Evidence::default(),
        seen: Seen::default(),
        priors: Priors::builtin().unwrap(),
    }
}

/// A point of this box's curve in a graph.
pub(crate) fn point(kind: CollectiveKind, bytes_per_rank: u64, us: f64) -> CurvePoint {
    CurvePoint {
        kind,
        ranks: 2,
        bytes_per_rank,
        us,
        low: Some(us * 0.99),
        high: Some(us * 1.01),
        n: Some(20),
        mode: Some(CallMode::Graph),
        library: Some("nccl".to_owned()),
        engine: None,
        origin: "allreduce/record.json".to_owned(),
        simulated: None,
    }
}
