//! Prints, writes or runs a half model.

use std::path::Path;

use measure::record::write_whole;
use program::{Stop, outputs};
use supervisor::Interrupt;
use tp_plan::HalfModel;

use super::args::HalfModelArgs;
use super::print;
use crate::study::child::{self, Ended};
use crate::study::server::{self, Failed, Server};

/// Seed of the prompts: the same for every run that is compared.
const SEED: &str = "1";

/// Where the model's name or folder and the port stand in the user's words.
const MODEL: &str = "{model}";
const PORT: &str = "{port}";

/// Does what the command line asks for, and gives the exit code.
///
/// # Errors
/// The model has no share that can be run, a file cannot be written, the server does not come up, or a signal came.
pub(crate) fn run(
    args: &HalfModelArgs,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<u8, Stop> {
    let half = HalfModel::resolve(&args.model, args.tp, args.engine.engine())
        .map_err(|error| Stop::Usage(format!("--model: {error}")))?;
    let folder = match &args.write {
        Some(folder) => {
            write(folder, &half)?;
            Some(folder.display().to_string())
        }
        None => None,
    };
    let command = command(args, &half, folder.as_deref()).map_err(Stop::Usage)?;
    if args.run {
        return measured(args, &half, command, interrupt, say);
    }
    Ok(outputs::print(&if args.json {
        print::json(&half, &command)
    } else {
        print::text(&half, &command)
    }))
}

fn write(folder: &Path, half: &HalfModel) -> Result<(), Stop> {
    let refused = |error: String| Stop::Usage(format!("--write {}: {error}", folder.display()));
    let file = folder.join("config.json");
    if file.exists() {
        return Err(refused(
            "there is a config.json already; name a folder that has none".to_owned(),
        ));
    }
    std::fs::create_dir_all(folder).map_err(|error| refused(error.to_string()))?;
    write_whole(&file, half.config_json().as_bytes()).map_err(|error| refused(error.to_string()))
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
    let model = folder.unwrap_or(&args.model);
    let whole = match folder {
        Some(folder) => {
            half.command_written(folder, has_tokenizer.then_some(args.model.as_str()))
        }
        None => half.command(&args.model).ok_or_else(|| {
            format!(
                "{}: no flag makes {} a half model: its keys stand where none reaches; write it with --write DIR",
                args.model,
                match args.engine.engine() {
                    tp_plan::Engine::Vllm => "vLLM",
                    tp_plan::Engine::Sglang => "SGLang",
                }
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
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<u8, Stop> {
    let name = format!("half-tp{}", args.tp);
    let result = args.out.join(&name);
    if result.exists() {
        return Err(Stop::Usage(format!(
            "{} is there already; name another folder with --out",
            result.display()
        )));
    }
    std::fs::create_dir_all(&args.out)
        .map_err(|error| Stop::Usage(format!("--out {}: {error}", args.out.display())))?;
    let port = server::free_port()?.to_string();
    if command.iter().any(|word| word.contains(PORT)) {
        for word in &mut command {
            *word = word.replace(PORT, &port);
        }
    } else {
        command.extend(["--port".to_owned(), port.clone()]);
    }
    say(&format!("starting: {}", command.join(" ")));
    let url = format!("http://127.0.0.1:{port}");
    let started = Server::start(
        &name,
        &command,
        Vec::new(),
        &url,
        &args.out.join(format!("{name}-server.log")),
        args.ready_timeout,
        interrupt,
    );
    let server = match started {
        Ok(server) => server,
        Err(Failed::Interrupted(signal)) => return Err(Stop::Interrupted(signal)),
        Err(Failed::Reason(error)) => return Err(Stop::Refused(format!("{error:#}"))),
    };
    let program = child::beside("serve-bench").map_err(Stop::Usage)?;
    let requests = args.requests.unwrap_or(args.concurrency.saturating_mul(4));
    let load = [
        ("--base-url", url),
        ("--tp", "1".to_owned()),
        ("--concurrency", args.concurrency.to_string()),
        ("--requests", requests.to_string()),
        ("--input-tokens", args.input_tokens.to_string()),
        ("--output-tokens", args.output_tokens.to_string()),
        ("--prompt", "token-ids".to_owned()),
        ("--vocab", half.vocab().to_string()),
        ("--seed", SEED.to_owned()),
        ("--out", result.display().to_string()),
    ];
    let arguments: Vec<String> = std::iter::once("run".to_owned())
        .chain(
            load.into_iter()
                .flat_map(|(flag, value)| [flag.to_owned(), value]),
        )
        .collect();
    let log = args.out.join(format!("{name}.log"));
    let ended = child::run(
        &name,
        &program,
        &arguments,
        Vec::new(),
        &log,
        |_| true,
        interrupt,
    );
    // Ends the server.
    drop(server);
    match ended? {
        Ended::Interrupted(signal) => Err(Stop::Interrupted(signal)),
        Ended::Exit { code, last } => {
            let text = format!(
                "{last}\nThe result of {} on one GPU is in {}; TPOT of TP{} less its TPOT is communication, exposed.\n",
                half.facts.name,
                result.display(),
                args.tp
            );
            Ok(measure::exit::fold([outputs::print(&text), code]))
        }
    }
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

    fn words(line: &str, folder: Option<&str>) -> Result<String, String> {
        let line = Line::parse_from(["half-model"].into_iter().chain(line.split(' ')));
        let args = line.args;
        let half = HalfModel::resolve(&args.model, args.tp, args.engine.engine())
            .map_err(|error| error.to_string())?;
        Ok(command(&args, &half, folder)?.join(" "))
    }

    #[test]
    fn what_makes_it_a_half_model_stands_behind_the_users_words() {
        let own = words(
            "--model llama-3.1-8b -- /opt/vllm serve {model} --max-model-len 4096",
            None,
        );
        let own = own.unwrap();
        let begin = "/opt/vllm serve llama-3.1-8b --max-model-len 4096 --tensor-parallel-size 1 --load-format dummy --hf-overrides {";
        assert!(own.starts_with(begin), "{own}");
        // 32 / 2 heads, 14336 / 2 of width.
        assert!(own.contains("\"num_attention_heads\":16"), "{own}");
        assert!(own.contains("\"intermediate_size\":7168"), "{own}");
        let unnamed = words("--model llama-3.1-8b -- vllm serve x", None).unwrap_err();
        assert!(unnamed.contains("write {model}"), "{unnamed}");
    }

    #[test]
    fn a_model_that_no_flag_reaches_is_written_first() {
        let error = words("--model qwen2.5-vl-72b", None).unwrap_err();
        assert!(error.contains("--write DIR"), "{error}");
        assert_eq!(
            words("--model qwen2.5-vl-72b --engine sglang", Some("share")).unwrap(),
            "python3 -m sglang.launch_server --model-path share --tp-size 1 --load-format dummy --skip-tokenizer-init"
        );
    }
}
