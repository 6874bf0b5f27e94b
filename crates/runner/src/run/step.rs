//! One step of a run: a program that runs to its end and leaves a folder, and what of it is there already.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use record::{Payload, Record, Status, load};

use super::error::RunError;
use crate::child::words;
use crate::server::{ServerSpec, answers};

/// What becomes the address of the server in a step's arguments.
pub const URL: &str = "{url}";

/// A program to run, and what it needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its name, which is that of its folder below the run's, and of its log with `.log` added.
    pub name: String,
    /// What it is, for a line of progress.
    pub about: String,
    /// The command, such as `serve run`.
    pub command: &'static str,
    /// Its arguments; [`URL`] becomes the server's address, and `--out` with the step's folder is added.
    pub arguments: Vec<String>,
    /// Variables besides those of this process.
    pub environment: Vec<(OsString, OsString)>,
    /// The server that must answer while it runs.
    pub needs: Option<Needs>,
    /// What it leaves.
    pub leaves: Leaves,
    /// How long it takes, about, s.
    pub seconds: f64,
    /// Without a line of output or a new line of its journal for so long it is ended.
    pub deadline: Duration,
}

/// A server that a step needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Needs {
    /// It is started, and ended when the next step needs another one or none.
    Started(ServerSpec),
    /// The user runs it.
    Running {
        /// Where it answers.
        url: String,
        /// What it serves on, for messages, such as `2 GPU(s)`.
        what: String,
    },
}

impl Needs {
    /// Its name in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Started(spec) => &spec.name,
            Self::Running { what, .. } => what,
        }
    }
}

/// What a step leaves in its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaves {
    /// A record: complete, the step is done; else what is there is set aside and the step is done again.
    Record,
    /// This file. Its program resumes by itself and is always run again.
    Own(&'static str),
}

/// A step that has a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepEnd {
    /// Its folder.
    pub folder: PathBuf,
    /// Its program's exit code.
    pub code: u8,
}

impl Step {
    /// The words of its command, with a server's address and its folder below the run's.
    #[must_use]
    pub fn words(&self, url: &str, above: &Path) -> Vec<String> {
        words(self.command, &self.arguments_with(url, above))
    }

    pub(super) fn arguments_with(&self, url: &str, above: &Path) -> Vec<String> {
        let out = above.join(&self.name).display().to_string();
        let arguments = self.arguments.iter().map(|word| word.replace(URL, url));
        arguments.chain(["--out".to_owned(), out]).collect()
    }

    /// Its exit code, where it was done before; `above` is the run's folder.
    ///
    /// A record alone is not enough: a load whose server died with a killed run leaves a complete one, too.
    #[must_use]
    pub fn done(&self, above: &Path) -> Option<u8> {
        if self.open_mark(above).exists() {
            return None;
        }
        let record = complete(&above.join(&self.name));
        let record = record.filter(|_| self.leaves == Leaves::Record)?;
        Some(record.exit_code)
    }

    /// The file that is there from the start of its program until the run saw its end.
    pub(super) fn open_mark(&self, above: &Path) -> PathBuf {
        above.join(format!("{}.open", self.name))
    }

    /// Whether its folder holds what it leaves; its exit code is no matter.
    pub(super) fn has_result(&self, folder: &Path) -> bool {
        match self.leaves {
            Leaves::Record => complete(folder).is_some(),
            Leaves::Own(file) => folder.join(file).is_file(),
        }
    }
}

/// Whether the server of the first step that is not done and needs one can be had, before anything is measured: the user's answers, and
/// nothing listens on the port that a command names. Those of later steps may have no room beside it yet.
///
/// # Errors
/// It cannot; `above` is the run's folder.
pub fn check_servers(steps: &[Step], above: &Path) -> Result<(), RunError> {
    let open = steps.iter().filter(|step| step.done(above).is_none());
    match open.filter_map(|step| step.needs.as_ref()).next() {
        Some(Needs::Running { url, what }) => check_running(url, what),
        Some(Needs::Started(spec)) => Ok(spec.port().map(drop)?),
        None => Ok(()),
    }
}

/// Whether a server that the user runs answers.
pub(super) fn check_running(url: &str, what: &str) -> Result<(), RunError> {
    match answers(url) {
        true => Ok(()),
        false => Err(RunError::NoServer {
            url: url.to_owned(),
            what: what.to_owned(),
        }),
    }
}

/// The record of a folder whose program ran to its end.
#[must_use]
pub fn complete(folder: &Path) -> Option<Record> {
    let record = load(folder).ok()?;
    let has_summary = match &record.payload {
        Payload::Serve(serve) => serve.summary.is_some(),
        Payload::Links(_) | Payload::Collectives(_) | Payload::Numa(_) => true,
    };
    (record.status == Status::Complete && has_summary).then_some(record)
}

/// Gives what a broken-off step left another name, so that it is kept and the step can be done again; `None` where nothing is there.
///
/// # Errors
/// It cannot be renamed.
pub fn set_aside(folder: &Path) -> Result<Option<PathBuf>, RunError> {
    if !folder.exists() {
        return Ok(None);
    }
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let free = (1..=u32::MAX)
        .map(|number| folder.with_file_name(format!("{name}.broken-{number}")))
        .find(|other| !other.exists());
    let Some(other) = free else {
        return Ok(None);
    };
    std::fs::rename(folder, &other).map_err(|source| RunError::Io {
        what: "cannot set aside",
        path: folder.to_owned(),
        source,
    })?;
    Ok(Some(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_aside_is_kept_beside_what_was_set_aside_before() {
        let above = std::env::temp_dir().join(format!("runner-aside-{}", std::process::id()));
        let folder = above.join("links");
        assert_eq!(set_aside(&folder).unwrap(), None);
        for number in 1..=2 {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("journal.jsonl"), number.to_string()).unwrap();
            let kept = above.join(format!("links.broken-{number}"));
            assert_eq!(set_aside(&folder).unwrap(), Some(kept));
        }
        let first = std::fs::read_to_string(above.join("links.broken-1/journal.jsonl"));
        assert_eq!(first.unwrap(), "1");
        std::fs::remove_dir_all(&above).unwrap();
    }

    #[test]
    fn a_step_has_the_servers_address_and_a_folder_of_its_own_and_is_done_once_its_end_was_seen() {
        let step = Step {
            name: "serve-tp1".to_owned(),
            about: String::new(),
            command: "serve run",
            arguments: ["--base-url", URL].map(str::to_owned).to_vec(),
            environment: Vec::new(),
            needs: None,
            leaves: Leaves::Record,
            seconds: 1.0,
            deadline: Duration::from_secs(1),
        };
        assert_eq!(
            step.words("http://127.0.0.1:7", Path::new("s")).join(" "),
            "serve run --base-url http://127.0.0.1:7 --out s/serve-tp1"
        );
        assert_eq!(step.done(Path::new("/no/such")), None);

        let above = std::env::temp_dir().join(format!("runner-open-{}", std::process::id()));
        std::fs::create_dir_all(above.join(&step.name)).unwrap();
        let record = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../import/tests/fixtures/records/serve.json");
        std::fs::copy(record, above.join("serve-tp1/record.json")).unwrap();
        assert_eq!(step.done(&above), Some(0));
        std::fs::write(step.open_mark(&above), "").unwrap();
        assert_eq!(step.done(&above), None, "its end was not seen");
        std::fs::remove_dir_all(&above).unwrap();
    }
}
