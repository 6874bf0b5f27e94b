//! `--sim`: the embedded engine as a child, on a port that is free, for as long as the run lasts.

use std::path::Path;
use std::time::Duration;

use program::{Stop, outputs};
use runner::Interrupt;
use runner::server::{Server, ServerError, ServerSpec};

use super::args::Args;
use crate::planner::words;

/// How long the engine may take to answer.
const READY: Duration = Duration::from_secs(60);

/// Starts the engine. What it prints goes into the result folder.
///
/// # Errors
/// It does not start, such as for a box or model that is not known.
pub(super) fn start(
    args: &Args,
    sim: &str,
    folder: &Path,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<Server, Stop> {
    if record::ResultFolder::is_taken(folder) {
        return Err(Stop::Usage(format!(
            "{} holds a result already; choose another folder with --out",
            folder.display()
        )));
    }
    outputs::make_folder("--out", folder)?;
    let (tp, model) = (args.tp.unwrap_or(1), &args.sim_model);
    let own = runner::child::tplens()?.display().to_string();
    let command = [&*own, "serve", "engine"].map(str::to_owned);
    let flags = words([
        ("--box", sim.to_owned()),
        ("--model", model.clone()),
        ("--tensor-parallel-size", tp.to_string()),
        ("--port", "{port}".to_owned()),
    ]);
    let spec = ServerSpec {
        name: "engine".to_owned(),
        words: command.into_iter().chain(flags).collect(),
        environment: Vec::new(),
        port: None,
        log: folder.join("engine.log"),
        ready: READY,
    };
    say(&format!(
        "starting the embedded engine on the simulated machine {sim} with {model} on {tp} device(s): what follows is simulated"
    ));
    let server = spec
        .port()
        .and_then(|port| Server::start(&spec, port, interrupt));
    server.map_err(|error| match error {
        ServerError::Interrupted(signal) => Stop::Interrupted(signal),
        error => Stop::Usage(format!("--sim {sim}: {error}")),
    })
}
