//! `--sim`: the embedded engine as a child, on a port that is free, for as long as the run lasts.

use std::path::Path;
use std::time::Duration;

use anyhow::anyhow;
use program::{Stop, outputs};
use supervisor::Interrupt;

use super::args::Args;
use crate::study::server::{Failed, Server, free_port};

/// How long the engine may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);

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
    if measure::record::ResultFolder::is_taken(folder) {
        return Err(Stop::Usage(format!(
            "{} holds a result already; choose another folder with --out",
            folder.display()
        )));
    }
    outputs::make_folder("--out", folder)?;
    let own =
        std::env::current_exe().map_err(|error| anyhow!("looking for this program: {error}"))?;
    let (port, tp) = (free_port()?, args.tp.unwrap_or(1));
    let words: Vec<String> = [
        own.display().to_string(),
        "engine".to_owned(),
        "--box".to_owned(),
        sim.to_owned(),
        "--model".to_owned(),
        args.sim_model.clone(),
        "--tensor-parallel-size".to_owned(),
        tp.to_string(),
        "--port".to_owned(),
        port.to_string(),
    ]
    .into();
    let url = format!("http://127.0.0.1:{port}");
    say(&format!(
        "starting the embedded engine on the soft box {sim} with {} on {tp} device(s): what follows is simulated",
        args.sim_model
    ));
    let log = folder.join("engine.log");
    match Server::start(
        "engine",
        &words,
        Vec::new(),
        &url,
        &log,
        PATIENCE,
        interrupt,
    ) {
        Ok(server) => Ok((server, url)),
        Err(Failed::Interrupted(signal)) => Err(Stop::Interrupted(signal)),
        Err(Failed::Reason(error)) => Err(Stop::Usage(format!(
            "--sim {sim}: {}",
            outputs::told(&error)
        ))),
    }
}
