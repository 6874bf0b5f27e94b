//! `tplens serve run` from its command line to its exit code.

use std::path::PathBuf;

use anyhow::Context as _;
use import::serve::{VLLM_INVALID, VLLM_MADE_BY};
use program::outputs::{self, ended, interruptible};
use program::show::Show;
use program::{Ended, Stop, say};
use record::{Payload, Record, Status, exit, private};
use serde_json::json;
use view::csv;
use view::export::{VllmForm, vllm_file_name, vllm_json, vllm_text};

use super::args::{Args, Format};
use super::budget::Budget;
use super::session;

/// Loads a server, writes and prints what came of it, and gives the exit code.
pub(crate) fn run(args: &Args, show: Show) -> u8 {
    let say = |line: &str| say!("{line}");
    interruptible(|interrupt| {
        args.check().map_err(Stop::Usage)?;
        let ended = session::run(args, interrupt, &say, Budget::default())?;
        Ok(delivered(args, show, &ended))
    })
}

fn delivered(args: &Args, show: Show, run: &Ended) -> u8 {
    let (record, results) = (&run.record, &args.results);
    // A run that was broken off, or of which no request completed, has no figures; why is said already.
    let has_summary = matches!(&record.payload, Payload::Serve(serve) if serve.summary.is_some());
    let mut codes = vec![];
    if results.save_result && has_summary {
        codes.push(ended(saved(args, record)));
    } else if results.save_result {
        say!("no file is saved: the run has no figures; `tplens serve show` has what there is");
    }
    codes.extend(results.request_csv.as_ref().map(|path| {
        let csv = csv::requests(record).ok_or("no serving benchmark".to_owned());
        outputs::write(path, csv)
    }));
    let document = view::record(record);
    codes.push(crate::show::page(results.html.as_deref(), &document));
    let nothing = |_: &Record| exit::DONE;
    codes.push(results.outputs.finish_with(run, csv::record, &nothing));
    let is_refused = matches!(record.status, Status::Refused { .. });
    codes.push(match results.format {
        _ if results.outputs.takes_stdout() || is_refused => exit::DONE,
        Format::Table => show.print(&document),
        Format::Vllm if !has_summary => exit::DONE,
        Format::Vllm => {
            let text = vllm_text(record, &form(args)).context("writing vLLM's block");
            ended(
                text.map(|text| outputs::print(&text))
                    .map_err(Stop::Internal),
            )
        }
    });
    exit::fold(codes)
}

/// What the command line says about files in vLLM's form.
fn form(args: &Args) -> VllmForm {
    let results = &args.results;
    VllmForm {
        detailed: results.save_detailed,
        metrics: results.percentile_metrics.clone(),
        percentiles: results.metric_percentiles.clone(),
        label: results.label.clone(),
        backend: args.backend.map(|backend| <&str>::from(backend).to_owned()),
        model: args.model.clone(),
        tokenizer: args.data.tokenizer.clone(),
        metadata: results.metadata.clone(),
    }
}

/// Writes the file in vLLM's form where `--save-result` has it; its folder is made.
fn saved(args: &Args, record: &Record) -> Result<u8, Stop> {
    let (form, results) = (form(args), &args.results);
    let name = match &results.result_filename {
        Some(name) => name.clone(),
        None => PathBuf::from(vllm_file_name(record, &form).context("naming the file")?),
    };
    let path = match &results.result_dir {
        Some(folder) => {
            private::make_folders(folder)
                .with_context(|| format!("--result-dir {}", folder.display()))?;
            folder.join(name)
        }
        None => name,
    };
    let mut file = vllm_json(record, &form).context("writing vLLM's keys")?;
    file[VLLM_MADE_BY] = json!(env!("CARGO_PKG_VERSION"));
    if let Payload::Serve(serve) = &record.payload
        && let Some(client) = serve
            .client
            .as_ref()
            .filter(|client| !client.invalid.is_empty())
    {
        file[VLLM_INVALID] = json!(client.invalid);
    }
    // One line, as vLLM writes it: its Rust client reads the last line of a file that results are appended to.
    Ok(outputs::write(&path, Ok(format!("{file}\n"))))
}
