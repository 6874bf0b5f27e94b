//! The command that starts a group's server, with its places filled.

use program::command_line::quoted;

use super::expand::{Cell, Group};
use super::plan::Plan;

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
    /// In words: there is no place for the port.
    pub(super) fn of(
        plan: &Plan,
        group: &Group,
        longest: u32,
        port: Option<u16>,
    ) -> Result<Self, String> {
        let words = &plan.server.command;
        if port.is_some() && !words.iter().any(|word| word.contains("{port}")) {
            return Err(
                "server.command has no {port}: write it where the port belongs, or give server.base_url"
                    .to_owned(),
            );
        }
        let filled = |word: &String| filled(word, plan, group, longest, port);
        let variables = plan.server.env.iter();
        Ok(Self {
            words: words.iter().map(filled).collect(),
            environment: variables
                .map(|(name, value)| (name.clone(), filled(value)))
                .collect(),
        })
    }

    /// The command with its environment, for a shell.
    pub(super) fn shown(&self) -> String {
        let variables = self.environment.iter();
        let variables = variables.map(|(name, value)| format!("{name}={}", quoted(value.as_ref())));
        let words = self.words.iter().map(|word| quoted(word.as_ref()));
        variables.chain(words).collect::<Vec<String>>().join(" ")
    }
}

/// Tokens of the longest prompt and reply of a group; `cells` are those of the whole plan, so that a server is the same one
/// whatever was narrowed.
pub(super) fn longest(cells: &[Cell], group: &Group) -> u32 {
    let of_group = cells.iter().filter(|cell| cell.group == *group);
    let tokens = of_group.map(|cell| cell.input.saturating_add(cell.output));
    tokens.max().unwrap_or(0)
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
