//! `tplens demo`: a study of a simulated machine with the embedded engine, with the time that it takes.
//!
//! It is the study of a command line that anybody can write, made here from the machine's name.

use std::path::PathBuf;

use boxfile::{BoxFile, builtin_names};
use clap::{Args, Parser};
use engine::surroundings;
use explain::room;
use program::Stop;
use tp_plan::{CustomAllReduce, EngineFacts, ModelFacts};
use view::{Block, Document, Section};

use super::engines::{TP, embedded};
use super::run::{StudyArgs, run};
use crate::explain::{NO_OWN_ALL_REDUCE, NODE, PAIR};
use crate::planner::{Asker, shell, table, words};

/// A study on a simulated machine with the embedded engine: shows what a study gives, on any machine, with the first of qwen2.5-72b-fp8,
/// qwen3-14b and llama-3.1-8b that one GPU of the machine holds. Resumes where it was interrupted when started again with the same --box
/// and --out. Another model: tplens study --sim BOX --model MODEL.
#[derive(Debug, Clone, Args)]
pub(crate) struct DemoArgs {
    /// The simulated machine: a built-in name, or a machine file.
    #[arg(long = "box", value_name = "BOX", default_value = "rtxpro6000-mig")]
    box_name: String,

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

/// Runs the demonstration, or lists them, and gives the exit code.
///
/// # Errors
/// What ended it; what was measured is in its folder.
pub(crate) fn demo(args: &DemoArgs, asker: &Asker<'_>) -> Result<u8, Stop> {
    if args.list {
        return Ok(asker.show.print(&list()?));
    }
    let mut study = planned(&args.box_name)?;
    study.subject.out.clone_from(&args.out);
    study.demo.prefix = Some("demo");
    let (steps, seconds) = steps(&study)?;
    (asker.say)(&format!(
        "{} with {}, simulated, no GPU is used. Steps: {steps}; then the answer. About {seconds:.0} s on two free cores, minutes on busy ones.",
        args.box_name, study.subject.model
    ));
    run(&study, asker)
}

/// The names of a study's steps, and about how many seconds they take together.
fn steps(study: &StudyArgs) -> Result<(String, f64), Stop> {
    let steps = study.steps()?;
    let names: Vec<&str> = steps.iter().map(|step| &*step.name).collect();
    let seconds = steps.iter().map(|step| step.seconds).sum();
    Ok((names.join(", "), seconds))
}

/// The study of a machine.
fn planned(named: &str) -> Result<StudyArgs, Stop> {
    match named {
        PAIR => pair(),
        _ => sizes(named),
    }
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
    let usage = |error: &dyn std::fmt::Display| Stop::Usage(format!("--box {named}: {error}"));
    let described = BoxFile::resolve(named).map_err(|error| usage(&error))?;
    let around = |tp| surroundings(&described, tp);
    let one = around(1).map_err(|error| usage(&error))?;
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
    let model = MODELS.into_iter().find(holds).ok_or_else(|| usage(&none))?;
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

/// The built-in machines with what is run on each and how long it takes.
fn list() -> Result<Document, Stop> {
    let mut boxes = table("machine, GPUs, model, TP, s");
    for name in builtin_names().into_iter().chain([PAIR]) {
        let study = planned(name)?;
        let gpus = BoxFile::builtin(name).map_or(16, |described| described.device.len());
        boxes.row([
            name.to_owned(),
            gpus.to_string(),
            study.subject.model.clone(),
            study.sizes(),
            format!("{:.0}", steps(&study)?.1),
        ]);
    }
    Ok(Document {
        title: "Demonstrations".to_owned(),
        answer: vec![
            "Seconds on two cores that do little else; all figures are simulated.".to_owned(),
        ],
        sections: vec![Section::new("", vec![Block::Table(boxes)])],
        ..Document::default()
    })
}
