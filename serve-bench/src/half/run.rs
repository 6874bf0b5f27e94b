//! Prints, writes or runs a half model.

use std::path::Path;

use boxfile::BoxFile;
use engine::Profile;
use program::command_line::quoted;
use program::{Stop, outputs};
use record::{exit, write_whole};
use runner::run::{Needs, Run};
use runner::server::ServerSpec;
use serde_json::json;
use tp_plan::{HalfModel, ModelFacts, hub_id};
use view::{Block, Document, Section};

use super::args::HalfModelArgs;
use crate::json;
use crate::planner::{Asker, shell, words};
use crate::study::engines::embedded;
use crate::study::subject::check_program;

/// Where the model's name or folder and the port stand in the user's words.
const MODEL: &str = "{model}";
const PORT: &str = "{port}";

/// The settings of a run, in its folder.
const SETTINGS: &str = "settings.json";

/// The embedded engine's figures for the share, in the run's folder.
const PROFILE: &str = "profile.json";

/// Does what the command line asks for, and gives the exit code.
///
/// # Errors
/// The model has no share that can be run, a file cannot be written, the server does not come up, or a signal came.
pub(crate) fn run(args: &HalfModelArgs, asker: &Asker<'_>) -> Result<u8, Stop> {
    let half = HalfModel::resolve(&args.model, args.tp, args.engine())
        .map_err(|error| Stop::Usage(format!("--model: {error}")))?;
    asker.in_folder(Some(&args.out), "", |_| {
        let settings = json!({"model": args.model, "tp": args.tp, "sim": args.sim});
        let settings = args.load.settings(settings, &args.server);
        let of = ("a shard run", SETTINGS);
        let run = args.run.then(|| asker.open(&args.out, of, &settings));
        let run = run.transpose()?;
        // The embedded engine takes no flags in place of a configuration.
        let own = args.sim.as_ref().map(|_| args.out.join("config"));
        let folder = args.write.clone().or(own);
        if let Some(folder) = &folder {
            write(folder, &half)?;
        }
        let written = folder.as_ref().map(|folder| folder.display().to_string());
        let command = match (&args.sim, &written) {
            (Some(sim), Some(folder)) => simulated(args, sim, folder)?,
            (_, written) => command(args, &half, written.as_deref()).map_err(Stop::Usage)?,
        };
        match run {
            Some(run) => measured(args, &half, command, run),
            None => Ok(asker
                .show
                .print(&document(&half, &command, written.is_some()))),
        }
    })
}

/// What a person reads: the command, what the share is, and what to know of it.
fn document(half: &HalfModel, command: &[String], is_written: bool) -> Document {
    let facts = &half.facts;
    let of_config = half.config_notes.iter().filter(|_| is_written);
    let notes = half.notes.iter().chain(of_config).cloned();
    Document {
        title: facts.name.clone(),
        answer: vec![format!(
            "{} of {}: TPOT of TP{} less its TPOT is exposed communication.",
            facts.name, half.model, half.tp
        )],
        sections: vec![
            Section::new("Command", vec![Block::Code(vec![shell(command)])]),
            Section::new("Notes", vec![Block::list(notes)]),
        ],
        ..Document::default()
    }
}

/// The embedded engine with a written share on a simulated machine, its matrix products at the rates that a rank has there.
fn simulated(args: &HalfModelArgs, sim: &str, folder: &str) -> Result<Vec<String>, Stop> {
    let usage = |flag: &str, why: &dyn std::fmt::Display| Stop::Usage(format!("{flag}: {why}"));
    let described = BoxFile::resolve(sim).map_err(|error| usage("--sim", &error))?;
    let model = ModelFacts::resolve(&args.model).map_err(|error| usage("--model", &error))?;
    let profile = Profile::of_box(&described, &model).map_err(|error| usage("--model", &error))?;
    let share = profile.of_share(args.tp);
    let file = args.out.join(PROFILE);
    json::write(
        &file,
        &json!({
            "weight_gb_per_s": share.weight_gb_per_s,
            "compute_tflop_per_s": share.compute_tflop_per_s,
        }),
    )?;
    let mut command = embedded(sim, folder, "1")?;
    command.extend(words([
        ("--profile", file.display().to_string()),
        (
            "--served-model-name",
            HalfModel::name_of(&model.name, args.tp),
        ),
    ]));
    Ok(command)
}

fn write(folder: &Path, half: &HalfModel) -> Result<(), Stop> {
    let file = folder.join("config.json");
    let there = bounded::text(&file, bounded::SETTINGS);
    if file.exists() && there.ok() != Some(half.config_json()) {
        return Err(Stop::Usage(format!(
            "--write {}: there is another config.json already; name a folder that has none",
            folder.display()
        )));
    }
    outputs::make_folder("--write", folder)?;
    write_whole(&file, half.config_json().as_bytes()).map_err(|error| Stop::Internal(error.into()))
}

/// The server's command: the engine's own words or the user's, then what makes it a half model.
fn command(
    args: &HalfModelArgs,
    half: &HalfModel,
    folder: Option<&str>,
) -> Result<Vec<String>, String> {
    // A tokenizer is at hand where the model is a folder with one.
    let own = Path::new(&args.model);
    let has_tokenizer = own.join("tokenizer_config.json").is_file();
    // An engine knows no short names, and of a configuration the folder that it lies in.
    let given = hub_id(&args.model).unwrap_or(&args.model);
    let given = given.strip_suffix("/config.json").unwrap_or(given);
    let model = folder.unwrap_or(given);
    let whole = match folder {
        Some(folder) => {
            half.command_written(folder, has_tokenizer.then_some(args.model.as_str()))
        }
        None => half.command(given).ok_or_else(|| {
            format!(
                "{}: no flag makes {} a half model: its keys stand where none reaches; write it with --write DIR",
                args.model,
                args.engine().name()
            )
        })?,
    };
    if args.server.is_empty() {
        return Ok(whole);
    }
    if !args.server.iter().any(|word| word.contains(MODEL)) {
        return Err(format!(
            "the server's words do not say where the model belongs: write {MODEL}, such as `-- vllm serve {MODEL}`"
        ));
    }
    let added = whole.iter().skip_while(|word| *word != model).skip(1);
    let given = args.server.iter().map(|word| word.replace(MODEL, model));
    Ok(given.chain(added.cloned()).collect())
}

/// Starts the server, puts the load on it, and ends it.
fn measured(
    args: &HalfModelArgs,
    half: &HalfModel,
    mut command: Vec<String>,
    mut run: Run<'_>,
) -> Result<u8, Stop> {
    check_program(&command)?;
    if !command.iter().any(|word| word.contains(PORT)) {
        command.extend(["--port".to_owned(), PORT.to_owned()]);
    }
    let name = format!("half-tp{}", args.tp);
    let server = Needs::Started(ServerSpec {
        name: "server".to_owned(),
        words: command,
        environment: Vec::new(),
        port: None,
        log: args.out.join(format!("{name}-server.log")),
        ready: args.load.ready_timeout,
    });
    let about = format!("load on {} on one GPU", half.facts.name);
    let step = (args.load).step((name, about), (half.vocab(), 1), server);
    run.expect(std::slice::from_ref(&step));
    let end = run.step(&step)?;
    run.end_server();
    let text = format!(
        "The result of {} on one GPU is in {}; TPOT of TP{} less its TPOT is communication, exposed. To have it explained: tplens explain ... --half {}\n",
        half.facts.name,
        end.folder.display(),
        args.tp,
        quoted(end.folder.as_os_str())
    );
    Ok(exit::fold([outputs::print(&text), end.code]))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: HalfModelArgs,
    }

    fn half(line: &str, folder: Option<&str>) -> Result<String, String> {
        let line = Line::parse_from(["half-model"].into_iter().chain(line.split(' ')));
        let args = line.args;
        let half = HalfModel::resolve(&args.model, args.tp, args.engine())
            .map_err(|error| error.to_string())?;
        Ok(command(&args, &half, folder)?.join(" "))
    }

    #[test]
    fn what_makes_it_a_half_model_stands_behind_the_users_words() {
        let own = half(
            "--model llama-3.1-8b -- /opt/vllm serve {model} --max-model-len 4096",
            None,
        );
        let own = own.unwrap();
        let begin = "/opt/vllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 4096 --tensor-parallel-size 1 --load-format dummy --hf-overrides {";
        assert!(own.starts_with(begin), "{own}");
        // 32 / 2 heads, 14336 / 2 of width.
        assert!(own.contains("\"num_attention_heads\":16"), "{own}");
        assert!(own.contains("\"intermediate_size\":7168"), "{own}");
        let unnamed = half("--model llama-3.1-8b -- vllm serve x", None).unwrap_err();
        assert!(unnamed.contains("write {model}"), "{unnamed}");
    }

    #[test]
    fn a_short_name_becomes_what_an_engine_finds_and_a_file_its_folder() {
        let begin = |line: &str| {
            let whole = half(line, None).unwrap();
            whole.split(" --").next().unwrap().to_owned()
        };
        assert_eq!(
            begin("--model gpt-oss-120b"),
            "vllm serve openai/gpt-oss-120b"
        );
        // An id that was given is the user's own choice of weights.
        assert_eq!(
            begin("--model meta-llama/Llama-3.1-8B"),
            "vllm serve meta-llama/Llama-3.1-8B"
        );
    }
}
