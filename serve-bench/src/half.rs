//! `tplens half`: a rank's share of a model as a model of its own on one GPU, printed as a server's command, written
//! as a configuration, or run under a load. What TP2 takes longer than it is communication.

use std::path::{Path, PathBuf};

use boxfile::BoxFile;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use engine::Profile;
use program::command_line::quoted;
use program::{Stop, outputs};
use record::{exit, write_whole};
use runner::run::Needs;
use serde_json::json;
use tp_plan::{Engine, HalfModel, ModelFacts, hub_id};
use view::{Block, Document, Section};

use crate::json;
use crate::planner::{self, Asker, shell, usage, words};
use crate::study::engines::embedded;
use crate::study::subject::{LoadArgs, check_program};

/// Where the model's name or folder and the port stand in the user's words.
const MODEL: &str = "{model}";
const PORT: &str = "{port}";

/// Prints how a server runs a rank's share of a model on one GPU: the time of a step of TP2 less its time is communication.
///
/// The share has the rank's heads, key-value heads, widths and part of the vocabulary, and weights that are made up
/// (`--load-format dummy`). Only its times mean something.
#[derive(Debug, Clone, Args)]
pub(crate) struct HalfModelArgs {
    /// The model: a shipped name, a config.json, or a folder that holds one.
    #[arg(long, value_name = "MODEL")]
    model: String,

    /// Tensor parallel size that the share is of one rank.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(2..=64))]
    tp: u32,

    /// Engine that serves.
    #[arg(long, default_value = "vllm", value_parser = engines())]
    engine: Engine,

    /// Write the share's config.json into this folder; the command then names the folder. For a model whose configuration cannot
    /// be replaced by flags, such as the language part of Qwen2.5-VL, the only way.
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,

    /// Start the server, put a closed-loop load on it and end it; the result is in --out.
    #[arg(long)]
    run: bool,

    /// Run on a simulated machine with the embedded engine, with --run: a built-in name or a box file. Its matrix products run at the rates
    /// that a rank has there. Its numbers are arithmetic, never measurements.
    #[arg(long, value_name = "BOX", requires = "run", conflicts_with_all = ["engine", "server"])]
    sim: Option<String>,

    #[command(flatten, next_help_heading = "Load, with --run")]
    load: LoadArgs,

    /// Folder of the run, with --run: the server's log and the result.
    #[arg(long, value_name = "DIR", default_value = "half-model")]
    out: PathBuf,

    /// The server's command up to what a half model adds, such as `vllm serve {model} --max-model-len 4096`; {model} becomes the
    /// model or the written folder, {port} the port. Default: the engine's own.
    #[arg(last = true, value_name = "SERVER WORDS")]
    server: Vec<String>,
}

fn engines() -> impl TypedValueParser<Value = Engine> {
    PossibleValuesParser::new(["vllm", "sglang"]).map(|name| match name.as_str() {
        "sglang" => Engine::Sglang,
        _ => Engine::Vllm,
    })
}

/// Does what the command line asks for, and gives the exit code.
///
/// # Errors
/// The model has no share that can be run, a file cannot be written, the server does not come up, or a signal came.
pub(crate) fn run(args: &HalfModelArgs, asker: &Asker<'_>) -> Result<u8, Stop> {
    let half = HalfModel::resolve(&args.model, args.tp, args.engine);
    let half = half.map_err(usage("--model"))?;
    asker.in_folder(Some(&args.out), "", |_| {
        let settings = json!({"model": args.model, "tp": args.tp, "sim": args.sim});
        let settings = args.load.settings(settings, &args.server);
        let open = || asker.open(&args.out, ("a shard run", "settings.json"), &settings);
        let run = args.run.then(open).transpose()?;
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
        let Some(mut run) = run else {
            let document = document(&half, &command, written.is_some());
            return Ok(asker.show.print(&document));
        };
        let step = (args.load).step(
            (
                format!("half-tp{}", args.tp),
                format!("load on {} on one GPU", half.facts.name),
            ),
            (half.vocab(), 1),
            server(args, command)?,
        );
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
    })
}

/// What a person reads: the command, what the share is, and what to know of it.
fn document(half: &HalfModel, command: &[String], is_written: bool) -> Document {
    let name = &half.facts.name;
    let of_config = half.config_notes.iter().filter(|_| is_written);
    let notes = half.notes.iter().chain(of_config).cloned();
    let (model, tp) = (&half.model, half.tp);
    Document {
        title: name.clone(),
        answer: vec![format!(
            "{name} of {model}: TPOT of TP{tp} less its TPOT is exposed communication."
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
    let described = BoxFile::resolve(sim).map_err(usage("--sim"))?;
    let model = ModelFacts::resolve(&args.model).map_err(usage("--model"))?;
    let profile = Profile::of_box(&described, &model).map_err(usage("--model"))?;
    let share = profile.of_share(args.tp);
    let file = args.out.join("profile.json");
    let rates = json!({
        "weight_gb_per_s": share.weight_gb_per_s,
        "compute_tflop_per_s": share.compute_tflop_per_s,
    });
    json::write(&file, &rates)?;
    let name = HalfModel::name_of(&model.name, args.tp);
    let more = words([
        ("--profile", file.display().to_string()),
        ("--served-model-name", name),
    ]);
    Ok([embedded(sim, folder, "1")?, more].concat())
}

fn write(folder: &Path, half: &HalfModel) -> Result<(), Stop> {
    let file = folder.join("config.json");
    // Another layout or order of its keys is the same configuration.
    let is_same = json::read(&file, bounded::SETTINGS) == Some(half.config.clone().into());
    if file.exists() && !is_same {
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
    let has_tokenizer = Path::new(&args.model).join("tokenizer_config.json");
    let tokenizer = has_tokenizer.is_file().then_some(args.model.as_str());
    // An engine knows no short names, and of a configuration the folder that it lies in.
    let given = hub_id(&args.model).unwrap_or(&args.model);
    let given = given.strip_suffix("/config.json").unwrap_or(given);
    let whole = match folder {
        Some(folder) => half.command_written(folder, tokenizer),
        None => half.command(given).ok_or_else(|| {
            format!(
                "{}: no flag makes {} a half model: its keys stand where none reaches; write it with --write DIR",
                args.model,
                args.engine.name()
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
    let model = folder.unwrap_or(given);
    let added = whole.iter().skip_while(|word| *word != model).skip(1);
    let given = args.server.iter().map(|word| word.replace(MODEL, model));
    Ok(given.chain(added.cloned()).collect())
}

/// The server that the load needs.
fn server(args: &HalfModelArgs, mut command: Vec<String>) -> Result<Needs, Stop> {
    check_program(&command)?;
    if !command.iter().any(|word| word.contains(PORT)) {
        command.extend(["--port", PORT].map(str::to_owned));
    }
    let log = args.out.join(format!("half-tp{}-server.log", args.tp));
    let ready = args.load.ready_timeout;
    let server = planner::server("server", command, Vec::new(), log, ready);
    Ok(Needs::Started(server))
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
        let half = HalfModel::resolve(&args.model, args.tp, args.engine)
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
    fn a_configuration_that_is_laid_out_differently_is_no_other_one() {
        let folder = std::env::temp_dir().join(format!("serve-bench-half-{}", std::process::id()));
        let half = HalfModel::resolve("llama-3.1-8b", 2, Engine::Vllm).unwrap();
        assert!(write(&folder, &half).is_ok());
        let file = folder.join("config.json");
        let mut kept = json::read(&file, bounded::SETTINGS).unwrap();
        std::fs::write(&file, kept.to_string()).unwrap();
        assert!(write(&folder, &half).is_ok());
        kept["num_attention_heads"] = 32.into();
        std::fs::write(&file, kept.to_string()).unwrap();
        assert!(matches!(write(&folder, &half), Err(Stop::Usage(_))));
        std::fs::remove_dir_all(&folder).unwrap();
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
