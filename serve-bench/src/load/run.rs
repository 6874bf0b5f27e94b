//! `serve-bench run` from its command line to its exit code.

use std::path::Path;

use measure::exit;
use measure::record::{Payload, Record};
use program::outputs::{self, check_file};
use program::say;
use supervisor::Interrupt;

use super::args::{Args, Endpoint, PromptArg};
use super::session;
use crate::RENDERING;

/// Instants of chunks in one run at most: at 20 bytes each they stay well below the 256 MiB up to which a journal is read.
const MAX_CHUNKS: u64 = 10_000_000;

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

/// Writes vLLM's keys, where there is a result to write.
fn export(path: &Path, record: &Record, detailed: bool) -> u8 {
    let has_summary = matches!(&record.payload, Payload::Serve(serve) if serve.summary.is_some());
    if !has_summary {
        say!(
            "{} is not written: no whole run with a completed request is there to write",
            path.display()
        );
        return exit::DONE;
    }
    let text = measure::export::vllm_json(record, detailed)
        .map_err(|error| error.to_string())
        .and_then(|json| serde_json::to_string_pretty(&json).map_err(|error| error.to_string()));
    outputs::write(path, text.map(|text| text + "\n"))
}
