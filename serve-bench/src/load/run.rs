//! `serve-bench run` from its command line to its exit code.

use std::path::{Path, PathBuf};

use measure::exit;
use measure::export::{VllmForm, vllm_file_name, vllm_json, vllm_text};
use measure::import::serve::{VLLM_INVALID, VLLM_MADE_BY};
use measure::record::{Payload, Record, summarise};
use measure::render::csv;
use program::outputs::{self, Rendering};
use program::say;
use serde_json::Value;
use supervisor::Interrupt;

use super::args::{Args, Backend, Format};
use super::budget::Budget;
use super::session;
use crate::{RENDERING, page};

/// The key that marks a file in vLLM's form as one of a run without an end.
const BROKEN_OFF: &str = "broken_off";

/// Loads a server, writes and prints what came of it, and gives the exit code.
pub(crate) fn run(args: &Args) -> u8 {
    if let Err(reason) = args.check() {
        say!("error: {reason}");
        return exit::USAGE;
    }
    let interrupt = match Interrupt::install() {
        Ok(interrupt) => interrupt,
        Err(error) => {
            say!("error: cannot catch signals: {error}");
            return exit::INTERNAL;
        }
    };
    let say = |line: &str| say!("{line}");
    match session::run(args, &interrupt, &say, Budget::default()) {
        Ok(ended) => {
            let record = &ended.record;
            let mut codes = vec![exported(args, record)];
            codes.extend(
                args.results
                    .request_log
                    .as_ref()
                    .map(|path| logged(path, record)),
            );
            let results = &args.results;
            codes.extend(results.request_csv.as_ref().map(|path| {
                let csv = csv::requests(record).ok_or("no serving benchmark".to_owned());
                outputs::write(path, csv)
            }));
            codes.extend(results.html.as_ref().map(|path| page::write(path, record)));
            let outputs = &args.results.outputs;
            match args.results.format {
                Format::Table => codes.push(outputs.finish(&ended, RENDERING)),
                Format::Vllm => {
                    let only_files = Rendering {
                        text: |_| String::new(),
                        ..RENDERING
                    };
                    codes.push(outputs.finish(&ended, only_files));
                    codes.push(printed(record, &form(args)));
                }
            }
            // Last, so that it is not scrolled away: a block in vLLM's form and a file have no place for it.
            let reasons = invalid(record);
            if !reasons.is_empty() {
                say!(
                    "INVALID: the load generator was the limit: {}",
                    reasons.join("; ")
                );
            }
            exit::fold(codes)
        }
        Err(stop) => outputs::stopped(&stop),
    }
}

/// Why the times are the load generator's own and not the server's; empty where they are the server's.
fn invalid(record: &Record) -> &[String] {
    match &record.payload {
        Payload::Serve(serve) => serve.client.as_ref().map_or(&[], |client| &client.invalid),
        _ => &[],
    }
}

/// What the command line says about files in vLLM's form.
fn form(args: &Args) -> VllmForm {
    args.results.form(
        args.backend.map(Backend::name),
        args.model.as_ref(),
        args.data.tokenizer.as_ref(),
    )
}

/// Prints vLLM's block.
fn printed(record: &Record, form: &VllmForm) -> u8 {
    let Some((record, _)) = with_summary(record) else {
        // Why is said already.
        return exit::DONE;
    };
    match vllm_text(&record, form) {
        Ok(text) => outputs::print(&text),
        Err(error) => {
            say!("error: {error}");
            exit::INTERNAL
        }
    }
}

/// Writes every request, one JSON object a line.
fn logged(path: &Path, record: &Record) -> u8 {
    let Payload::Serve(serve) = &record.payload else {
        return exit::DONE;
    };
    let lines: Result<Vec<String>, _> = serve.requests.iter().map(serde_json::to_string).collect();
    let text = lines.map(|lines| lines.iter().map(|line| format!("{line}\n")).collect());
    outputs::write(path, text.map_err(|error| error.to_string()))
}

/// Writes the files in vLLM's form that were asked for.
fn exported(args: &Args, record: &Record) -> u8 {
    let form = form(args);
    let mut codes = Vec::new();
    if let Some(path) = &args.results.vllm_json {
        codes.push(export(path, record, &form));
    }
    // A run that began none has no name either; that there is nothing to write is said by what refused it.
    if args.results.save_result && with_summary(record).is_some() {
        codes.push(match saved(args, record, &form) {
            Ok(path) => export(&path, record, &form),
            Err(reason) => {
                say!("error: {reason}");
                exit::INTERNAL
            }
        });
    }
    exit::fold(codes)
}

/// Where `--save-result` writes to; the folder is made.
fn saved(args: &Args, record: &Record, form: &VllmForm) -> Result<PathBuf, String> {
    let results = &args.results;
    let name = match &results.result_filename {
        Some(name) => name.clone(),
        None => PathBuf::from(vllm_file_name(record, form).map_err(|error| error.to_string())?),
    };
    let Some(folder) = &results.result_dir else {
        return Ok(name);
    };
    measure::private::make_folders(folder).map_err(|error| {
        format!(
            "--result-dir: cannot make the folder {}: {error}; name another one",
            folder.display()
        )
    })?;
    Ok(folder.join(name))
}

/// Writes vLLM's keys, where there is a result to write; of a run that was broken off those of the requests that ended.
fn export(path: &Path, record: &Record, form: &VllmForm) -> u8 {
    let Some((record, is_broken)) = with_summary(record) else {
        say!(
            "{} is not written: no request completed, so there is nothing to write",
            path.display()
        );
        return exit::DONE;
    };
    let text = vllm_json(&record, form)
        .map_err(|error| error.to_string())
        .and_then(|mut json| {
            if let Some(map) = json.as_object_mut() {
                map.insert(
                    VLLM_MADE_BY.to_owned(),
                    Value::from(env!("CARGO_PKG_VERSION")),
                );
                let reasons = invalid(&record);
                if !reasons.is_empty() {
                    map.insert(VLLM_INVALID.to_owned(), Value::from(reasons.to_vec()));
                }
                if is_broken {
                    map.insert(BROKEN_OFF.to_owned(), Value::Bool(true));
                }
            }
            // One line, as vLLM writes it: its Rust client reads the last line of a file that results are appended to.
            serde_json::to_string(&json).map_err(|error| error.to_string())
        });
    let code = outputs::write(path, text.map(|text| text + "\n"));
    if is_broken && code == exit::DONE {
        say!(
            "{} holds the requests that ended before the run was broken off, and says so with the key {BROKEN_OFF}",
            path.display()
        );
    }
    code
}

/// The record with a summary, and whether that is of a run that was broken off; `None` where no request completed.
fn with_summary(record: &Record) -> Option<(Record, bool)> {
    let Payload::Serve(serve) = &record.payload else {
        return None;
    };
    if serve.summary.is_some() {
        return Some((record.clone(), false));
    }
    let streamed = serve.target.as_ref()?.streamed;
    let goals = serve.load.as_ref()?.goals;
    let mut serve = serve.clone();
    serve.summary = Some(summarise(&serve.requests, streamed, goals.as_ref())?);
    let payload = Payload::Serve(serve);
    let record = Record {
        payload,
        ..record.clone()
    };
    Some((record, true))
}
