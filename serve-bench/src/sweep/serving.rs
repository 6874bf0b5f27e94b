//! The server of a group: started and stopped by the sweep, or shown and waited for.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use program::Stop;
use supervisor::Interrupt;

use super::command::ServerCommand;
use super::diagnosis::diagnosis;
use super::expand::Group;
use super::plan::Plan;
use super::theirs::{self, Theirs};
use crate::study::server::{self, Failed, Server};

/// A group's server while its cells run.
pub(super) struct Serving {
    /// `None` for one that the user runs.
    running: Option<Server>,
    /// Where it answers.
    pub(super) url: String,
}

impl Serving {
    /// Starts the server of a group, or waits for the user to; `before` is the user's server of the group before this one.
    ///
    /// # Errors
    /// It does not come up; the reason is that of its log where that is known.
    pub(super) fn begin(
        plan: &Plan,
        group: &Group,
        longest: u32,
        folder: &Path,
        before: Option<&Theirs>,
        interrupt: &Interrupt,
        say: &dyn Fn(&str),
    ) -> Result<Self, Stop> {
        let limit = Duration::from_secs(plan.server.ready_timeout_s);
        let port = match &plan.server.base_url {
            Some(_) => None,
            None => Some(server::free_port()?),
        };
        let command = ServerCommand::of(plan, group, longest, port).map_err(Stop::Usage)?;
        let url = match (&plan.server.base_url, port) {
            (Some(url), _) => url.trim_end_matches('/').to_owned(),
            (None, port) => format!("http://127.0.0.1:{}", port.unwrap_or_default()),
        };
        if !plan.server.manage {
            theirs::awaited(&url, group, &command, before, limit, interrupt, say)?;
            return Ok(Self { running: None, url });
        }
        if server::answers(&url)? {
            return Err(Stop::Refused(format!(
                "something answers at {url} already; end it, or leave base_url out and write {{port}} in the command"
            )));
        }
        say(&format!("starting: {}", command.shown()));
        let environment = command.environment.iter();
        let environment = environment.map(|(name, value)| (name.into(), value.into()));
        let log = log(folder, group);
        let began = std::fs::metadata(&log).map_or(0, |log| log.len());
        let started = Server::start(
            &group.name(),
            &command.words,
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
                // What an earlier start wrote is not this one's reason.
                let own = written_since(&log, began).unwrap_or_default();
                let known = diagnosis(&String::from_utf8_lossy(&own));
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
