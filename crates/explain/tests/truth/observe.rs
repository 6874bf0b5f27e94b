//! What a client and a bench see of a truth: serving results and a curve, with their noise.

use std::time::Duration;

use engine::{Engine, EngineError, Limits, Request};
use explain::{Evidence, Inputs, KnownBox, Priors, Seen};
use import::serve::Conditions;
use import::{CurvePoint, ServeFormat, ServeRun, Spread};
use record::metric::{decode_gap, e2el, itl, tpot, ttft};
use record::{CollectiveKind, CollectivePath, ServeRequest};
use stats::{Distribution, distribution, distribution_pooled};

use super::chance::Chance;
use super::judge::Assumption;
use super::machine::{Load, Truth};

/// Launches of one server differ by this at most, relative: what the explanation takes as known.
const START: f64 = 0.005;

/// Half a 95% interval in standard deviations.
const Z: f64 = 1.96;

/// Everything that an explanation is given.
///
/// # Errors
/// The engine refuses the truth.
pub(super) fn inputs(truth: &Truth, priors: &Priors, seed: u64) -> Result<Inputs, EngineError> {
    // A stream of its own, so that noise does not go with the truth.
    let mut chance = Chance::new(seed ^ 0x5eed_0000);
    let mut serve = Vec::new();
    for tp in [1, truth.tp] {
        for _ in 0..truth.repeats {
            serve.push((tp, served(truth, tp, &mut chance)?));
        }
    }
    Ok(Inputs {
        model: truth.model.clone(),
        tp: truth.tp,
        engines: vec![truth.facts(1), truth.facts(truth.tp)],
        serve,
        curve: curve(truth, &mut chance),
        troubles: Vec::new(),
        around: truth.around.clone(),
        known: KnownBox {
            gpu: Some(truth.gpu.to_owned()),
            ..KnownBox::default()
        },
        evidence: Evidence::default(),
        seen: Seen::default(),
        priors: priors.clone(),
    })
}

/// One start of a server and the run on it.
fn served(truth: &Truth, tp: u32, chance: &mut Chance) -> Result<ServeRun, EngineError> {
    let launch = chance.within(-START, START);
    let requests = closed_loop(
        truth,
        tp,
        |chance_of_step| {
            let step = chance_of_step.normal() * truth.step_cv;
            ((1.0 + launch) * (1.0 + step)).max(0.05)
        },
        chance,
    )?;
    Ok(result(tp, truth.load, &requests))
}

/// Requests of a closed loop in virtual time, each step longer by a factor.
fn closed_loop(
    truth: &Truth,
    tp: u32,
    factor: impl Fn(&mut Chance) -> f64,
    chance: &mut Chance,
) -> Result<Vec<ServeRequest>, EngineError> {
    let Load {
        batch,
        requests,
        prompt_tokens,
        output_tokens,
    } = truth.load;
    let limits = Limits {
        max_model_len: 1 << 20,
        block_tokens: 16,
        kv_blocks: 1 << 30,
    };
    let mut engine = Engine::new(truth.step_time(tp)?, limits)?;
    let mut seen: Vec<ServeRequest> = Vec::new();
    let mut now_ms = 0.0;
    let mut sent = 0;
    let mut free = batch;
    loop {
        let now = Duration::from_secs_f64(now_ms / 1e3);
        while free > 0 && sent < requests {
            let request = Request {
                id: u64::from(sent),
                prompt_tokens,
                output_tokens,
            };
            // The limits hold every request of this load.
            if engine.submit(request, now).is_ok() {
                seen.push(ServeRequest {
                    id: sent,
                    sent_ms: now_ms,
                    input_tokens: Some(prompt_tokens),
                    output_tokens: Some(output_tokens),
                    ..ServeRequest::default()
                });
            }
            (sent, free) = (sent + 1, free - 1);
        }
        let Some(step) = engine.step(now)? else {
            return Ok(seen);
        };
        now_ms += step.duration_us / 1e3 * factor(chance);
        for emitted in &step.emitted {
            let of = usize::try_from(emitted.id).unwrap_or(usize::MAX);
            if let Some(request) = seen.get_mut(of) {
                request.token_chunks_ms.push(now_ms);
                request.ended_ms = now_ms;
            }
            free += u32::from(emitted.finished);
        }
    }
}

/// The result of `tplens serve run`, by the metrics that it uses.
#[expect(clippy::cast_precision_loss, reason = "hundreds of requests")]
fn result(tp: u32, load: Load, requests: &[ServeRequest]) -> ServeRun {
    let n = requests.len() as u64;
    let duration_s = requests.iter().map(|of| of.ended_ms).fold(0.0, f64::max) / 1e3;
    let of = |metric: &dyn Fn(&ServeRequest) -> Option<f64>| {
        let values: Vec<f64> = requests.iter().filter_map(metric).collect();
        distribution(&values).as_ref().map(spread)
    };
    let gaps: Vec<Vec<f64>> = requests.iter().map(itl).collect();
    ServeRun {
        origin: format!("tp{tp}"),
        format: ServeFormat::Tplens,
        simulated: None,
        model: None,
        tp: Some(tp),
        streamed: true,
        concurrency_asked: Some(f64::from(load.batch)),
        request_rate_asked: None,
        completed: n,
        failed: Some(0),
        duration_s,
        requests_per_s: n as f64 / duration_s,
        input_tokens: Some(n * u64::from(load.prompt_tokens)),
        output_tokens: Some(n * u64::from(load.output_tokens)),
        output_tokens_asked: Some(u64::from(load.output_tokens)),
        fixed_output: Some(true),
        e2el_ms: of(&|request| Some(e2el(request))),
        ttft_ms: of(&ttft),
        tpot_ms: of(&tpot),
        itl_ms: distribution_pooled(&gaps).as_ref().map(spread),
        decode_gap_ms: distribution_pooled(&decode_gap::of(requests, load.batch))
            .as_ref()
            .map(spread),
        conditions: Conditions::default(),
    }
}

fn spread(of: &Distribution) -> Spread {
    Spread {
        n: Some(of.n as u64),
        mean: of.mean,
        mean_interval: of.mean_interval,
        median: Some(of.median),
        min: Some(of.min),
        max: Some(of.max),
        p90: of.p90,
        p99: of.p99,
    }
}

/// What tplens allreduce writes: the plan's sizes and a grid around them.
fn curve(truth: &Truth, chance: &mut Chance) -> Vec<CurvePoint> {
    let planned = truth.planned();
    let mut points = Vec::new();
    for kind in [CollectiveKind::AllReduce, CollectiveKind::AllGather] {
        let of_kind = || planned.iter().filter(|of| of.kind == kind);
        let mut sizes: Vec<u64> = of_kind().map(|of| of.bytes_per_rank).collect();
        let Some(largest) = sizes.iter().copied().max() else {
            continue;
        };
        sizes.extend((12..=26).step_by(2).map(|power| 1u64 << power));
        if truth.broken == Some(Assumption::CurveRange) {
            let end = largest >> chance.one_of(&[1, 2, 3, 4]);
            sizes.retain(|size| *size <= end.max(4096));
            sizes.push(end);
        }
        sizes.sort_unstable();
        sizes.dedup();
        let custom = of_kind().any(|of| of.path == CollectivePath::Custom);
        for bytes in sizes {
            points.push(point(truth, chance, kind, CollectivePath::Library, bytes));
            if custom && truth.custom_is_timed {
                points.push(point(truth, chance, kind, CollectivePath::Custom, bytes));
            }
        }
    }
    points
}

fn point(
    truth: &Truth,
    chance: &mut Chance,
    kind: CollectiveKind,
    path: CollectivePath,
    bytes: u64,
) -> CurvePoint {
    let us =
        truth.benched_us(kind, path, bytes) * (1.0 + truth.curve_error * chance.normal()).max(0.2);
    let half = Z * truth.curve_error * us;
    CurvePoint {
        kind,
        ranks: truth.tp,
        bytes_per_rank: bytes,
        us,
        low: Some(us - half),
        high: Some(us + half),
        n: Some(20),
        mode: Some(truth.mode),
        library: Some("nccl".to_owned()),
        engine: (path == CollectivePath::Custom).then(|| "vllm 0.13.0".to_owned()),
        origin: "allreduce/record.json".to_owned(),
        simulated: None,
    }
}
