//! The server of a group: started and stopped by the sweep, or run by the user.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use program::Stop;
use runner::Interrupt;
use runner::run::RunError;
use runner::server::{Server, ServerError, ServerSpec, answers};

use super::command::ServerCommand;
use super::diagnosis::diagnosis;
use super::expand::Group;
use super::plan::Plan;

/// A group's server while its cells run.
pub(super) struct Serving {
    /// `None` for one that the user runs.
    running: Option<Server>,
    /// Where it answers.
    pub(super) url: String,
}

impl Serving {
    /// Starts the server of a group, or finds that of the user; `before` is the group that was just served by one of the user's.
    ///
    /// # Errors
    /// It does not come up; the reason is that of its log where that is known.
    pub(super) fn begin(
        plan: &Plan,
        group: &Group,
        longest: u32,
        folder: &Path,
        before: Option<&Group>,
        interrupt: &Interrupt,
        say: &dyn Fn(&str),
    ) -> Result<Self, Stop> {
        let base_url = plan.server.base_url.as_deref();
        let base_url = base_url.map(|url| url.trim_end_matches('/'));
        let free = base_url.is_none().then_some(0);
        let command = ServerCommand::of(plan, group, longest, free).map_err(Stop::Usage)?;
        if let Some(url) = base_url.filter(|_| !plan.server.manage) {
            // What answers now is the server of the group before this one.
            if command.words.is_empty() && !answers(url) {
                let reason = format!("no answer from {url}; is the server started?");
                return Err(Stop::Refused(reason.into()));
            }
            if before.is_some() || !answers(url) {
                let reason = format!(
                    "start the server of {} at {url}, then run the same command again: {}",
                    group.name(),
                    command.shown()
                );
                return Err(Stop::Refused(reason.into()));
            }
            let url = url.to_owned();
            return Ok(Self { running: None, url });
        }
        let port = base_url.and_then(|url| url.rsplit(':').next()?.parse().ok());
        let mut spec = ServerSpec {
            name: group.name(),
            words: Vec::new(),
            environment: Vec::new(),
            port,
            log: log(folder, group),
            ready: Duration::from_secs(plan.server.ready_timeout_s),
        };
        let port = spec.port().map_err(RunError::from)?;
        let chosen = free.map(|_| port);
        let command = ServerCommand::of(plan, group, longest, chosen).map_err(Stop::Usage)?;
        say(&format!("starting: {}", command.shown()));
        spec.words = command.words;
        let environment = command.environment.into_iter();
        spec.environment = environment
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        let began = std::fs::metadata(&spec.log).map_or(0, |log| log.len());
        match Server::start(&spec, port, interrupt) {
            Ok(running) => Ok(Self {
                url: running.url().to_owned(),
                running: Some(running),
            }),
            Err(ServerError::Interrupted(signal)) => Err(Stop::Interrupted(signal)),
            Err(error) => {
                // What an earlier start wrote is not this one's reason.
                let own = written_since(&spec.log, began).unwrap_or_default();
                let known = diagnosis(&String::from_utf8_lossy(&own));
                let reason = known.map_or_else(String::new, |code| format!(" [{code}]"));
                let reason = format!("did not come up{reason}: {error}");
                Err(Stop::Refused(reason.into()))
            }
        }
    }

    /// Whether it still answers.
    pub(super) fn answers(&self) -> bool {
        answers(&self.url)
    }

    /// Whether the sweep may start it again.
    pub(super) fn is_managed(&self) -> bool {
        self.running.is_some()
    }
}

/// What a log holds from a byte on, bounded.
fn written_since(log: &Path, began: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(log)?;
    file.seek(SeekFrom::Start(began))?;
    let mut bytes = Vec::new();
    file.take(bounded::TEXT).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A server's log.
fn log(folder: &Path, group: &Group) -> PathBuf {
    folder.join(format!("server_{}.log", group.name()))
}
