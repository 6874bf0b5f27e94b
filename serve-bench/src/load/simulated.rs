//! `--sim`: the embedded engine as a child, on a port that is free, for as long as the run lasts.

use std::path::Path;
use std::time::Duration;

use program::{Stop, outputs};
use runner::Interrupt;
use runner::server::{Server, ServerError, ServerSpec};

use super::args::Args;

/// How long the engine may take to answer.
const READY: Duration = Duration::from_secs(60);

/// Starts the engine; gives it and its address. What it prints goes into the result folder.
///
/// # Errors
/// It does not start, such as for a box or model that is not known.
pub(super) fn start(
    args: &Args,
    sim: &str,
    folder: &Path,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<(Server, String), Stop> {
    if record::ResultFolder::is_taken(folder) {
        return Err(Stop::Usage(format!(
            "{} holds a result already; choose another folder with --out",
            folder.display()
        )));
    }
    outputs::make_folder("--out", folder)?;
    let own = runner::child::tplens()?;
    let tp = args.tp.unwrap_or(1);
    let own = own.display().to_string();
    let size = tp.to_string();
    let words = [
        &*own,
        "serve",
        "engine",
        "--box",
        sim,
        "--model",
        &*args.sim_model,
        "--tensor-parallel-size",
        &*size,
        "--port",
        "{port}",
    ];
    let spec = ServerSpec {
        name: "engine".to_owned(),
        words: words.map(str::to_owned).to_vec(),
        environment: Vec::new(),
        port: None,
        log: folder.join("engine.log"),
        ready: READY,
    };
    say(&format!(
        "starting the embedded engine on the simulated machine {sim} with {} on {tp} device(s): what follows is simulated",
        args.sim_model
    ));
    let refused = |error: ServerError| match error {
        ServerError::Interrupted(signal) => Stop::Interrupted(signal),
        error => Stop::Usage(format!("--sim {sim}: {error}")),
    };
    let port = spec.port().map_err(refused)?;
    let server = Server::start(&spec, port, interrupt).map_err(refused)?;
    let url = server.url().to_owned();
    Ok((server, url))
}
