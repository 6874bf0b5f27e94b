//! What planners (study, ablate, sweep, slo, half) share: a folder with a run that resumes, loads as its steps, each tried for itself, and
//! what is printed and kept at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use program::command_line::{quoted, resumes_by};
use program::show::Show;
use program::{Stop, open_run, outputs, result_folder};
use record::exit;
use runner::Interrupt;
use runner::run::{Leaves, Needs, Run, RunError, Step, StepEnd};
use runner::server::ServerSpec;
use serde::Serialize;
use serde_json::Value;
use view::{Document, Table};

use crate::json;

/// Without a finished request for so long a load is ended.
pub(crate) const LOAD_DEADLINE: Duration = Duration::from_secs(3600);

/// Who asks: what is shown of a result, what ends the work, and where progress is said.
#[derive(Clone, Copy)]
pub(crate) struct Asker<'a> {
    pub(crate) show: Show,
    pub(crate) interrupt: &'a Interrupt,
    pub(crate) say: &'a dyn Fn(&str),
}

impl<'a> Asker<'a> {
    /// Works in the folder that is named, or in a new one whose name begins with `prefix`; says by which command it is resumed where
    /// a signal ended it.
    ///
    /// # Errors
    /// Those of the work.
    pub(crate) fn in_folder(
        &self,
        out: Option<&Path>,
        prefix: &str,
        work: impl FnOnce(&Path) -> Result<u8, Stop>,
    ) -> Result<u8, Stop> {
        let folder = out.map_or_else(|| result_folder(None, prefix), Path::to_owned);
        let code = work(&folder);
        if matches!(code, Err(Stop::Interrupted(_))) {
            (self.say)(&resumes_by(out.is_none().then_some(&*folder)));
        }
        code
    }

    /// Opens a run of `what`, such as `a study`, whose settings are in `file` of its folder.
    ///
    /// # Errors
    /// The folder cannot be written, is in use, or holds another run.
    pub(crate) fn open(
        &self,
        folder: &Path,
        (what, file): (&'static str, &str),
        settings: &impl Serialize,
    ) -> Result<Run<'a>, Stop> {
        let settings = serde_json::to_value(settings).map_err(anyhow::Error::from)?;
        let kept = json::read(&folder.join(file), bounded::SETTINGS);
        let settings = as_kept(settings, kept);
        open_run(folder, (what, file), &settings, self.interrupt, self.say)
    }

    /// Does the steps of a run and ends the last server: what is wrong with one, or with one server, does not end the others.
    ///
    /// # Errors
    /// What ends all of them: a signal, a command line that a step's program does not take, a full disk.
    pub(crate) fn tried(
        &self,
        run: &mut Run<'_>,
        steps: &[Step],
    ) -> Result<Vec<Result<StepEnd, Lost>>, Stop> {
        run.expect(steps);
        // A server that could not be had is not tried again, but for one that was there before: what fails once may pass.
        let (mut down, mut good) = (BTreeMap::new(), BTreeSet::new());
        let mut ends = Vec::new();
        for step in steps {
            let server = step.needs.as_ref().map(Needs::name);
            if let Some(lost) = server.and_then(|name| down.get(name)) {
                ends.push(Err(Lost::clone(lost)));
                continue;
            }
            ends.push(match run.step(step) {
                Err(error) if error.is_of_step() && error.exit_code() != exit::USAGE => {
                    let is_server =
                        !matches!(error, RunError::NoResult { .. } | RunError::Stalled { .. });
                    let reason = error.to_string();
                    (self.say)(&format!("{} is left out: {reason}", step.name));
                    let lost = Lost { reason, is_server };
                    if let Some(name) = server.filter(|name| is_server && !good.contains(name)) {
                        down.insert(name, lost.clone());
                    }
                    Err(lost)
                }
                end => {
                    good.extend(server);
                    Ok(end?)
                }
            });
        }
        run.end_server();
        Ok(ends)
    }

    /// Prints a document, writes it as a page, and says where that and everything else is; gives the exit code.
    pub(crate) fn deliver(&self, document: &Document, folder: &Path, page: &str) -> u8 {
        let page = folder.join(page);
        let codes = [
            outputs::write(&page, Ok(document.html())),
            self.show.print(document),
        ];
        self.tell_where(folder, &page);
        exit::fold(codes)
    }

    /// Says where the page and everything else is.
    pub(crate) fn tell_where(&self, folder: &Path, page: &Path) {
        (self.say)(&format!(
            "everything is in {}, the page is {}",
            folder.display(),
            page.display()
        ));
    }
}

/// Settings with the servers' commands as they are kept, where these differ by the folder that this program lies in alone: another
/// version of it resumes the same run.
fn as_kept(mut settings: Value, kept: Option<Value>) -> Value {
    fn bare(servers: &Value) -> Option<Vec<Vec<&str>>> {
        let own = |word| Path::new(word).ends_with("tplens").then_some("tplens");
        let words = servers.as_array()?.iter().filter_map(Value::as_str);
        let words = words.map(|word| word.split(' ').map(|word| own(word).unwrap_or(word)));
        Some(words.map(Iterator::collect).collect())
    }
    if let Some(kept) = kept.as_ref().and_then(|kept| kept.get("server"))
        && bare(kept).is_some_and(|kept| bare(&settings["server"]) == Some(kept))
    {
        settings["server"] = kept.clone();
    }
    settings
}

/// Why a step has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lost {
    /// In words.
    pub(crate) reason: String,
    /// Whether its server could not be had.
    pub(crate) is_server: bool,
}

/// Flags with their values as words, those alone that have one.
pub(crate) fn words<'a, V: Into<Option<String>>>(
    flags: impl IntoIterator<Item = (&'a str, V)>,
) -> Vec<String> {
    let flags = flags.into_iter();
    let flags = flags.filter_map(|(flag, value)| Some([flag.to_owned(), value.into()?]));
    flags.flatten().collect()
}

/// An empty table under these heads, which commas part.
pub(crate) fn table(heads: &str) -> Table {
    Table {
        heads: heads.split(", ").map(str::to_owned).collect(),
        rows: Vec::new(),
    }
}

/// A command's words as a shell takes them.
pub(crate) fn shell<W: AsRef<OsStr>>(words: &[W]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word.as_ref())).collect();
    words.join(" ")
}

/// A step of this command, its name, what it is, and its arguments; ended where it makes no progress until the deadline.
pub(crate) fn step(
    command: &'static str,
    (name, about): (String, String),
    arguments: Vec<String>,
    seconds: f64,
    deadline: Duration,
) -> Step {
    Step {
        name,
        about,
        command,
        arguments,
        environment: Vec::new(),
        needs: None,
        leaves: Leaves::Record,
        seconds,
        deadline,
    }
}

/// A load with these arguments of `tplens serve run`, on a server where it needs one.
pub(crate) fn load(
    named: (String, String),
    arguments: Vec<String>,
    needs: Option<Needs>,
    seconds: f64,
) -> Step {
    Step {
        needs,
        ..step("serve run", named, arguments, seconds, LOAD_DEADLINE)
    }
}

/// A server of this name that is started by these words with a port of its own, and is ready within that time.
pub(crate) fn server(name: &str, words: Vec<String>, log: PathBuf, ready: Duration) -> ServerSpec {
    ServerSpec {
        name: name.to_owned(),
        words,
        environment: Vec::new(),
        port: None,
        log,
        ready,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_run_is_the_same_one_whatever_folder_this_program_lies_in() {
        let of = |folder: &str, model: &str| {
            let engine = format!("{folder}/tplens serve engine --model {model}");
            json!({"tp": [1], "server": [format!("{folder}/tplens"), "serve", engine]})
        };
        let kept = of("/opt/tplens-1", "m");
        assert_eq!(as_kept(of("/opt/tplens-2", "m"), Some(kept.clone())), kept);
        // Another model, and a plan whose server is a table, stay what they are.
        let other = of("/opt/tplens-2", "n");
        assert_eq!(as_kept(other.clone(), Some(kept)), other);
        let plan = |command: &str| json!({"server": {"command": [command]}});
        assert_eq!(as_kept(plan("a"), Some(plan("b"))), plan("a"));
        assert_eq!(as_kept(plan("a"), Some(json!([]))), plan("a"));
    }
}
