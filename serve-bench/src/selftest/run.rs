//! `tplens serve selftest` from its command line to its exit code.

use std::path::Path;
use std::time::Duration;

use program::outputs::{self, check_file};
use program::show::Show;
use program::{Stop, say, say_progress};
use record::{Payload, exit};
use runner::Interrupt;
use runner::run::{Leaves, Progress, Run, RunError, Step, complete};
use runner::server::{Server, ServerSpec};

use super::args::Args;
use super::cpus::{Cpus, on};
use super::document::document;
use super::line::{Line, Offered};
use crate::study::load::LOAD_DEADLINE;

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

/// Requests per second of the line in an open loop, and output tokens of each request.
const RATE: u32 = 20;
const TOKENS: u32 = 64;

/// Measures, prints, and gives the exit code.
///
/// # Errors
/// The engine or a load could not be started, or a signal came.
pub(crate) fn run(args: &Args, show: Show, interrupt: &Interrupt) -> Result<u8, Stop> {
    if let Some(path) = &args.json {
        check_file("--json", path).map_err(Stop::Usage)?;
    }
    let folder = std::env::temp_dir().join(format!("tplens-selftest-{}", std::process::id()));
    let lines = measured(args, &folder, interrupt);
    let lines = lines?;
    // What is left of it is in nobody's way; a failure names it.
    drop(std::fs::remove_dir_all(&folder));
    let exit_code = match lines.iter().all(|line| line.beyond.is_empty()) {
        true => exit::DONE,
        false => exit::INCONCLUSIVE,
    };
    let json = serde_json::json!({"schema": 2, "lines": lines, "exit_code": exit_code});
    let printed = outputs::with_json(show, &document(&lines), &json, args.json.as_deref());
    Ok(exit::fold([printed, exit_code]))
}

fn measured(args: &Args, folder: &Path, interrupt: &Interrupt) -> Result<Vec<Line>, Stop> {
    let tell = |progress: &Progress<'_>| say_progress(progress, &|line| say!("{line}"));
    let of = ("a selftest", "settings.json");
    let mut run = Run::open(folder, of, &serde_json::json!({}), interrupt, tell)?;
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
    let port = spec.port().map_err(RunError::from)?;
    let start = || Server::start(&spec, port, interrupt);
    let engine = on(cpus.server(), start).map_err(RunError::from)?;
    let streams = args.streams.iter().map(|streams| {
        let requests = streams * FEWEST.div_ceil(*streams);
        let flag = ["--max-concurrency".to_owned(), streams.to_string()];
        (Offered::Streams(*streams), flag, requests)
    });
    let flag = ["--request-rate".to_owned(), RATE.to_string()];
    let open = (Offered::Rate(RATE), flag, RATE * ARRIVALS_S);
    let mut lines = Vec::new();
    for (offered, flag, requests) in streams.chain([open]) {
        let name = flag.join("-").trim_start_matches('-').to_owned();
        let mut arguments = Vec::from(flag);
        for (flag, value) in [
            ("--base-url", engine.url().to_owned()),
            ("--num-prompts", requests.to_string()),
            ("--random-input-len", "16".to_owned()),
            ("--random-output-len", TOKENS.to_string()),
        ] {
            arguments.extend([flag.to_owned(), value]);
        }
        let step = Step {
            name,
            about: format!("{requests} requests"),
            command: "serve run",
            arguments,
            environment: Vec::new(),
            needs: None,
            leaves: Leaves::Record,
            seconds: 0.0,
            deadline: LOAD_DEADLINE,
        };
        let end = on(cpus.client(), || run.step(&step))?;
        match complete(&end.folder).map(|record| record.payload) {
            Some(Payload::Serve(serve)) => lines.push(Line::of(offered, &serve)),
            // A line that is missing must not pass.
            _ => {
                let folder = end.folder.display();
                return Err(Stop::Refused(
                    format!("{folder} has no whole run: the load broke off").into(),
                ));
            }
        }
    }
    Ok(lines)
}
