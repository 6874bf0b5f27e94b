//! `tplens serve show`: runs of ours and results of other clients, from the disk, on a screen, as CSV or as a page.

use std::path::{Path, PathBuf};

use import::ImportError;
use import::serve::{Latency, ServeResult, read_all};
use program::Stop;
use program::outputs::{self, check_file};
use program::show::Show;
use record::{Payload, Record, ResultFolder, exit};
use view::{Document, csv, serve};

use crate::json;
use crate::planner::whole;
use crate::sweep::{Plan, expand};

/// What is shown and where to.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ShowArgs {
    /// A result folder, journal.jsonl or record.json; the folder of a sweep; or a result of vLLM's or SGLang's client, evalscope's, or a
    /// flat JSON summary. Several become rows of a table.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,

    /// Print CSV instead of tables.
    #[arg(long)]
    csv: bool,

    /// Write a page to this file, too: of several results throughput against latency and TTFT and TPOT by load.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Shows what is there, and gives the exit code.
///
/// # Errors
/// There is no serving result, or the page cannot be written.
pub(crate) fn run(args: &ShowArgs, show: Show) -> Result<u8, Stop> {
    if let Some(html) = &args.html {
        check_file("--html", html).map_err(Stop::Usage)?;
    }
    if let [path] = &args.paths[..]
        && let Some(code) = own(path, args, show)
    {
        return Ok(code);
    }
    let (results, refused, others) = found(&args.paths);
    let none = format!("{others} other files are no serving results.");
    if results.is_empty() {
        return Err(Stop::Usage(refused.into_iter().next().unwrap_or(none)));
    }
    let mut document = serve::results(&results, &refused);
    document.answer.extend((others > 0).then_some(none));
    let shown = match args.csv {
        true => outputs::print(&lines(results.iter().map(|(_, one)| one))),
        false => show.print(&document),
    };
    let page = page(args.html.as_deref(), &document);
    Ok(exit::fold([shown, page, whole(refused.is_empty())]))
}

/// A result with the name of its cell, where it is of a sweep.
pub(crate) type Named = (Option<String>, ServeResult);

/// The results that paths name, why others cannot be read, and how many files of folders are none.
pub(crate) fn found(paths: &[PathBuf]) -> (Vec<Named>, Vec<String>, usize) {
    let (mut results, mut refused, mut others) = (Vec::new(), Vec::new(), 0);
    for path in paths {
        for (label, cell) in cells(path) {
            match read_all(&cell) {
                Ok(read) => results.extend(read.into_iter().map(|one| (label.clone(), one))),
                Err(error) if cell != *path && is_other(&error, &cell) => others += 1,
                Err(error) => refused.push(error.to_string()),
            }
        }
    }
    (results, refused, others)
}

/// Whether a file in a folder is no serving result: a log, a page, a lock, or what another command wrote.
fn is_other(error: &ImportError, path: &Path) -> bool {
    let is_empty = || path.metadata().is_ok_and(|file| file.len() == 0);
    let is_serve = |record: Record| matches!(record.payload, Payload::Serve(_));
    match error {
        ImportError::Unknown { .. } | ImportError::Missing { .. } => true,
        // A record that is cut or corrupt may be of a run.
        ImportError::Record(_) => !path.is_dir() && !path.ends_with("record.json"),
        _ => is_empty() || record::load(path).is_ok_and(|record| !is_serve(record)),
    }
}

/// Shows a record of ours, also one without a summary; `None` where the path is no such record.
fn own(path: &Path, args: &ShowArgs, show: Show) -> Option<u8> {
    // What is there of a record is shown also where it has no summary.
    let is_ours = path.is_dir() && ResultFolder::is_taken(path) || record::load(path).is_ok();
    let record = match is_ours.then(|| outputs::opened(path))? {
        Ok(record) => record,
        Err(code) => return Some(code),
    };
    if args.csv {
        return Some(outputs::print(&csv::record(&record)));
    }
    let document = view::record(&record);
    let page = page(args.html.as_deref(), &document);
    Some(exit::fold([show.print(&document), page]))
}

/// Writes a page where one was asked for, and gives the exit code.
pub(crate) fn page(file: Option<&Path>, document: &Document) -> u8 {
    file.map_or(exit::DONE, |file| outputs::write(file, Ok(document.html())))
}

/// The path itself, or the results in a folder that is none: the cells of a sweep with what its plan says they are, else all below
/// it with the names of their folders.
fn cells(path: &Path) -> Vec<(Option<String>, PathBuf)> {
    let is_result = |path: &Path| path.is_file() || ResultFolder::is_taken(path);
    let Ok(entries) = std::fs::read_dir(path) else {
        return vec![(None, path.to_owned())];
    };
    if is_result(path) {
        return vec![(None, path.to_owned())];
    }
    let plan = json::read(&path.join("settings.json"), bounded::SETTINGS);
    let plan = plan.and_then(|plan| serde_json::from_value::<Plan>(plan).ok());
    if let Some(planned) = plan.and_then(|plan| expand(&plan).ok()) {
        let cell = |cell: &crate::sweep::Cell| {
            let folder = path.join("cells").join(&cell.name);
            ResultFolder::is_taken(&folder).then(|| (cell.label(), folder))
        };
        return planned.iter().filter_map(cell).collect();
    }
    let entries = entries.flatten().map(|entry| entry.path());
    let mut entries: Vec<PathBuf> = entries.filter(|entry| is_result(entry)).collect();
    entries.sort();
    let label = path.file_name().and_then(|name| name.to_str());
    let labelled = entries.into_iter();
    labelled
        .map(|entry| (label.map(str::to_owned), entry))
        .collect()
}

/// One line a number; what is not in the file has no line.
fn lines<'a>(results: impl Iterator<Item = &'a ServeResult>) -> String {
    let mut csv = String::from("file,metric,statistic,unit,value\n");
    for result in results {
        let file = result.run.origin.replace('"', "\"\"");
        let mut line = |what: &str, value: Option<f64>| {
            let line = value.map(|value| format!("\"{file}\",{what},{value}\n"));
            csv.extend(line);
        };
        line("requests,rate,req/s", Some(result.run.requests_per_s));
        line("output tokens,rate,tok/s", result.output_tokens_per_s());
        line("all tokens,rate,tok/s", result.total_tokens_per_s());
        line("in flight,mean,requests", result.in_flight());
        for latency in Latency::ALL {
            let (name, of) = (latency.name(), result.spread(latency));
            line(&format!("{name},mean,ms"), of.map(|of| of.mean));
            line(&format!("{name},median,ms"), of.and_then(|of| of.median));
            line(&format!("{name},p90,ms"), of.and_then(|of| of.p90));
            line(&format!("{name},p99,ms"), of.and_then(|of| of.p99));
        }
    }
    csv
}
