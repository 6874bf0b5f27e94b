//! The command that starts a group's server, with its places filled and bound to its GPUs' nodes where the plan says so.

use program::command_line::quoted;

use super::expand::{Cell, Group};
use super::plan::{Bind, Plan};
use crate::study::child::beside;

/// The end of the variables by which drivers are told what devices to show.
const VISIBLE: &str = "_VISIBLE_DEVICES";

/// How a server is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerCommand {
    /// The words.
    pub(super) words: Vec<String>,
    /// The environment beside the one that there is.
    pub(super) environment: Vec<(String, String)>,
}

impl ServerCommand {
    /// The command of a group whose longest prompt and reply together have `longest` tokens; `port` where the sweep chose one.
    ///
    /// # Errors
    /// In words: it is to be bound to GPUs that are not named, or the program for that is missing.
    pub(super) fn of(
        plan: &Plan,
        group: &Group,
        longest: u32,
        port: Option<u16>,
    ) -> Result<Self, String> {
        if port.is_some()
            && !plan
                .server
                .command
                .iter()
                .any(|word| word.contains("{port}"))
        {
            return Err(
                "server.command has no {port}: write it where the port belongs, or give server.base_url"
                    .to_owned(),
            );
        }
        let filled = |word: &String| filled(word, plan, group, longest, port);
        let mut environment: Vec<(String, String)> = plan
            .server
            .env
            .iter()
            .map(|(name, value)| (name.clone(), filled(value)))
            .collect();
        let mut words = Vec::new();
        if plan.server.bind == Bind::Gpus {
            words = bound(plan, group)?;
            // Asked with fewer devices to see, a driver would number them anew, and the GPUs of the plan would be others.
            let (shown, rest) = environment
                .into_iter()
                .partition(|(name, _)| name.ends_with(VISIBLE));
            environment = rest;
            let shown: Vec<(String, String)> = shown;
            if !shown.is_empty() {
                words.push("env".to_owned());
                words.extend(
                    shown
                        .into_iter()
                        .map(|(name, value)| format!("{name}={value}")),
                );
            }
        }
        words.extend(unbound(plan, group, longest, port));
        Ok(Self { words, environment })
    }

    /// The command with its environment, for a shell.
    pub(super) fn shown(&self) -> String {
        let variables = self.environment.iter();
        let variables = variables.map(|(name, value)| format!("{name}={}", quoted(value.as_ref())));
        let words = self.words.iter().map(|word| quoted(word.as_ref()));
        variables.chain(words).collect::<Vec<String>>().join(" ")
    }
}

/// The plan's own words with their places filled.
pub(super) fn unbound(plan: &Plan, group: &Group, longest: u32, port: Option<u16>) -> Vec<String> {
    let words = plan.server.command.iter();
    words
        .map(|word| filled(word, plan, group, longest, port))
        .collect()
}

/// Tokens of the longest prompt and reply of a group; `cells` are those of the whole plan, so that a server is the same one
/// whatever was narrowed.
pub(super) fn longest(cells: &[Cell], group: &Group) -> u32 {
    let of_group = cells.iter().filter(|cell| cell.group == *group);
    let tokens = of_group.map(|cell| cell.input.saturating_add(cell.output));
    tokens.max().unwrap_or(0)
}

/// The words before a command that bind it.
fn bound(plan: &Plan, group: &Group) -> Result<Vec<String>, String> {
    let gpus = plan.gpus.get(&group.config).ok_or_else(|| {
        format!(
            "bind = \"gpus\" needs the GPUs of configuration {} under [gpus]",
            group.config
        )
    })?;
    let program = beside("p2p-bw")?.display().to_string();
    let mut words = [program.as_str(), "numa", "exec", "--gpus", gpus]
        .map(str::to_owned)
        .to_vec();
    words.extend(plan.server.bind_flags.iter().cloned());
    words.push("--".to_owned());
    Ok(words)
}

/// A word with its places filled.
fn filled(word: &str, plan: &Plan, group: &Group, longest: u32, port: Option<u16>) -> String {
    let max_len = longest.saturating_add(plan.server.slack);
    let port = port.map_or_else(|| "{port}".to_owned(), |port| port.to_string());
    let gpus = plan.gpus.get(&group.config).map_or("", String::as_str);
    word.replace("{path}", plan.path(&group.model))
        .replace("{model}", &group.model)
        .replace("{tp}", &group.tp.to_string())
        .replace("{gpus}", gpus)
        .replace("{max_len}", &max_len.to_string())
        .replace("{port}", &port)
}
