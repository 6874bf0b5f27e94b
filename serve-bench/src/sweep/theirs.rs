//! A server that the user runs: asked to be started, waited for, and told from the one before it at the same address.

use std::time::{Duration, Instant};

use program::Stop;
use serde_json::Value;
use supervisor::Interrupt;

use super::command::ServerCommand;
use super::expand::Group;
use crate::study::server;

/// How often it is asked for. A server takes longer than this to come up, so that a restart is not missed.
const LOOK: Duration = Duration::from_millis(100);

/// The server of a group that is done.
pub(super) struct Theirs {
    /// The group's name.
    pub(super) group: String,
    /// The names of its models, where it told them.
    pub(super) models: Option<Vec<String>>,
}

impl Theirs {
    /// What answers at an address now, as the server of `group`.
    pub(super) fn at(url: &str, group: &Group) -> Self {
        Self {
            group: group.name(),
            models: models(url),
        }
    }
}

/// Shows the command and waits until the server answers that it starts: where one ran before, once that one is gone or tells
/// other models.
///
/// # Errors
/// A signal came, or it does not answer in time.
pub(super) fn awaited(
    url: &str,
    group: &Group,
    command: &ServerCommand,
    before: Option<&Theirs>,
    limit: Duration,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<(), Stop> {
    let name = group.name();
    let command = command.shown();
    match before {
        Some(before) => {
            say(&format!(
                "end the server of {} at {url}, then start that of {name}:\n  {command}",
                before.group
            ));
            until(limit, interrupt, || Ok(before.is_gone(url)))?.ok_or_else(|| {
                Stop::Refused(format!(
                    "the server of {} still answers at {url} after {} s; end it, start that of {name}, then start this sweep again",
                    before.group,
                    limit.as_secs()
                ))
            })?;
            say(&format!(
                "the server of {} is gone; waiting for that of {name}",
                before.group
            ));
        }
        None if server::answers(url)? => {
            let told = models(url).map_or_else(String::new, |models| {
                format!("; it tells the models {}", models.join(", "))
            });
            say(&format!(
                "what answers at {url} is taken for the server of {name}{told}; its command is:\n  {command}"
            ));
        }
        None => say(&format!("start the server of {name}:\n  {command}")),
    }
    until(limit, interrupt, || {
        server::answers(url).map_err(Stop::from)
    })?
    .ok_or_else(|| {
        Stop::Refused(format!(
            "no server answers at {url}/health within {} s; start it, then start this sweep again",
            limit.as_secs()
        ))
    })
}

impl Theirs {
    /// Whether this server is not the one at an address: nobody answers, or another does.
    fn is_gone(&self, url: &str) -> bool {
        if !server::answers(url).unwrap_or(false) {
            return true;
        }
        // Told by both, and not the same.
        self.models.is_some() && models(url).is_some_and(|models| Some(models) != self.models)
    }
}

/// Waits until something is so; `None` where the time is over.
fn until(
    limit: Duration,
    interrupt: &Interrupt,
    is_so: impl Fn() -> Result<bool, Stop>,
) -> Result<Option<()>, Stop> {
    let begun = Instant::now();
    loop {
        if let Some(signal) = interrupt.signal() {
            return Err(Stop::Interrupted(signal));
        }
        if is_so()? {
            return Ok(Some(()));
        }
        if begun.elapsed() >= limit {
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
}

/// The names that a server's `/v1/models` tells, sorted; `None` where it tells none.
fn models(url: &str) -> Option<Vec<String>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .ok()?;
    let client = reqwest::Client::builder()
        .no_proxy()
        .timeout(Duration::from_secs(2))
        .build()
        .ok()?;
    let ask = async {
        let reply = client.get(format!("{url}/v1/models")).send().await.ok()?;
        reply.bytes().await.ok()
    };
    let body = runtime.block_on(ask)?;
    let told: Value = serde_json::from_slice(&body).ok()?;
    let names = told.get("data")?.as_array()?.iter();
    let mut names: Vec<String> = names
        .filter_map(|model| model.get("id")?.as_str().map(measure::control::replaced))
        .collect();
    names.sort();
    (!names.is_empty()).then_some(names)
}
