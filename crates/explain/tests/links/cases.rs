//! Runs, curves and boxes of these tests.

use explain::{Evidence, Inputs, KnownBox, LinkOutcome, LinkSide, PhysicalLink, Priors, Seen};
use import::serve::Conditions;
use import::{CurvePoint, ServeFormat, ServeRun, Spread};
use record::{CallMode, CollectiveKind, PeerVerdict};
use stats::Interval;
use tp_plan::{EngineFacts, ModelFacts, Surroundings, Vendor};

pub(crate) fn nvidia(peer_access: Option<bool>) -> Surroundings {
    Surroundings {
        vendor: Vendor::Nvidia,
        architecture: Some("sm_80".to_owned()),
        peer_access,
        no_peer_reason: String::new(),
        full_nvlink: false,
        memory_bytes: Some(80 << 30),
    }
}

/// A mean with an interval of 0.1% on each side.
pub(crate) fn timed(mean: f64) -> Spread {
    Spread {
        n: Some(500),
        mean,
        mean_interval: Some(Interval {
            low: mean * 0.999,
            high: mean * 1.001,
            level: 0.95,
        }),
        median: None,
        min: None,
        max: None,
        p99: None,
    }
}

/// A streamed closed loop: `concurrency` in flight, prompts of `input` tokens, 128 tokens out. Gaps between tokens, half of which are
/// the time per token, show that no prompts are in it.
pub(crate) fn run(
    origin: &str,
    tp: u32,
    concurrency: u32,
    input: u64,
    ttft_ms: f64,
    tpot_ms: f64,
) -> ServeRun {
    let latency = ttft_ms + 127.0 * tpot_ms;
    let requests = 4 * u64::from(concurrency);
    // As many waves as it takes, all slots full: requests over seconds is concurrency over latency.
    let duration_s = requests as f64 * latency / f64::from(concurrency) / 1e3;
    ServeRun {
        origin: origin.to_owned(),
        format: ServeFormat::Vllm,
        simulated: None,
        model: None,
        tp: Some(tp),
        streamed: true,
        concurrency_asked: Some(f64::from(concurrency)),
        request_rate_asked: None,
        completed: requests,
        failed: Some(0),
        duration_s,
        requests_per_s: requests as f64 / duration_s,
        input_tokens: Some(requests * input),
        output_tokens: Some(requests * 128),
        output_tokens_asked: Some(128),
        fixed_output: Some(true),
        e2el_ms: Some(timed(latency)),
        ttft_ms: Some(timed(ttft_ms)),
        tpot_ms: Some(timed(tpot_ms)),
        itl_ms: Some(Spread {
            median: Some(tpot_ms),
            ..timed(tpot_ms)
        }),
        decode_gap_ms: None,
        conditions: Conditions::default(),
    }
}

/// A time of the library, with an interval of 1% on each side.
pub(crate) fn point(ranks: u32, bytes_per_rank: u64, us: f64, mode: CallMode) -> CurvePoint {
    CurvePoint {
        kind: CollectiveKind::AllReduce,
        ranks,
        bytes_per_rank,
        us,
        low: Some(us * 0.99),
        high: Some(us * 1.01),
        n: Some(20),
        mode: Some(mode),
        library: Some("nccl".to_owned()),
        engine: None,
        origin: format!("curve of {us} us"),
        simulated: None,
    }
}

pub(crate) fn inputs(
    model: &str,
    tp: u32,
    around: Surroundings,
    runs: Vec<ServeRun>,
    curve: Vec<CurvePoint>,
) -> Inputs {
    Inputs {
        model: ModelFacts::builtin(model).unwrap(),
        tp,
        engines: vec![EngineFacts::vllm(tp, &around)],
        serve: runs.into_iter().map(|run| (tp, run)).collect(),
        curve,
        troubles: vec![],
        known: KnownBox {
            peers: match around.peer_access {
                Some(true) => vec![PeerVerdict::Direct; 2],
                Some(false) => vec![PeerVerdict::Denied; 2],
                None => vec![],
            },
            ..KnownBox::default()
        },
        around,
        evidence: Evidence::default(),
        seen: Seen::default(),
        priors: Priors::builtin().unwrap(),
    }
}

pub(crate) fn side(name: &str, inputs: Inputs, raw_gb_per_s: Option<(&str, f64)>) -> LinkSide {
    LinkSide {
        name: name.to_owned(),
        inputs,
        link: raw_gb_per_s.map(|(words, rate)| PhysicalLink {
            words: words.to_owned(),
            raw_gb_per_s: rate,
            path: None,
        }),
    }
}

/// The figures of a comparison that is not refused.
#[track_caller]
pub(crate) fn figures(outcome: &LinkOutcome) -> &explain::LinkFigures {
    match outcome {
        LinkOutcome::Compared { figures } => figures,
        LinkOutcome::Refused { refusal } => panic!("{refusal}"),
    }
}

#[track_caller]
pub(crate) fn near(got: f64, wanted: f64, within: f64) {
    assert!((got - wanted).abs() <= within, "{got} is not {wanted}");
}
