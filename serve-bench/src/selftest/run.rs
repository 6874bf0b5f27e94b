//! `tplens serve selftest` from its command line to its exit code.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use program::outputs::{self, check_file};
use program::show::Show;
use program::{Stop, say};
use record::exit;
use runner::Interrupt;
use runner::server::{Server, ServerError, ServerSpec};
use serde::Serialize;

use super::args::Args;
use super::cpus::{Cpus, on};
use super::document::document;
use super::line::{Line, Offered};
use crate::attempt;

/// A line has no fewer requests than this; each goes on in rounds of its streams until it has.
const FEWEST: u32 = 20;

/// Seconds of arrivals of the line in an open loop.
const ARRIVALS_S: u32 = 5;

/// How long the engine may take to answer.
const READY: Duration = Duration::from_secs(60);

/// The machine and the model that the engine simulates.
const ENGINE: [&str; 9] = [
    "serve",
    "engine",
    "--box",
    "rtxpro6000-mig",
    "--model",
    "llama-3.1-8b",
    "--max-num-seqs=1024",
    "--port",
    "{port}",
];

/// A selftest as JSON.
#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    lines: &'a [Line],
    exit_code: u8,
}

/// Runs the selftest, prints it, and gives the exit code.
///
/// # Errors
/// The engine or the client cannot be started, or a signal came.
pub(crate) fn run(args: &Args, show: Show, interrupt: &Interrupt) -> Result<u8, Stop> {
    let file = args.json.as_deref().filter(|path| *path != Path::new("-"));
    if let Some(path) = file {
        check_file("--json", path).map_err(Stop::Usage)?;
    }
    let folder = Folder::make(args.out.as_deref())?;
    let lines = measured(args, &folder.path, interrupt)?;
    let exit_code = match lines.iter().all(|line| line.beyond.is_empty()) {
        true => exit::DONE,
        false => exit::INCONCLUSIVE,
    };
    let report = Report {
        schema: 2,
        lines: &lines,
        exit_code,
    };
    let json = serde_json::to_string_pretty(&report).map_err(anyhow::Error::from)? + "\n";
    let printed = match (args.json.is_some(), file) {
        (true, None) => outputs::print(&json),
        (_, Some(path)) => exit::fold([
            outputs::write(path, Ok(json)),
            show.print(&document(&lines)),
        ]),
        (false, None) => show.print(&document(&lines)),
    };
    Ok(exit::fold([printed, exit_code]))
}

/// Starts the engine and runs each load.
fn measured(args: &Args, folder: &Path, interrupt: &Interrupt) -> Result<Vec<Line>, Stop> {
    let own = runner::child::tplens()?;
    let mut words = vec![own.display().to_string()];
    words.extend(ENGINE.map(str::to_owned));
    let spec = ServerSpec {
        name: "engine".to_owned(),
        words,
        environment: Vec::new(),
        port: None,
        log: folder.join("engine.log"),
        ready: READY,
    };
    let cpus = Cpus::choose();
    let failed = |error: ServerError| match error {
        ServerError::Interrupted(signal) => Stop::Interrupted(signal),
        error => Stop::Internal(error.into()),
    };
    let port = spec.port().map_err(failed)?;
    let start = || Server::start(&spec, port, interrupt);
    let engine = on(cpus.server(), start).map_err(failed)?;
    let streams = args.streams.iter().map(|streams| {
        let requests = streams * FEWEST.div_ceil(*streams);
        let flag = ["--max-concurrency".to_owned(), streams.to_string()];
        (Offered::Streams(*streams), flag, requests)
    });
    let flag = ["--request-rate".to_owned(), args.rate.to_string()];
    let open = (Offered::Rate(args.rate), flag, args.rate * ARRIVALS_S);
    let mut lines = Vec::new();
    for (offered, flag, requests) in streams.chain([open]) {
        let name = flag.join("-").trim_start_matches('-').to_owned();
        say!("  {name}, {requests} requests");
        let mut flags = Vec::from(flag);
        for (flag, value) in [
            ("--base-url", engine.url().to_owned()),
            ("--num-prompts", requests.to_string()),
            ("--random-input-len", "16".to_owned()),
            ("--random-output-len", args.tokens.to_string()),
        ] {
            flags.extend([flag.to_owned(), value]);
        }
        let measure = || attempt::measure(folder, &folder.join(&name), flags, &spec.log, interrupt);
        let record = on(cpus.client(), measure)?.map_err(|why| Stop::Internal(anyhow!(why)))?;
        let serve = attempt::serve(&record).ok_or_else(|| anyhow!("the record has no load"))?;
        lines.push(Line::of(offered, serve));
    }
    Ok(lines)
}

/// Where the client's results go.
struct Folder {
    path: PathBuf,
    is_kept: bool,
}

impl Folder {
    fn make(asked: Option<&Path>) -> Result<Self, Stop> {
        let path = asked.map_or_else(
            || std::env::temp_dir().join(format!("tplens-selftest-{}", std::process::id())),
            Path::to_path_buf,
        );
        record::private::make_new_folder(&path).map_err(|error| {
            Stop::Usage(format!(
                "cannot make the folder {}: {error}; choose another with --out",
                path.display()
            ))
        })?;
        Ok(Self {
            path,
            is_kept: asked.is_some(),
        })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.is_kept {
            // What is left in the folder for temporary files does no harm.
            drop(std::fs::remove_dir_all(&self.path));
        }
    }
}
