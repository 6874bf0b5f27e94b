//! `tplens demo`: a study of a simulated machine with the embedded engine, with the time that it takes.
//!
//! It is the study of a command line that anybody can write, made here from the machine's name.

use std::path::PathBuf;

use boxfile::BoxFile;
use clap::{Args, Parser};
use engine::surroundings;
use explain::room;
use program::Stop;
use tp_plan::{CustomAllReduce, EngineFacts, ModelFacts};

use super::engines::{TP, embedded};
use super::run::{StudyArgs, run};
use crate::explain::{NO_OWN_ALL_REDUCE, NODE, PAIR};
use crate::planner::{Asker, shell, usage, words};

/// A study on a simulated machine with the embedded engine: shows what a study gives, on any machine, with the first of qwen2.5-72b-fp8,
/// qwen3-14b and llama-3.1-8b that one GPU of the machine holds. Resumes where it was interrupted when started again with the same --box
/// and --out. Another model: tplens study --sim BOX --model MODEL.
#[derive(Debug, Clone, Args)]
pub(crate) struct DemoArgs {
    /// The simulated machine: a built-in name, such as l40x4, r9700-x16, rtxpro6000-mig, mxc500x4, h200x8 or h200x16-pd, or a machine file.
    #[arg(long = "box", value_name = "BOX", default_value = "rtxpro6000-mig")]
    box_name: String,

    /// Folder of the study. Default: a new one under tplens-results.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Sizes, where the machine has so many GPUs.
const SIZES: [u32; 3] = [1, 2, 4];

/// Models, the largest first.
const MODELS: [&str; 3] = ["qwen2.5-72b-fp8", "qwen3-14b", "llama-3.1-8b"];

/// A load that was reported for a machine like the default one, with 32 requests of 64 tokens instead of 64 of 256.
const LOAD: &str = "--concurrency 16 --requests 32 --input-tokens 89 --output-tokens 64 --ready-timeout 60 --budget 10";
/// Whose messages are timed: the batch that is served and its neighbours, in the mode that stands for serving.
const COLLECTIVES: (&str, &str) = ("8,16,32", "interleaved");
const NOTE: &str = "Short demo: 32 requests of 64 tokens; the recorded run had 64 of 256.";

/// The model of the two nodes, and one of the lengths of prompts that were reported for them.
const PAIR_MODEL: &str = "qwen3-30b-a3b";
const PAIR_LOAD: &str =
    "--concurrency 16 --requests 128 --input-tokens 4096 --output-tokens 128 --ready-timeout 60";

/// A study's command line without its first word.
#[derive(Parser)]
#[command(no_binary_name = true)]
struct Line {
    #[command(flatten)]
    study: StudyArgs,
}

/// Runs the demonstration, and gives the exit code.
///
/// # Errors
/// What ended it; what was measured is in its folder.
pub(crate) fn demo(args: &DemoArgs, asker: &Asker<'_>) -> Result<u8, Stop> {
    let mut study = match args.box_name.as_str() {
        PAIR => pair()?,
        named => sizes(named)?,
    };
    study.subject.out.clone_from(&args.out);
    (asker.say)(&format!(
        "{} with {}, simulated: no GPU is used",
        args.box_name, study.subject.model
    ));
    run(&study, asker)
}

fn parsed(words: impl IntoIterator<Item = String>, load: &str) -> Result<StudyArgs, Stop> {
    let load = load.split(' ').map(str::to_owned);
    let line = Line::try_parse_from(load.chain(words));
    line.map(|line| line.study)
        .map_err(|error| Stop::Usage(error.to_string()))
}

/// Prefill on one simulated node and decode on another, behind the router, beside an aggregated engine.
fn pair() -> Result<StudyArgs, Stop> {
    let engine = |role: Option<&str>| {
        let mut command = embedded(NODE, PAIR_MODEL, "8")?;
        command.extend(words(role.map(|role| ("--role", role.to_owned()))));
        Ok::<_, Stop>(shell(&command))
    };
    let engines = words([
        ("--model", PAIR_MODEL.to_owned()),
        ("--prefill", engine(Some("prefill"))?),
        ("--decode", engine(Some("decode"))?),
        ("--aggregated", engine(None)?),
    ]);
    let study = parsed(engines, PAIR_LOAD)?;
    Ok(StudyArgs {
        tp: vec![8],
        ..study
    })
}

/// The study of tensor parallel sizes on one simulated machine, whose engine would do all-reduces itself in some, which no simulated
/// machine can time.
fn sizes(named: &str) -> Result<StudyArgs, Stop> {
    let flag = format!("--box {named}");
    let described = BoxFile::resolve(named).map_err(usage(&flag))?;
    let around = |tp| surroundings(&described, tp);
    let one = around(1).map_err(usage(&flag))?;
    let line = words([("--model", String::new()), ("--sim", named.to_owned())]);
    let mut study = parsed(line, LOAD)?;
    study.tp = SIZES.into_iter().filter(|tp| around(*tp).is_ok()).collect();
    let subject = &mut study.subject;
    let load = &subject.load;
    let tokens = f64::from(load.input_tokens + load.output_tokens);
    let holds = |name: &&str| {
        let model = ModelFacts::resolve(name);
        let room = model.map(|model| room(&model, 1, tokens, one.memory_bytes));
        room.is_ok_and(|holds| holds.is_none_or(|holds| holds >= load.concurrency))
    };
    let none = "one GPU has no room for these models; name a smaller one: tplens study --sim BOX --model MODEL";
    let model = MODELS.into_iter().find(holds).ok_or(none);
    let model = model.map_err(usage(&flag))?;
    subject.model = model.to_owned();
    let reduces_itself = |tp: &u32| {
        let facts = around(*tp).map(|around| EngineFacts::vllm(*tp, &around));
        facts.is_ok_and(|facts| facts.custom_all_reduce == CustomAllReduce::Active)
    };
    if study.tp.iter().any(reduces_itself) {
        subject.server = embedded(named, &subject.model, TP)?;
        subject.server.push(NO_OWN_ALL_REDUCE.to_owned());
        study.demo.off_by_us = true;
    }
    study.demo.note = Some(NOTE.to_owned());
    study.demo.collectives = Some(COLLECTIVES);
    Ok(study)
}
