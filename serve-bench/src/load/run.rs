//! `tplens serve run` from its command line to its exit code.

use std::path::{Path, PathBuf};

use import::serve::{VLLM_INVALID, VLLM_MADE_BY};
use program::outputs;
use program::say;
use program::show::Show;
use record::exit;
use record::{Payload, Record, Status};
use runner::Interrupt;
use serde_json::Value;
use view::csv;
use view::export::{VllmForm, vllm_file_name, vllm_json, vllm_text};

use super::args::{Args, Backend, Format};
use super::budget::Budget;
use super::session;
use crate::show;

/// Loads a server, writes and prints what came of it, and gives the exit code.
pub(crate) fn run(args: &Args, show: Show) -> u8 {
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
            let results = &args.results;
            codes.extend(results.request_csv.as_ref().map(|path| {
                let csv = csv::requests(record).ok_or("no serving benchmark".to_owned());
                outputs::write(path, csv)
            }));
            let document = view::record(record);
            codes.push(show::page(results.html.as_deref(), &document));
            let nothing = |_: &Record| exit::DONE;
            codes.push(results.outputs.finish_with(&ended, csv::record, &nothing));
            let is_refused = matches!(record.status, Status::Refused { .. });
            codes.push(match results.format {
                _ if results.outputs.takes_stdout() || is_refused => exit::DONE,
                Format::Table => show.print(&document),
                Format::Vllm => printed(record, &form(args)),
            });
            exit::fold(codes)
        }
        Err(stop) => outputs::stopped(&stop),
    }
}

/// Codes of why the times are the load generator's own; empty where they are the server's.
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
    if !has_summary(record) {
        // Why is said already.
        return exit::DONE;
    }
    match vllm_text(record, form) {
        Ok(text) => outputs::print(&text),
        Err(error) => {
            say!("error: {error}");
            exit::INTERNAL
        }
    }
}

/// Writes the file in vLLM's form, where it was asked for.
fn exported(args: &Args, record: &Record) -> u8 {
    let form = form(args);
    if !args.results.save_result {
        return exit::DONE;
    }
    if !has_summary(record) {
        say!("no file is saved: the run has no figures; `tplens serve show` has what there is");
        return exit::DONE;
    }
    match saved(args, record, &form) {
        Ok(path) => export(&path, record, &form),
        Err(reason) => {
            say!("error: {reason}");
            exit::INTERNAL
        }
    }
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
    record::private::make_folders(folder).map_err(|error| {
        format!(
            "--result-dir: cannot make the folder {}: {error}; name another one",
            folder.display()
        )
    })?;
    Ok(folder.join(name))
}

/// Writes vLLM's keys.
fn export(path: &Path, record: &Record, form: &VllmForm) -> u8 {
    let text = vllm_json(record, form)
        .map_err(|error| error.to_string())
        .and_then(|mut json| {
            if let Some(map) = json.as_object_mut() {
                let version = Value::from(env!("CARGO_PKG_VERSION"));
                map.insert(VLLM_MADE_BY.to_owned(), version);
                let reasons = invalid(record);
                if !reasons.is_empty() {
                    map.insert(VLLM_INVALID.to_owned(), Value::from(reasons.to_vec()));
                }
            }
            // One line, as vLLM writes it: its Rust client reads the last line of a file that results are appended to.
            serde_json::to_string(&json).map_err(|error| error.to_string())
        });
    outputs::write(path, text.map(|text| text + "\n"))
}

/// Whether there are figures: a run that was broken off, or of which no request completed, has none.
fn has_summary(record: &Record) -> bool {
    matches!(&record.payload, Payload::Serve(serve) if serve.summary.is_some())
}
