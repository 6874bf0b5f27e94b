//! From the command line to an engine: box, model, the engine's facts, limits and profile.

use anyhow::Context;
use boxfile::BoxFile;
use disagg::KvShape;
use engine::{Curve, Engine, Limits, Profile, StepTime, surroundings};
use tp_plan::ModelFacts;

use super::args::Args;
use crate::explain::EngineFlags;

/// What the answers of an engine say of it.
#[derive(Debug)]
pub(super) struct Setup {
    /// As the engine was started.
    pub(super) args: Args,
    /// Name that requests carry.
    pub(super) model: String,
    /// Name of the box.
    pub(super) soft_box: String,
    /// Its keys and values.
    pub(super) shape: KvShape,
}

impl Setup {
    /// Reads what the command line names, with an engine that has nothing to do. Every error is the user's input.
    pub(super) fn of(args: &Args) -> anyhow::Result<(Self, Engine)> {
        let described = BoxFile::resolve(&args.described).context("--box")?;
        let model = ModelFacts::resolve(&args.model).context("--model")?;
        let ranks = args.tensor_parallel_size;
        let around = surroundings(&described, ranks)?;
        model.check_tp(ranks).context("--tensor-parallel-size")?;
        let flags = EngineFlags {
            eager: args.enforce_eager,
            library_only: args.disable_custom_all_reduce,
            max_num_seqs: args.max_num_seqs,
            max_batched_tokens: args.max_num_batched_tokens,
            ..EngineFlags::default()
        };
        let facts = flags.facts(ranks, &around);
        let mut profile = Profile::of_box(&described, &model)?;
        if let Some(file) = &args.profile {
            let name = file.display().to_string();
            let text = bounded::text(file, bounded::SETTINGS);
            let text = text.with_context(|| format!("--profile: cannot read {name}"))?;
            profile = profile.with_json(&text, &name)?;
        }
        let limits = Limits::of_box(&described, &model, ranks, args.max_model_len)?;
        let named = args.served_model_name.clone();
        let setup = Self {
            args: args.clone(),
            model: named.unwrap_or_else(|| model.name.clone()),
            soft_box: described.name.clone(),
            shape: KvShape::of(&model, limits.block_tokens),
        };
        let step_time = StepTime::new(model, facts, profile, Curve::of_box(&described, ranks))?;
        let mut engine = Engine::new(step_time, limits)?;
        if args.enable_prefix_caching {
            engine = engine.with_prefix_caching();
        }
        Ok((setup, engine))
    }
}
