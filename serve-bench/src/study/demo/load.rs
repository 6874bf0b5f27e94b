//! The load of a demonstration: which model a box has room for, and how long its requests take there.

use boxfile::BoxFile;
use engine::{Curve, EngineError, Limits, Profile, StepLoad, StepTime, surroundings};
use program::Stop;
use tp_plan::{EngineFacts, ModelFacts};

/// A closed loop of equal requests.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) concurrency: u32,
    pub(super) requests: u32,
    pub(super) input_tokens: u32,
    pub(super) output_tokens: u32,
}

/// A load that was reported for a box like the default one, with 32 requests of 64 tokens instead of 64 of 256.
pub(super) const LOAD: Load = Load {
    concurrency: 16,
    requests: 32,
    input_tokens: 89,
    output_tokens: 64,
};

/// The load of each launch of an ablation.
pub(super) const LAUNCH: Load = Load {
    requests: 16,
    output_tokens: 32,
    ..LOAD
};

/// Models, the largest first.
const MODELS: [&str; 3] = ["qwen2.5-72b-fp8", "qwen3-14b", "llama-3.1-8b"];

impl Load {
    /// Seconds, from those of a step of prompts and of a step that decodes; the warm-up has one more request for each in flight.
    fn seconds(self, prompt_s: f64, decode_s: f64) -> f64 {
        let waves = f64::from(self.requests.div_ceil(self.concurrency) + 1);
        waves * (prompt_s + f64::from(self.output_tokens - 1) * decode_s)
    }
}

/// The model of a demonstration, and its facts: the one that was named, else the first that one GPU holds.
pub(super) fn choose(
    described: &BoxFile,
    named: Option<&str>,
) -> Result<(String, ModelFacts), Stop> {
    let resolve = |name: &str| {
        ModelFacts::resolve(name).map_err(|error| Stop::Usage(format!("--model: {error}")))
    };
    if let Some(name) = named {
        return Ok((name.to_owned(), resolve(name)?));
    }
    let mut why = String::new();
    for name in MODELS {
        let model = resolve(name)?;
        match room(described, &model, 1) {
            Ok(()) => return Ok((name.to_owned(), model)),
            Err(reason) => why = reason,
        }
    }
    Err(Stop::Usage(format!(
        "{}: {why}; name a smaller model with --model",
        described.name
    )))
}

/// Why so many GPUs have no room for the model and all requests in flight.
fn room(described: &BoxFile, model: &ModelFacts, tp: u32) -> Result<(), String> {
    let longest = LOAD.input_tokens + LOAD.output_tokens;
    let limits =
        Limits::of_box(described, model, tp, longest).map_err(|error| error.to_string())?;
    let held = limits.kv_blocks / u64::from(longest.div_ceil(limits.block_tokens));
    match held >= u64::from(LOAD.concurrency) {
        true => Ok(()),
        false => Err(format!(
            "{} leaves room for {held} of {} requests at once on {tp} GPU(s)",
            model.name, LOAD.concurrency
        )),
    }
}

/// Seconds of the load on so many GPUs; in words why there is none.
pub(super) fn seconds(described: &BoxFile, model: &ModelFacts, tp: u32) -> Result<f64, String> {
    model.check_tp(tp).map_err(|error| error.to_string())?;
    room(described, model, tp)?;
    let words = |error: EngineError| error.to_string();
    let around = surroundings(described, tp).map_err(words)?;
    let step = StepTime::new(
        model.clone(),
        EngineFacts::vllm(tp, &around),
        Profile::of_box(described, model).map_err(words)?,
        Curve::of_box(described, tp),
    )
    .map_err(words)?;
    let of = |tokens: u32, context: u32| -> Result<f64, String> {
        let load = StepLoad {
            sequences: LOAD.concurrency,
            tokens,
            context_tokens: u64::from(LOAD.concurrency) * u64::from(context),
        };
        Ok(step.parts(load).map_err(words)?.total_us() / 1e6)
    };
    let prompt = of(LOAD.concurrency * LOAD.input_tokens, LOAD.input_tokens)?;
    let decode = of(LOAD.concurrency, LOAD.input_tokens + LOAD.output_tokens / 2)?;
    Ok(LOAD.seconds(prompt, decode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_takes_its_waves_and_the_warm_up() {
        // 32 requests of 16 in flight are two waves and one of warm-up; each 0.5 s of prompt and 63 steps of 50 ms:
        // 3 * (0.5 + 3.15) = 10.95 s.
        let seconds = LOAD.seconds(0.5, 0.050);
        assert!((seconds - 10.95).abs() < 1e-9, "{seconds}");
    }
}
