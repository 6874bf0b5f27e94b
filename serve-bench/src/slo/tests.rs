//! The search on the embedded engine without HTTP or a clock: requests go into its scheduler at their instants in virtual time.
//! The knee it must find is taken from a scan in steps of half a percent, which uses neither the search nor its verdicts.

use std::time::Duration;

use boxfile::BoxFile;
use engine::{Curve, Engine, Limits, Profile, Request, StepTime, surroundings};
use record::metric::{tpot, ttft};
use record::{Arrivals, Serve, ServeLoad, ServeRequest};
use stats::SplitMix;
use tp_plan::{EngineFacts, ModelFacts};

use super::judge::judge;
use super::objective::Objective;
use super::search::{Bounds, Next, Outcome, Trial, Verdict};

/// Output tokens of each request.
const TOKENS: u32 = 32;

/// Llama 3.1 8B on one device of the box, as `tplens serve engine` makes it, 16 sequences at most.
fn engine() -> Engine {
    let described = BoxFile::builtin("rtxpro6000-mig").unwrap();
    let model = ModelFacts::resolve("llama-3.1-8b").unwrap();
    let around = surroundings(&described, 1).unwrap();
    let facts = EngineFacts::vllm(1, &around).with_max_num_seqs(16);
    let profile = Profile::of_box(&described, &model).unwrap();
    let limits = Limits::of_box(&described, &model, 1, 4096).unwrap();
    let step_time = StepTime::new(model, facts, profile, Curve::of_box(&described, 1)).unwrap();
    Engine::new(step_time, limits).unwrap()
}

/// A run at a rate: arrivals at exponential distances by the seed, stretched to the rate, `seconds` long.
fn run(rate: f64, seconds: f64, seed: u64) -> Vec<ServeRequest> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "thousands of requests"
    )]
    let count = (rate * seconds).ceil() as usize;
    let mut random = SplitMix::new(seed);
    let mut at = 0.0;
    let arrivals: Vec<f64> = (0..count)
        .map(|_| {
            #[expect(clippy::cast_precision_loss, reason = "53 bits")]
            let part = ((random.next() >> 11) as f64 + 1.0) / (1u64 << 53) as f64;
            at -= part.ln();
            at
        })
        .collect();
    let stretch = seconds / at;
    let mut requests: Vec<ServeRequest> = (0u32..)
        .zip(&arrivals)
        .map(|(id, at)| {
            let sent = at * stretch * 1e3;
            ServeRequest {
                id,
                intended_ms: Some(sent),
                sent_ms: sent,
                output_tokens: Some(TOKENS),
                ..ServeRequest::default()
            }
        })
        .collect();
    let mut engine = engine();
    let (mut now, mut next) = (Duration::ZERO, 0);
    loop {
        let due = |index: usize| Duration::from_secs_f64(requests[index].sent_ms / 1e3);
        while next < count && due(next) <= now {
            let request = Request {
                id: u64::from(requests[next].id),
                prompt_tokens: 64,
                output_tokens: TOKENS,
            };
            engine.submit(request, due(next)).unwrap();
            next += 1;
        }
        let Some(step) = engine.step(now).unwrap() else {
            if next == count {
                return requests;
            }
            now = due(next);
            continue;
        };
        now = step.ends();
        let ms = now.as_secs_f64() * 1e3;
        for emitted in step.emitted {
            let request = &mut requests[usize::try_from(emitted.id).unwrap()];
            request.token_chunks_ms.push(ms);
            request.ended_ms = ms;
        }
    }
}

/// The largest rate of a scan, up to the first whose mean TTFT is beyond a limit.
fn knee(limit_ms: f64, seconds: f64, seed: u64) -> f64 {
    let mean = |rate: f64| {
        let requests = run(rate, seconds, seed);
        let values: Vec<f64> = requests.iter().filter_map(ttft::of).collect();
        #[expect(clippy::cast_precision_loss, reason = "thousands of requests")]
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        mean
    };
    // 20 x 1.005^200 = 54 is far above what the engine can.
    let rates = (0..200).map(|step| 20.0 * 1.005f64.powi(step));
    let mut rates = rates.skip_while(|rate| mean(*rate) <= limit_ms);
    rates.next().unwrap() / 1.005
}

fn search(objective: &str, seconds: f64) -> (Option<f64>, Vec<Trial>, Outcome) {
    let objective: Objective = objective.parse().unwrap();
    let bounds = Bounds {
        start: 2.0,
        lowest: 0.01,
        highest: 1e4,
        resolution: 0.03,
        runs: 12,
        whole: false,
    };
    let mut trials: Vec<Trial> = Vec::new();
    let mut records: Vec<(f64, Serve)> = Vec::new();
    loop {
        let at = match bounds.next(&trials) {
            Next::Run(at) => at,
            Next::Done(found) => return (found.met, trials, found.outcome),
        };
        let load = ServeLoad {
            arrivals: Arrivals::Poisson { rate: at },
            ..ServeLoad::default()
        };
        // Seeds of the runs are none of the scan's.
        let serve = Serve {
            load: Some(load),
            requests: run(at, seconds, 1000 + trials.len() as u64),
            ..Serve::default()
        };
        records.push((at, serve));
        let of_load = records.iter().filter(|(of, _)| *of == at);
        let runs: Vec<&Serve> = of_load.map(|(_, serve)| serve).collect();
        let verdict = judge(&[objective], &runs).verdict;
        trials.push(Trial { at, verdict });
    }
}

#[test]
fn the_largest_rate_within_a_time_to_first_token_is_found_within_three_percent() {
    // Requests wait for a place among the 16, the longer the nearer the rate is to what the engine can.
    let known = knee(100.0, 200.0, 7);
    let (met, trials, _) = search("mean_ttft<=100ms", 200.0);
    let met = met.unwrap();
    assert!(trials.len() <= 12);
    assert!(
        (met / known - 1.0).abs() <= 0.03,
        "{met}, a scan {known}: {trials:?}"
    );
}

#[test]
fn the_largest_rate_that_is_sustained_is_the_engines_capacity() {
    // A limit that nothing reaches in 200 s: what ends the search is that the queue grows. A request has one of 16 places for 32
    // steps, so the engine completes 16 / (32 steps) a second; a step lasts as long as a token of a nearly full engine.
    let requests = run(36.0, 200.0, 7);
    let steps: Vec<f64> = requests.iter().filter_map(tpot::of).collect();
    #[expect(clippy::cast_precision_loss, reason = "thousands of requests")]
    let step_s = steps.iter().sum::<f64>() / steps.len() as f64 / 1e3;
    let capacity = 16.0 / (f64::from(TOKENS) * step_s);
    let (met, trials, outcome) = search("max_e2el<=1000s", 200.0);
    let met = met.unwrap();
    assert_eq!(outcome, Outcome::Found, "{trials:?}");
    assert!(
        (met / capacity - 1.0).abs() <= 0.03,
        "{met}, capacity {capacity}: {trials:?}"
    );
    let mut above = trials.iter().filter(|trial| trial.at > 1.06 * capacity);
    assert!(
        above.all(|trial| trial.verdict == Verdict::NotSustained),
        "{trials:?}"
    );
}
