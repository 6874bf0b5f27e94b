//! Engines that are given as commands: started before the router answers, ended with it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use program::{Stop, say};
use record::redacted_arguments;
use runner::Interrupt;
use runner::server::{Server, ServerError, ServerSpec};

use super::args::Args;
use crate::planner;

/// How long an engine may take to load its model.
const READY: Duration = Duration::from_secs(1800);

/// What becomes an engine's port in its command, and the same in the command of a router, in which a run puts the router's.
pub(crate) const PORT: &str = "{port}";
pub(crate) const ROUTED_PORT: &str = "{engine-port}";

/// Whether an engine is given as an address; else it is a command.
pub(crate) fn is_address(text: &str) -> bool {
    ["http://", "https://"]
        .iter()
        .any(|scheme| text.starts_with(scheme))
}

/// An engine's command: variables, words as a shell cuts them, and its port as `--port N` or `{port}`.
///
/// # Errors
/// In words: quotes that are not closed, nothing to start, or no port.
pub(crate) fn spec(
    text: &str,
    name: &str,
    log: PathBuf,
    ready: Duration,
) -> Result<ServerSpec, String> {
    let words = shlex::split(&text.replace(ROUTED_PORT, PORT)).unwrap_or_default();
    let is_variable = |word: &&String| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| !name.is_empty() && !name.starts_with('-') && !name.contains('/'))
    };
    let variables = words.iter().take_while(is_variable);
    let environment = variables.filter_map(|word| {
        let (name, value) = word.split_once('=')?;
        Some((name.into(), value.into()))
    });
    let environment: Vec<(OsString, OsString)> = environment.collect();
    let words = words[environment.len()..].to_vec();
    let is_told = words.iter().any(|word| word.contains(PORT));
    let is_empty = words.is_empty();
    let server = planner::server(name, words, environment, log, ready);
    if is_empty || (server.port.is_none() && !is_told) {
        return Err(format!(
            "the {name} engine is neither an address nor a command with --port {{port}}"
        ));
    }
    Ok(server)
}

/// Starts the engines that are given as commands, one after the other, and puts their addresses in the place of these.
///
/// # Errors
/// A command that cannot be read, an engine that does not start, or a signal.
pub(super) fn started(args: &Args, interrupt: &Interrupt) -> Result<(Args, Vec<Server>), Stop> {
    let mut args = args.clone();
    let folder = args.journal.as_deref().and_then(Path::parent);
    let folder = folder.unwrap_or(Path::new("")).to_owned();
    let mut servers = Vec::new();
    for (role, given) in [("prefill", &mut args.prefill), ("decode", &mut args.decode)] {
        let mut addresses = Vec::new();
        for text in given.iter() {
            if is_address(text) {
                addresses.push(text.clone());
                continue;
            }
            let log = folder.join(format!("{role}-{}.log", servers.len()));
            let spec = spec(text, role, log, READY);
            let spec = spec.map_err(|why| Stop::Usage(format!("--{role}: {why}")))?;
            let failed = |error| match error {
                ServerError::Interrupted(signal) => Stop::Interrupted(signal),
                error => Stop::Usage(format!("--{role}: {error}")),
            };
            let port = spec.port().map_err(failed)?;
            let command = redacted_arguments(spec.words_with(port)).join(" ");
            say!("starting {command}");
            let server = Server::start(&spec, port, interrupt).map_err(failed)?;
            addresses.push(server.url().to_owned());
            servers.push(server);
        }
        *given = addresses;
    }
    Ok((args, servers))
}
