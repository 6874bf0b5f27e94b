//! What planners (study, ablate, sweep, slo, half) share: a folder with a run that resumes, loads as its steps, each tried for itself, and
//! what is printed and kept at the end.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

use program::command_line::{quoted, resumes_by};
use program::show::Show;
use program::{Stop, minutes, open_run, outputs, result_folder};
use record::exit;
use runner::Interrupt;
use runner::run::{Leaves, Needs, Run, RunError, Step, StepEnd};
use runner::server::ServerSpec;
use serde::Serialize;
use view::{Block, Document, Table};

use crate::flags;

/// So many steps are named at the start.
const NAMED: usize = 12;

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
        open_run(folder, (what, file), settings, self.interrupt, self.say)
    }

    /// Says which steps come and about how long they take.
    pub(crate) fn expect(&self, run: &mut Run<'_>, steps: &[Step]) {
        let names: Vec<&str> = steps.iter().map(|step| &*step.name).collect();
        let seconds: f64 = steps.iter().map(|step| step.seconds).sum();
        if names.len() <= NAMED {
            (self.say)(&format!(
                "steps: {}; about {} on free cores, longer on busy ones",
                names.join(", "),
                minutes(seconds)
            ));
        }
        run.expect(steps);
    }

    /// Does steps of a run and ends the last server: what is wrong with one, or with one server, does not end the others, and is given
    /// as the reason why a step has no result.
    ///
    /// # Errors
    /// What ends all of them: a signal, a command line that a step's program does not take, a full disk.
    pub(crate) fn tried(
        &self,
        run: &mut Run<'_>,
        steps: &[Step],
        servers: &mut Servers,
    ) -> Result<Vec<Result<StepEnd, String>>, Stop> {
        let mut ends = Vec::new();
        for step in steps {
            let server = step.needs.as_ref().map(|needs| needs.name().to_owned());
            if let Some(Some(lost)) = server.as_ref().and_then(|name| servers.0.get(name)) {
                ends.push(Err(lost.clone()));
                continue;
            }
            let (end, down) = match run.step(step) {
                Err(error) if error.is_of_step() && error.exit_code() != exit::USAGE => {
                    let reason = error.to_string();
                    (self.say)(&format!("{} is left out: {reason}", step.name));
                    let is_up =
                        matches!(error, RunError::NoResult { .. } | RunError::Stalled { .. });
                    (Err(reason.clone()), (!is_up).then_some(reason))
                }
                end => (Ok(end?), None),
            };
            if let Some(name) = server {
                servers.0.entry(name).or_insert(down);
            }
            ends.push(end);
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

/// Words of a server's command, with none of the folders that this program may lie in: from another one it resumes the same run.
pub(crate) fn anywhere(words: &str) -> String {
    let own = |word| Path::new(word).ends_with("tplens").then_some("tplens");
    let words = words.split(' ').map(|word| own(word).unwrap_or(word));
    words.collect::<Vec<_>>().join(" ")
}

/// The servers of a run that were tried, and why they could not be had. One that was there before is tried again: what fails once may
/// pass.
#[derive(Debug, Default)]
pub(crate) struct Servers(BTreeMap<String, Option<String>>);

/// The exit code of a run, of which all was done and counts, or not.
pub(crate) fn whole(is_whole: bool) -> u8 {
    match is_whole {
        true => exit::DONE,
        false => exit::INCONCLUSIVE,
    }
}

/// What makes of an error of a flag's value a usage error.
pub(crate) fn usage<E: Display>(flag: &str) -> impl Fn(E) -> Stop {
    move |why| Stop::Usage(format!("{flag}: {why}"))
}

/// Flags with their values as words, those alone that have one.
pub(crate) fn words<'a, V: Into<Option<String>>>(
    flags: impl IntoIterator<Item = (&'a str, V)>,
) -> Vec<String> {
    let flags = flags.into_iter();
    let flags = flags.filter_map(|(flag, value)| Some([flag.to_owned(), value.into()?]));
    flags.flatten().collect()
}

/// A table of these rows under these heads, which commas part.
pub(crate) fn table<const N: usize>(
    heads: &str,
    rows: impl IntoIterator<Item = [String; N]>,
) -> Vec<Block> {
    let rows = rows.into_iter().map(|row| row.to_vec());
    vec![Block::Table(Table {
        heads: heads.split(", ").map(str::to_owned).collect(),
        rows: rows.collect(),
    })]
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

/// A server of this name that is started by these words, on the port that they say or a free one, and is ready within that time.
pub(crate) fn server(
    name: &str,
    words: Vec<String>,
    environment: Vec<(OsString, OsString)>,
    log: PathBuf,
    ready: Duration,
) -> ServerSpec {
    ServerSpec {
        name: name.to_owned(),
        port: flags::value(&words, &["--port"]).and_then(|port| port.parse().ok()),
        words,
        environment,
        log,
        ready,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_the_same_one_whatever_folder_this_program_lies_in() {
        assert_eq!(anywhere("/opt/tplens-1/tplens"), "tplens");
        let engine = anywhere("/opt/tplens-1/tplens serve engine --model /a/m");
        assert_eq!(engine, "tplens serve engine --model /a/m");
    }
}
