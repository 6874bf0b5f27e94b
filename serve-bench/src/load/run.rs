//! `serve-bench run` from its command line to its exit code.

use std::path::Path;

use measure::exit;
use measure::record::{Payload, Record, summarise};
use program::outputs::{self, check_file};
use program::say;
use serde_json::Value;
use supervisor::Interrupt;

use super::args::{Args, Endpoint, PromptArg};
use super::session;
use crate::RENDERING;

/// Instants of chunks in one run at most: at 20 bytes each they stay well below the 256 MiB up to which a journal is read.
const MAX_CHUNKS: u64 = 10_000_000;

/// The key that marks a file in vLLM's form as one of a run without an end.
const BROKEN_OFF: &str = "broken_off";

/// Loads a server, writes and prints what came of it, and gives the exit code.
pub(crate) fn run(args: &Args) -> u8 {
    if let Err(reason) = check(args) {
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
    match session::run(args, &interrupt, &|line| say!("{line}")) {
        Ok(ended) => {
            let exported = match &args.vllm_json {
                Some(path) => export(path, &ended.record, args.detailed),
                None => exit::DONE,
            };
            exit::fold([exported, args.outputs.finish(&ended, RENDERING)])
        }
        Err(stop) => outputs::stopped(&stop),
    }
}

/// What clap cannot check.
fn check(args: &Args) -> Result<(), String> {
    if args.prompt == PromptArg::TokenIds && args.endpoint == Endpoint::Chat {
        return Err(
            "--prompt token-ids goes with --endpoint completions: chat takes text only".to_owned(),
        );
    }
    let chunks = u64::from(args.measured()) * u64::from(args.output_tokens);
    if !args.no_stream && chunks > MAX_CHUNKS {
        return Err(format!(
            "{} requests of {} tokens are {chunks} instants, more than the {MAX_CHUNKS} that a record can hold and be read \
             back with; ask for fewer --requests, or use --no-stream",
            args.measured(),
            args.output_tokens
        ));
    }
    args.outputs.check()?;
    match &args.vllm_json {
        Some(path) => check_file("--vllm-json", path),
        None => Ok(()),
    }
}

/// Writes vLLM's keys, where there is a result to write; of a run that was broken off those of the requests that ended.
fn export(path: &Path, record: &Record, detailed: bool) -> u8 {
    let Some((record, is_broken)) = with_summary(record) else {
        say!(
            "{} is not written: no request completed, so there is nothing to write",
            path.display()
        );
        return exit::DONE;
    };
    let text = measure::export::vllm_json(&record, detailed)
        .map_err(|error| error.to_string())
        .and_then(|mut json| {
            if let (true, Some(map)) = (is_broken, json.as_object_mut()) {
                map.insert(BROKEN_OFF.to_owned(), Value::Bool(true));
            }
            serde_json::to_string_pretty(&json).map_err(|error| error.to_string())
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
    let mut serve = serve.clone();
    serve.summary = Some(summarise(&serve.requests, streamed)?);
    let payload = Payload::Serve(serve);
    let record = Record {
        payload,
        ..record.clone()
    };
    Some((record, true))
}
