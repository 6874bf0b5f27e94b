//! The monitor of a run: started before the first step, ended behind the last, its lines taken up.
//!
//! Where it is lost, the rest of the run stands.

use std::path::{Path, PathBuf};

use program::say;

use super::monitor::{self, Monitor};
use super::scene::Scene;
use super::session::Session;
use super::start::Run;
use crate::checks::Group;
use crate::findings::Missing;
use crate::report::ReasonCode;

impl Run<'_> {
    /// Starts the monitor; why there is none is kept where it would have been seen.
    pub(super) fn monitor(&self, session: &Session<'_>, scene: &Scene) -> Result<Monitor, String> {
        let devices: Vec<String> = scene
            .named()
            .into_iter()
            .map(|device| device.number)
            .collect();
        let mut words = vec!["--backend".to_owned(), self.backend().to_owned()];
        words.extend(["--gpus".to_owned(), devices.join(",")]);
        words.extend(session.bench.played());
        let free = (1..).map(|number| monitor_file(session.folder.path(), number));
        let file = free
            .into_iter()
            .find(|path| path.symlink_metadata().is_err());
        let file = file.unwrap_or_else(|| monitor_file(session.folder.path(), 0));
        Monitor::start(&words, &file, self.interrupt).map_err(|error| format!("{error:#}"))
    }

    /// Takes what the monitors of this run saw; `before` is why one of an earlier process did not see what was done then.
    pub(super) fn watched(&self, session: &mut Session<'_>, before: Option<String>) {
        // Those of earlier processes are in their files, the last of which is this one's.
        let files: Vec<_> = (1..)
            .map(|number| monitor_file(session.folder.path(), number))
            .take_while(|path| path.exists())
            .collect();
        let earlier = files.len().saturating_sub(1);
        for file in &files[..earlier] {
            session.findings.monitor.extend(monitor::read(file));
        }
        let lost = match session.monitor.take() {
            None => None,
            Some(Err(why)) => Some(why),
            Some(Ok(monitor)) => {
                let watched = monitor.end();
                session.findings.monitor.extend(watched.lines);
                watched.lost
            }
        };
        // What ran unwatched is done, and stays unwatched.
        let before = before.map(|why| {
            format!(
                "{why}; run again with another --out: --resume does not repeat what ran unwatched"
            )
        });
        match lost.or(before) {
            None => {
                session.findings.missing.remove(&Group::Watch);
            }
            Some(why) => {
                let text = format!("the monitor was lost: {why}");
                say!("{text}");
                let code = ReasonCode::Unreadable;
                session
                    .findings
                    .missing
                    .insert(Group::Watch, Missing::of(code, text));
            }
        }
    }
}

impl Session<'_> {
    /// Why nobody watches what runs now, or ran until now.
    pub(super) fn unwatched(&mut self) -> Option<String> {
        match self.monitor.as_mut()? {
            Ok(monitor) => monitor.lost(),
            Err(why) => Some(why.clone()),
        }
    }
}

/// Where the monitor of a run's process of this number, from 1 on, writes.
pub(crate) fn monitor_file(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("monitor-{number}.jsonl"))
}
