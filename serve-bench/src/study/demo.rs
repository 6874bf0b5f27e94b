//! `tplens demo`: a study of a simulated machine with the embedded engine, with the time that it takes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use boxfile::{BoxFile, builtin_names};
use clap::Args;
use engine::surroundings;
use explain::Room;
use program::Stop;
use tp_plan::{CustomAllReduce, EngineFacts, ModelFacts};
use view::{Block, Document, Section, Table};

use super::engines::{TP, embedded};
use super::load::LoadArgs;
use super::run::{Extras, Study, StudyArgs};
use super::subject::SubjectArgs;
use crate::explain::{NO_OWN_ALL_REDUCE, NODE, PAIR};
use crate::planner::{Asker, shell, words};
use crate::split::study::{ApartArgs, ApartStudy};

/// A study on a simulated machine with the embedded engine: shows what a study gives, on any machine. Resumes where it was interrupted
/// when started again with the same --box and --out.
#[derive(Debug, Clone, Args)]
pub(crate) struct DemoArgs {
    /// The simulated machine: a built-in name, or a machine file.
    #[arg(long = "box", value_name = "BOX", default_value = "rtxpro6000-mig")]
    box_name: String,

    /// The model [default: the first of qwen2.5-72b-fp8, qwen3-14b and llama-3.1-8b that one GPU of the machine holds]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    /// Print the built-in machines with models, sizes and times; run nothing.
    #[arg(long)]
    list: bool,

    /// Folder of the study. Default: a new one under tplens-results.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Sizes, where the machine has so many GPUs.
const SIZES: [u32; 3] = [1, 2, 4];

/// Models, the largest first.
const MODELS: [&str; 3] = ["qwen2.5-72b-fp8", "qwen3-14b", "llama-3.1-8b"];

/// A load that was reported for a machine like the default one, with 32 requests of 64 tokens instead of 64 of 256.
const LOAD: LoadArgs = LoadArgs {
    concurrency: 16,
    requests: Some(32),
    input_tokens: 89,
    output_tokens: 64,
    ready_timeout: Duration::from_secs(60),
};

/// What the demonstration leaves out.
const NOTE: &str = "Short demo: 32 requests of 64 tokens; the recorded run had 64 of 256.";

/// The model of the two nodes, and one of the lengths of prompts that were reported for them.
const PAIR_MODEL: &str = "qwen3-30b-a3b";
const PAIR_LOAD: LoadArgs = LoadArgs {
    concurrency: 16,
    requests: Some(128),
    input_tokens: 4096,
    output_tokens: 128,
    ready_timeout: Duration::from_secs(60),
};

/// Seconds that it takes, about.
const PAIR_S: u32 = 40;

/// Seconds for the collectives of a size.
const BUDGET: Duration = Duration::from_secs(10);

/// Expected seconds are what the steps take times this, because machines are not idle.
const ROOM: f64 = 1.25;

/// Runs the demonstration, or lists them, and gives the exit code.
///
/// # Errors
/// What ended it; what was measured is in its folder.
pub(crate) fn demo(args: &DemoArgs, asker: &Asker<'_>) -> Result<u8, Stop> {
    if args.list {
        return Ok(asker.show.print(&list()?));
    }
    asker.in_folder(args.out.as_deref(), "demo", |folder| {
        if args.box_name == PAIR {
            return pair(args, folder, asker);
        }
        let (study, extras) = planned(&args.box_name, args.model.as_deref())?;
        (asker.say)(&format!(
            "{}: {} on {} GPUs, about {} s",
            args.box_name,
            study.subject.model,
            study.sizes(),
            expected(&study)?
        ));
        Study::new(&study, folder)?.run(&extras, asker)
    })
}

/// Prefill on one simulated node and decode on another, behind the router, beside an aggregated engine.
fn pair(args: &DemoArgs, folder: &Path, asker: &Asker<'_>) -> Result<u8, Stop> {
    let model = args.model.as_deref().unwrap_or(PAIR_MODEL);
    let engine = |role: Option<&str>| {
        let mut command = embedded(NODE, model, "8")?;
        command.extend(words(role.map(|role| ("--role", role.to_owned()))));
        Ok::<_, Stop>(shell(&command))
    };
    let apart = ApartArgs {
        prefill: vec![engine(Some("prefill"))?],
        decode: vec![engine(Some("decode"))?],
        aggregated: Some(engine(None)?),
        ..ApartArgs::default()
    };
    (asker.say)(&format!(
        "{PAIR}: two nodes of {NODE}, {model}, about {PAIR_S} s"
    ));
    ApartStudy {
        args: &apart,
        model,
        load: &PAIR_LOAD,
        folder,
    }
    .run(asker)
}

/// The study on one simulated machine, whose engine would do all-reduces itself in some, which no simulated machine can time.
fn planned(named: &str, model: Option<&str>) -> Result<(StudyArgs, Extras), Stop> {
    let usage = |error: &dyn std::fmt::Display| Stop::Usage(format!("{named}: {error}"));
    let described =
        BoxFile::resolve(named).map_err(|error| Stop::Usage(format!("--box: {error}")))?;
    let around = |tp| surroundings(&described, tp);
    let one = around(1).map_err(|error| usage(&error))?;
    let model = chosen(one.memory_bytes, model).map_err(|error| usage(&error))?;
    let sizes = SIZES.into_iter().filter(|tp| around(*tp).is_ok());
    let sizes: Vec<u32> = sizes.collect();
    let reduces_itself = |tp: &u32| {
        let facts = around(*tp).map(|around| EngineFacts::vllm(*tp, &around));
        facts.is_ok_and(|facts| facts.custom_all_reduce == CustomAllReduce::Active)
    };
    let off_by_us = sizes.iter().any(reduces_itself);
    let mut server = Vec::new();
    if off_by_us {
        server = embedded(named, &model, TP)?;
        server.push(NO_OWN_ALL_REDUCE.to_owned());
    }
    let study = StudyArgs {
        subject: SubjectArgs {
            model,
            gpus: None,
            backend: "auto".to_owned(),
            load: LOAD,
            budget: Some(BUDGET),
            sim: Some(named.to_owned()),
            out: None,
            server,
        },
        tp: sizes,
        apart: ApartArgs::default(),
    };
    let note = Some(NOTE.to_owned());
    Ok((study, Extras { note, off_by_us }))
}

/// The seconds that are expected, in whole fives.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "some minutes in seconds"
)]
fn expected(study: &StudyArgs) -> Result<u32, Stop> {
    let steps = Study::new(study, Path::new(""))?.steps()?;
    let seconds: f64 = steps.iter().map(|step| step.seconds).sum();
    Ok(5 * (seconds * ROOM / 5.0).ceil() as u32)
}

/// The model that was named, else the first that a GPU with so much memory holds with all requests.
fn chosen(memory: Option<u64>, named: Option<&str>) -> Result<String, String> {
    let tokens = f64::from(LOAD.input_tokens + LOAD.output_tokens);
    for name in named.map_or(MODELS.to_vec(), |name| vec![name]) {
        let model = ModelFacts::resolve(name).map_err(|error| format!("--model: {error}"))?;
        let room = Room::new(&model, 1, tokens, memory, None);
        if room.holds(LOAD.concurrency) != Some(false) {
            return Ok(name.to_owned());
        }
    }
    Err("one GPU has no room for the model; name a smaller one with --model".to_owned())
}

/// The built-in machines with what is run on each and how long it takes.
fn list() -> Result<Document, Stop> {
    let mut table = Table::under(["machine", "GPUs", "model", "TP", "s"]);
    for name in builtin_names() {
        let (study, _) = planned(name, None)?;
        let gpus = BoxFile::builtin(name).map_or(0, |described| described.device.len());
        table.row([
            name.to_owned(),
            gpus.to_string(),
            study.subject.model.clone(),
            study.sizes(),
            expected(&study)?.to_string(),
        ]);
    }
    table.row([PAIR, "16", PAIR_MODEL, "8", &PAIR_S.to_string()].map(str::to_owned));
    Ok(Document {
        title: "Demonstrations".to_owned(),
        answer: vec![
            "Seconds on two cores that do little else; all figures are simulated.".to_owned(),
        ],
        sections: vec![Section::new("", vec![Block::Table(table)])],
        ..Document::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_does_not_fit_is_refused_with_the_next_step() {
        let Err(Stop::Usage(reason)) = planned("r9700-x8", Some("qwen2.5-72b")) else {
            panic!("145 GB fit on 32 GiB");
        };
        assert!(reason.contains("--model"), "{reason}");
    }
}
