//! The server of a group: started and stopped by the sweep, or shown and waited for.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use program::Stop;
use program::command_line::quoted;
use supervisor::Interrupt;

use super::diagnosis::diagnosis;
use super::expand::{Cell, Group};
use super::plan::{Bind, Plan};
use crate::study::child::beside;
use crate::study::server::{self, Failed, Server};

/// How often a server that the user starts is asked for.
const LOOK: Duration = Duration::from_millis(500);

/// A group's server while its cells run.
pub(super) struct Serving {
    /// `None` for one that the user runs.
    running: Option<Server>,
    /// Where it answers.
    pub(super) url: String,
}

impl Serving {
    /// Starts the server of a group, or waits for the user to.
    ///
    /// # Errors
    /// It does not come up; the reason is that of its log where that is known.
    pub(super) fn begin(
        plan: &Plan,
        group: &Group,
        cells: &[Cell],
        folder: &Path,
        interrupt: &Interrupt,
        say: &dyn Fn(&str),
    ) -> Result<Self, Stop> {
        let limit = Duration::from_secs(plan.server.ready_timeout_s);
        let port = match &plan.server.base_url {
            Some(_) => None,
            None => Some(server::free_port()?),
        };
        let words = command(plan, group, cells, port).map_err(Stop::Usage)?;
        let url = match (&plan.server.base_url, port) {
            (Some(url), _) => url.trim_end_matches('/').to_owned(),
            (None, port) => format!("http://127.0.0.1:{}", port.unwrap_or_default()),
        };
        if !plan.server.manage {
            say(&format!(
                "start the server of {}, and end the one before it:\n  {}",
                group.name(),
                shown(plan, group, cells, &words)
            ));
            await_user(&url, limit, interrupt)?;
            return Ok(Self { running: None, url });
        }
        if server::answers(&url)? {
            return Err(Stop::Refused(format!(
                "something answers at {url} already; end it, or leave base_url out and write {{port}} in the command"
            )));
        }
        say(&format!("starting: {}", shown(plan, group, cells, &words)));
        let environment = plan.server.env.iter().map(|(name, value)| {
            let value = filled(value, plan, group, cells, port);
            (name.into(), value.into())
        });
        let log = log(folder, group);
        let began = std::fs::metadata(&log).map_or(0, |log| log.len());
        let started = Server::start(
            &group.name(),
            &words,
            environment.collect(),
            &url,
            &log,
            limit,
            interrupt,
        );
        match started {
            Ok(running) => Ok(Self {
                running: Some(running),
                url,
            }),
            Err(Failed::Interrupted(signal)) => Err(Stop::Interrupted(signal)),
            Err(Failed::Reason(error)) => {
                let bytes = std::fs::read(&log).unwrap_or_default();
                // What an earlier start wrote is not this one's reason.
                let own = usize::try_from(began)
                    .ok()
                    .and_then(|began| bytes.get(began..));
                let known = diagnosis(&String::from_utf8_lossy(own.unwrap_or(&bytes)));
                let reason = known.map_or_else(String::new, |known| format!("; {known}"));
                Err(Stop::Refused(format!(
                    "the server of {} did not come up{reason} ({error:#})",
                    group.name()
                )))
            }
        }
    }

    /// Whether it still answers.
    pub(super) fn answers(&self) -> bool {
        server::answers(&self.url).unwrap_or(false)
    }

    /// Whether the sweep may start it again.
    pub(super) fn is_managed(&self) -> bool {
        self.running.is_some()
    }
}

/// A server's log.
fn log(folder: &Path, group: &Group) -> PathBuf {
    folder.join(format!("server_{}.log", group.name()))
}

/// The words that start the server of a group; `port` where the sweep chose one.
///
/// # Errors
/// In words: it is to be bound to GPUs that are not named, or the program for that is missing.
pub(super) fn command(
    plan: &Plan,
    group: &Group,
    cells: &[Cell],
    port: Option<u16>,
) -> Result<Vec<String>, String> {
    let words = &plan.server.command;
    if port.is_some() && !words.iter().any(|word| word.contains("{port}")) {
        return Err(
            "server.command has no {port}: write it where the port belongs, or give server.base_url"
                .to_owned(),
        );
    }
    let mut command = Vec::new();
    if plan.server.bind == Bind::Gpus {
        let gpus = plan.gpus.get(&group.config).ok_or_else(|| {
            format!(
                "bind = \"gpus\" needs the GPUs of configuration {} under [gpus]",
                group.config
            )
        })?;
        let program = beside("p2p-bw")?.display().to_string();
        command.extend([program.as_str(), "numa", "exec", "--gpus", gpus, "--"].map(str::to_owned));
    }
    command.extend(
        words
            .iter()
            .map(|word| filled(word, plan, group, cells, port)),
    );
    Ok(command)
}

/// A word with its places filled.
fn filled(word: &str, plan: &Plan, group: &Group, cells: &[Cell], port: Option<u16>) -> String {
    let longest = cells.iter().map(|cell| cell.input + cell.output).max();
    let max_len = longest.unwrap_or(0) + plan.server.slack;
    let port = port.map_or_else(|| "{port}".to_owned(), |port| port.to_string());
    let path = plan.paths.get(&group.model).unwrap_or(&group.model);
    let gpus = plan.gpus.get(&group.config).map_or("", String::as_str);
    word.replace("{path}", path)
        .replace("{model}", &group.model)
        .replace("{tp}", &group.tp.to_string())
        .replace("{gpus}", gpus)
        .replace("{max_len}", &max_len.to_string())
        .replace("{port}", &port)
}

/// The command with its environment, for a shell.
pub(super) fn shown(plan: &Plan, group: &Group, cells: &[Cell], words: &[String]) -> String {
    let variables = plan.server.env.iter().map(|(name, value)| {
        let value = filled(value, plan, group, cells, None);
        format!("{name}={}", quoted(value.as_ref()))
    });
    let words = words.iter().map(|word| quoted(word.as_ref()));
    variables.chain(words).collect::<Vec<String>>().join(" ")
}

/// Waits until the user's server answers.
fn await_user(url: &str, limit: Duration, interrupt: &Interrupt) -> Result<(), Stop> {
    let begun = Instant::now();
    loop {
        if let Some(signal) = interrupt.signal() {
            return Err(Stop::Interrupted(signal));
        }
        if server::answers(url)? {
            return Ok(());
        }
        if begun.elapsed() >= limit {
            return Err(Stop::Refused(format!(
                "no server answers at {url}/health within {} s; start it, then start this sweep again",
                limit.as_secs()
            )));
        }
        std::thread::sleep(LOOK);
    }
}
