//! From the command line to an engine: box, model, the engine's facts, limits and profile.

use anyhow::Context;
use boxfile::BoxFile;
use engine::{Curve, Engine, Limits, Profile, StepTime, surroundings};
use tp_plan::{EngineFacts, ModelFacts};

use super::Args;

/// An engine and what its answers say of it.
#[derive(Debug)]
pub(super) struct Setup {
    /// The engine, with nothing to do.
    pub(super) engine: Engine,
    /// Name that requests carry.
    pub(super) model: String,
    /// Name of the box.
    pub(super) soft_box: String,
    /// Virtual seconds a second.
    pub(super) speed: f64,
}

impl Setup {
    /// Reads what the command line names. Every error is the user's input.
    pub(super) fn of(args: &Args) -> anyhow::Result<Self> {
        let described = BoxFile::resolve(&args.described).context("--box")?;
        let model = ModelFacts::resolve(&args.model).context("--model")?;
        let ranks = args.tensor_parallel_size;

        let around = surroundings(&described, ranks)?;
        model.check_tp(ranks).context("--tensor-parallel-size")?;
        let mut facts = EngineFacts::vllm(ranks, &around);
        if let Some(sequences) = args.max_num_seqs {
            facts = facts.with_max_num_seqs(sequences);
        }
        if let Some(tokens) = args.max_num_batched_tokens {
            facts = facts.with_max_batched_tokens(tokens);
        }
        if args.enforce_eager {
            facts = facts.with_eager();
        }
        let mut profile = Profile::of_box(&described, &model)?;
        if let Some(file) = &args.profile {
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("--profile: cannot read {}", file.display()))?;
            profile = profile.with_json(&text, &file.display().to_string())?;
        }
        let limits = Limits::of_box(&described, &model, ranks, args.max_model_len)?;
        let name = args
            .served_model_name
            .clone()
            .unwrap_or_else(|| model.name.clone());
        let step_time = StepTime::new(model, facts, profile, Curve::of_box(&described, ranks))?;
        Ok(Self {
            engine: Engine::new(step_time, limits)?,
            model: name,
            soft_box: described.name,
            speed: args.speed,
        })
    }
}
